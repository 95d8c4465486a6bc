"""Pipeline commands of the command line, and what the tracking rule calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from groupcf import records
from groupcf.datasets.sources import write_atomically
from groupcf.errors import ConfigError
from groupcf.pipeline.config import read_yaml


def import_to_tracking(
    records_dir: Path,
    figures_dir: Path | None,
    studies: Sequence[str] | None,
    results: Path,
    uri: str | None,
    invocation: str,
) -> dict[str, Any]:
    """Import records into the tracking store; return counts and the address used."""
    from groupcf.tracking import default_uri, import_records

    found = records.load_records(records_dir)
    if studies is not None:
        found = [r for r in found if r.study in studies]
    address = uri or default_uri(results)
    counts = import_records(
        found,
        address,
        artifacts=results / "mlflow-artifacts",
        figures=figures_dir,
        invocation=invocation,
    )
    return {"uri": address, **counts}


def write_tracking(out: Path, **arguments: Any) -> None:
    """Import records and write what was done to ``out``."""
    done = import_to_tracking(**arguments)
    write_atomically(out, (json.dumps(done, indent=1) + "\n").encode())


@click.command()
@click.option(
    "--config", "path", default="config/config.yaml", show_default=True, help="Run configuration."
)
@click.option("--serve", is_flag=True, help="Open the MLflow UI afterwards.")
@click.option("--port", default=5000, show_default=True, help="Port of the UI.")
def track(path: str, serve: bool, port: int) -> None:
    """Import all records into MLflow; with --serve, open its UI."""
    from groupcf.tracking import serve as run_server

    config = read_yaml(Path(path))
    results = Path(config["results"])
    if not (results / "records").is_dir():
        raise ConfigError(f"{results / 'records'}: no records yet; run `make run` first")
    uri = config["tracking"]["uri"]
    done = import_to_tracking(
        results / "records", results / "figures", None, results, uri, invocation="track"
    )
    click.echo(
        f"{done['created']} runs created, {done['kept']} kept, {done['deleted']} replaced or gone"
    )
    if serve:
        if done["uri"].startswith("http"):
            click.echo(f"runs are at {done['uri']}")
            return
        click.echo(f"MLflow UI: http://127.0.0.1:{port} (Ctrl-C ends it)")
        raise SystemExit(run_server(done["uri"], results / "mlflow-artifacts", port))
