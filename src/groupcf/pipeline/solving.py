"""The solve stage: one job per study, one record per solve.

Records are written as soon as a solve is done, outside of what the workflow manager deletes
when a job fails, so that a killed job resumes where it was: a solve whose complete record
has the same key is not repeated.
"""

from __future__ import annotations

import json
import logging
import platform
import resource
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from groupcf import records
from groupcf.datasets.sources import write_atomically
from groupcf.errors import GroupcfError, SourceUnavailableError
from groupcf.pipeline import config as configuration
from groupcf.pipeline import data as data_stage
from groupcf.pipeline.studies import Answer, Prepared, preparer, runner
from groupcf.pipeline.training import read_classifier

log = logging.getLogger("groupcf")

_WITHOUT_EFFECT = ("title", "figure", "sweep", "chapter", "methods", "published", "note")
"""Keys of a study that do not change what one of its solves finds."""

PACKAGES = (
    "groupcf",
    "highspy",
    "numba",
    "numpy",
    "ortools",
    "pandas",
    "pyomo",
    "pyscipopt",
    "scikit-learn",
    "xgboost-cpu",
)


def run_study(
    study: Mapping[str, Any],
    data_path: Path,
    classifier_paths: Mapping[str, Path],
    records_dir: Path,
    index: Path,
    options: Mapping[str, Any],
    *,
    only: int | None = None,
) -> None:
    """Run all solves of a study, or one of them, and write the index of their records.

    Parameters
    ----------
    study : mapping
        One completed entry of the study configuration.
    data_path : Path
        Description of its data set (see :mod:`groupcf.pipeline.data`).
    classifier_paths : mapping
        Name of a classifier -> its description.
    records_dir : Path
        Where the records of all studies live.
    index : Path
        JSON file to write at the end: the keys of this study's records, in order.
    options : mapping
        time_limit, threads, method, solver.
    only : int, optional
        Position of the one solve to run, when each is a job of its own.

    Raises
    ------
    GroupcfError
        After all solves, when some of them failed; their records say why.
    """
    data = data_stage.read(data_path)
    if isinstance(data, str):
        run_solves(study, data, records_dir, index, options, only=only)
        return
    found = {n: read_classifier(path) for n, path in classifier_paths.items()}
    readable = {n: c for n, c in found.items() if not isinstance(c, str)}
    dataset = {
        "name": data.name,
        "variant": data.variant,
        "sha256": data.sha256,
        "rows": len(data.frame),
        "source": data.source,
        "notes": list(data.notes),
        "kinds": {f.name: str(f.kind) for f in data.space.features},
    }

    def described(solve: Mapping[str, Any]) -> dict[str, Any]:
        facts = readable[solve["classifier"]][1]
        return {
            "dataset": dataset,
            "classifier": {k: v for k, v in facts.items() if k != "file_sha256"},
        }

    def answered(solve: Mapping[str, Any]) -> Answer:
        classifier = readable[solve["classifier"]][0]
        return runner(study["kind"])(study, solve, data, classifier, options)

    def determined(solve: Mapping[str, Any]) -> list[Any]:
        return [data.sha256, readable[solve["classifier"]][1]["sha256"]]

    prepared = Prepared(configuration.SOLVE_CODE, determined, described, answered)
    run_solves(study, prepared, records_dir, index, options, only=only)


def run_own(
    study: Mapping[str, Any],
    cache: Path,
    files: Mapping[str, str],
    records_dir: Path,
    index: Path,
    options: Mapping[str, Any],
) -> None:
    """Run a study whose kind brings its own data: curves, units.

    Parameters
    ----------
    study : mapping
        One completed entry of the study configuration.
    cache : Path
        Where downloaded data live.
    files : mapping
        Name of a data set -> a file of the user's to read instead.
    records_dir, index, options
        As for :func:`run_study`.

    Raises
    ------
    GroupcfError
        After all solves, when some of them failed; their records say why.
    """
    try:
        prepared: Prepared | str = preparer(study["kind"])(study, cache, files, options)
    except SourceUnavailableError as error:
        prepared = str(error)
    run_solves(study, prepared, records_dir, index, options)


