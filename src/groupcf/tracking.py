"""MLflow: one importer that turns records into runs, idempotently.

Jobs do not log for themselves: eight processes racing for a fresh database crash, and each
would pay MLflow's import. One process reads the records afterwards; a record that is already
there unchanged is left alone, a changed one is replaced.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from groupcf.records import Record

log = logging.getLogger("groupcf")

MAX_PARAMETER = 500
"""Characters of a parameter's value that are kept."""
BATCH = 900
"""Metrics in one call; MLflow takes 1000."""


def default_uri(results: Path) -> str:
    """Return the address of the local store: a sqlite file among the results."""
    return f"sqlite:///{(results / 'mlflow.db').resolve()}"


def import_records(
    found: Sequence[Record],
    uri: str,
    *,
    artifacts: Path,
    figures: Path | None = None,
    invocation: str = "",
) -> dict[str, int]:
    """Make the tracking store agree with the records.

    Parameters
    ----------
    found : sequence of Record
        Every record that should be there. Runs of the same studies whose records are gone
        are deleted.
    uri : str
        Tracking address: sqlite, or an http server.
    artifacts : Path
        Where artifacts of a local store go.
    figures : Path, optional
        Directory with one sub-directory of figures per study.
    invocation : str
        Tag for this run of the pipeline.

    Returns
    -------
    dict
        How many runs were created, kept and deleted.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    if uri.startswith("sqlite:///"):
        Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    client = MlflowClient(tracking_uri=uri)
    counts = {"created": 0, "kept": 0, "deleted": 0}
    by_chapter: dict[int, list[Record]] = {}
    for record in found:
        by_chapter.setdefault(record.chapter, []).append(record)
    for chapter, group in sorted(by_chapter.items()):
        experiment = _experiment(client, f"groupcf chapter {chapter}", uri, artifacts)
        wanted = {(r.study, r.key): r for r in group}
        present: set[tuple[str, str]] = set()
        for run in _runs(client, experiment):
            tags = run.data.tags
            identity = (tags.get("study", ""), tags.get("key", ""))
            record_ = wanted.get(identity)
            same = (
                record_ is not None
                and identity not in present
                and tags.get("checksum") == _checksum(record_, figures)
                and tags.get("complete") == "true"
            )
            if same:
                present.add(identity)
                counts["kept"] += 1
            elif record_ is not None or identity[0] in {r.study for r in group}:
                client.delete_run(run.info.run_id)
                counts["deleted"] += 1
        for identity, record in wanted.items():
            if identity not in present:
                _create(client, experiment, record, figures, invocation)
                counts["created"] += 1
    return counts


def _experiment(client: Any, name: str, uri: str, artifacts: Path) -> str:
    existing = client.get_experiment_by_name(name)
    if existing is not None:
        return str(existing.experiment_id)
    location = None if uri.startswith("http") else artifacts.resolve().as_uri()
    return str(client.create_experiment(name, artifact_location=location))


def _runs(client: Any, experiment: str) -> list[Any]:
    out, token = [], None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        out += list(page)
        token = page.token
        if not token:
            return out


def _files(record: Record, figures: Path | None) -> list[Path]:
    files = [] if record.directory is None else sorted(record.directory.iterdir())
    if figures is not None and (figures / record.study).is_dir():
        files += sorted((figures / record.study).glob("*.png"))
    return files


def _checksum(record: Record, figures: Path | None) -> str:
    out = hashlib.sha256()
    for path in _files(record, figures):
        out.update(path.name.encode())
        out.update(path.read_bytes())
    return out.hexdigest()


def _create(
    client: Any, experiment: str, record: Record, figures: Path | None, invocation: str
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    dataset = record.dataset or {}
    classifier = record.classifier or {}
    tags = {
        "study": record.study,
        "key": record.key,
        "checksum": _checksum(record, figures),
        "invocation": invocation,
        "status": record.status,
        "verified": str(record.verified),
        "commit": record.commit,
        "dataset.sha256": str(dataset.get("sha256", "")),
        "classifier.sha256": str(classifier.get("sha256", "")),
        "mlflow.note.content": record.message or record.note,
    }
    started = int(datetime.fromisoformat(record.started).timestamp() * 1000)
    name = " ".join(
        [record.study, str(classifier.get("name", "")), _short(record.parameters)]
    ).strip()
    run = client.create_run(
        experiment, start_time=started, run_name=name[:250], tags=tags | {"complete": "false"}
    )
    run_id = run.info.run_id
    parameters = {
        "study": record.study,
        "dataset": dataset.get("name", ""),
        "variant": dataset.get("variant", ""),
        "classifier": classifier.get("name", ""),
        "model": record.model,
        "method": record.method,
        "n_instances": record.n_instances,
        **record.parameters,
    }
    values = {
        "objective": record.objective,
        "bound": record.bound,
        "gap": record.gap,
        "seconds": record.seconds,
        "peak_memory_mb": record.peak_memory_mb,
        "n_flipped": record.n_flipped,
        "accuracy_train": classifier.get("accuracy_train"),
        "accuracy_test": classifier.get("accuracy_test"),
        **{f"seconds.{k}": v for k, v in record.phases.items()},
    }
    metrics = [Metric(k, float(v), started, 0) for k, v in values.items() if v is not None]
    for step, point in enumerate(record.history):
        at = started + int(1000 * (point[0] or 0.0))
        for label, value in zip(
            ("incumbent", "bound", "iteration", "columns"), point[1:], strict=False
        ):
            if value is not None:
                metrics.append(Metric(f"history.{label}", float(value), at, step))
    client.log_batch(
        run_id,
        params=[Param(k, str(v)[:MAX_PARAMETER]) for k, v in parameters.items() if v is not None],
    )
    for i in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[i : i + BATCH])
    with tempfile.TemporaryDirectory() as staging:
        for path in _files(record, figures):
            shutil.copy(path, staging)
        client.log_artifacts(run_id, staging)
    client.log_batch(run_id, tags=[RunTag("complete", "true")])
    bad = record.status in ("failed", "crashed", "interrupted") or record.verified is False
    end = started + int(1000 * (record.seconds or 0.0))
    client.set_terminated(run_id, "FAILED" if bad else "FINISHED", end_time=end)


def _short(parameters: Any) -> str:
    return " ".join(f"{k}={v}" for k, v in parameters.items())


def serve(uri: str, artifacts: Path, port: int) -> int:
    """Run the MLflow UI on a store until it is interrupted; return its exit code."""
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri]
    command += ["--default-artifact-root", artifacts.resolve().as_uri()]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"}
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return 0
