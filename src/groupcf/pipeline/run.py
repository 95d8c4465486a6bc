"""`make run`: the whole workflow, restartable after any interruption."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import click

from groupcf.errors import ConfigError, GroupcfError
from groupcf.pipeline.config import load_studies, read_yaml, validate
from groupcf.pipeline.reporting import closing_message, write_report, write_summary


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--cores", default=2, show_default=True, help="Processor cores to use.")
@click.option("--configfile", default="config/config.yaml", show_default=True)
@click.argument("more", nargs=-1)
def command(cores: int, configfile: str, more: tuple[str, ...]) -> None:
    """Run the workflow; further arguments go to snakemake."""
    try:
        sys.exit(run(cores, Path(configfile), more))
    except GroupcfError as error:
        click.echo(f"groupcf: {error}", err=True)
        sys.exit(2)


def run(cores: int, configfile: Path, more: tuple[str, ...] = ()) -> int:
    """Run snakemake on a configuration and say where the results are.

    A lock that an interrupted run left behind is removed; one that a living run holds is
    respected.
    """
    schema = read_yaml(Path("workflow/schemas/config.schema.yaml"))
    config = read_yaml(configfile)
    # the Snakefile reads the full configuration first, whatever is laid over it
    for path in dict.fromkeys([Path("config/config.yaml"), configfile]):
        validate(read_yaml(path), schema, str(path))
    studies = load_studies(config)
    results = Path(config["results"])
    results.mkdir(parents=True, exist_ok=True)
    with open(results / ".lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"results: another run is writing to {results}; wait for it, or set another "
                "results directory"
            ) from None
        _retry_skipped(Path(config["data"]["processed"]))
        base = [sys.executable, "-m", "snakemake", "--configfile", str(configfile)]
        subprocess.run(
            [*base, "--unlock", "--cores", "1", "--quiet", "all"], capture_output=True, check=False
        )
        code = subprocess.run([*base, "--cores", str(cores), *more], check=False).returncode
        if code:
            click.echo(
                f"\nthe run did not complete (exit code {code}); it goes on where it was when "
                "started again. At hand so far:"
            )
        if not {"-n", "--dry-run", "--dryrun"} & set(more):
            records_dir = results / "records"
            if code and records_dir.is_dir():
                # one study that failed does not keep the others from the reader
                write_summary(records_dir, list(studies), results / "summary.csv")
                write_report(records_dir, results / "figures", studies, results / "report.html")
            click.echo("\n" + closing_message(records_dir, list(studies), results))
        return code


def _retry_skipped(processed: Path) -> None:
    """Forget that data could not be had, so that this run looks again."""
    for path in processed.glob("*.json") if processed.is_dir() else ():
        try:
            skipped = "skipped" in json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            skipped = True
        if skipped:
            path.unlink()


if __name__ == "__main__":
    command()