def run_solves(
    study: Mapping[str, Any],
    prepared: Prepared | str,
    records_dir: Path,
    index: Path,
    options: Mapping[str, Any],
    *,
    only: int | None = None,
) -> None:
    """Run the solves of a prepared study, or record why it is skipped.

    Parameters
    ----------
    study : mapping
    prepared : Prepared or str
        What the solves need; or why they cannot be done.
    records_dir, index, options, only
        As for :func:`run_study`.

    Raises
    ------
    GroupcfError
        After all solves, when some of them failed; their records say why.
    """
    home = records_dir / study["id"]
    keys, failed = [], []
    todo = list(configuration.solves(study))
    stable = {k: v for k, v in study.items() if k not in _WITHOUT_EFFECT}
    code = "" if isinstance(prepared, str) else configuration.fingerprint(*prepared.code)
    for order, solve in enumerate(todo):
        if only is not None and order != only:
            continue
        label = configuration.canonical(solve)
        base = _base(study, solve, order)
        if isinstance(prepared, str):
            key = configuration.digest(["skipped", study["id"], solve])
            skipped = {"status": records.SKIPPED, "message": prepared}
            records.write(home / key, records.Record(key=key, **(base | skipped)))
            keys.append(key)
            continue
        key = configuration.digest(
            [code, stable, solve, *prepared.determined(solve), dict(options)]
        )
        keys.append(key)
        if _complete(home / key):
            _relabel(home / key, base)
            log.info("%s %s: kept", study["id"], label)
            continue
        base |= prepared.described(solve)
        started = time.perf_counter()
        try:
            record, instances = _record(key, base, prepared.answered(solve))
        except Exception as error:
            log.error("%s %s failed:\n%s", study["id"], label, traceback.format_exc())
            failure = {
                "status": records.FAILED,
                "message": f"{type(error).__name__}: {error}",
                "seconds": time.perf_counter() - started,
            }
            record, instances = records.Record(key=key, **(base | failure)), None
            failed.append(f"{label}: {record.message}")
        records.write(home / key, record, instances)
        log.info(
            "%s %d/%d %s: %s, objective %s, %.2f s",
            study["id"],
            order + 1,
            len(todo),
            label,
            record.status,
            "none" if record.objective is None else f"{record.objective:.6g}",
            record.seconds or 0.0,
        )
    for stale in home.iterdir() if home.is_dir() and only is None else ():
        if stale.name not in keys:
            shutil.rmtree(stale, ignore_errors=True)
    if failed:
        raise GroupcfError(f"study {study['id']}: {len(failed)} solves failed: {'; '.join(failed)}")
    text = json.dumps({"study": study["id"], "keys": keys}, indent=1)
    write_atomically(index, (text + "\n").encode())


def _complete(directory: Path) -> bool:
    try:
        record = records.load(directory)
    except GroupcfError:
        return False
    return record.status not in (records.FAILED, "crashed", "interrupted")


def _relabel(directory: Path, base: Mapping[str, Any]) -> None:
    """Give a record that is kept the title, note and published values of today."""
    record = records.load(directory)
    labels = {k: records.plain(base[k]) for k in ("title", "chapter", "published", "note")}
    labels["details"] = dict(record.details) | base["details"]
    if any(getattr(record, k) != v for k, v in labels.items()):
        changed = replace(record, **labels)
        records.write(directory, changed, records.load_instances(record))


def _base(study: Mapping[str, Any], solve: Mapping[str, Any], order: int) -> dict[str, Any]:
    return {
        "study": study["id"],
        "title": study["title"],
        "chapter": study["chapter"],
        "dataset": {"name": study["dataset"], "variant": study["variant"]},
        "classifier": {"name": solve["classifier"]} if solve["classifier"] else None,
        "parameters": solve["parameters"],
        "published": configuration.published_value(study, solve),
        "note": study.get("note", ""),
        "details": {"order": order},
        "host": host(),
        "versions": versions(),
        "commit": commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _record(
    key: str, base: dict[str, Any], answer: Answer
) -> tuple[records.Record, pd.DataFrame | None]:
    solution = answer.solution
    out = base | {
        "model": answer.model,
        "method": solution.method,
        "why": solution.why,
        "status": str(solution.status),
        "objective": solution.objective,
        "bound": solution.bound,
        "gap": solution.gap,
        "seconds": solution.seconds,
        "phases": dict(solution.phases),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "history": [
            [p.seconds, p.incumbent, p.bound, p.iteration, p.columns] for p in solution.history
        ],
        "message": solution.message,
        "verified": answer.verification.ok if solution.status.has_incumbent else None,
        "verification": answer.verification.to_dict(),
        "n_instances": answer.n_instances,
        "n_flipped": answer.n_flipped,
        "changed_features": dict(answer.changed_features),
        "outliers": list(answer.outliers),
        "details": base["details"] | dict(answer.details),
    }
    return records.Record(key=key, **records.plain(out)), answer.instances


@cache
def host() -> dict[str, Any]:
    """Describe the machine: processor, cores, memory, system, Python."""
    import psutil

    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "python": sys.version.split()[0],
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@cache
def versions() -> dict[str, str]:
    """Return the versions of the packages that results depend on."""
    out = {}
    for package in PACKAGES:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            continue
    return out


@cache
def commit() -> str:
    """Return the git commit of the working directory, with "+" when it has changes."""
    git: Callable[..., subprocess.CompletedProcess[str]] = lambda *a: subprocess.run(  # noqa: E731
        ["git", *a], capture_output=True, text=True, check=False
    )
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        if head.returncode:
            return ""
        dirty = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    except OSError:
        return ""
    return head.stdout.strip() + ("+" if dirty else "")
