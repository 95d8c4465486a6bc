"""The command ``groupcf targets``: a table of units in, their targets out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from groupcf.errors import ConfigError, DataError


def _listed(_: click.Context, __: click.Parameter, text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _amounts(key: str, given: tuple[str, ...]) -> dict[str, float] | None:
    """Read "column=number" pairs."""
    found: dict[str, float] = {}
    for pair in given:
        name, mark, value = pair.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            mark = ""
        if not mark or not name:
            raise ConfigError(f"--{key}: {pair!r} is not column=number")
    return found or None


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--inputs", required=True, callback=_listed, help="Columns, separated by commas.")
@click.option("--outputs", required=True, callback=_listed, help="Columns, separated by commas.")
@click.option("--unit", "label", help="Column that names the units; the row number otherwise.")
@click.option("--rts", default="crs", show_default=True, help="crs, vrs, drs, irs or fdh.")
@click.option("--target", default=1.0, show_default=True, help="Wanted efficiency E*.")
@click.option("--cost", default="l0+(l2)", show_default=True, help="Such as l1, l0+l2, farrell.")
@click.option("--change", default="input", show_default=True, help="input or output.")
@click.option(
    "--scale", default="mean", show_default=True,
    help="Changes are divided by: raw (nothing), mean (of the column), own (present value).",
)  # fmt: skip
@click.option("--frozen", callback=_listed, help="Columns that keep their value.")
@click.option("--integer", callback=_listed, help="Columns that change to whole numbers only.")
@click.option("--weight", multiple=True, metavar="COLUMN=NUMBER", help="Price of a column.")
@click.option("--lower", multiple=True, metavar="COLUMN=NUMBER", help="Least new value.")
@click.option("--upper", multiple=True, metavar="COLUMN=NUMBER", help="Largest new value.")
@click.option("--only", callback=_listed, help="Names of the units to look at; all otherwise.")
@click.option("--super-efficiency", is_flag=True, help="Compare each unit with the others only.")
@click.option("--most", type=int, help="At most so many units move; says which first.")
@click.option("--budget", type=float, help="Their total cost is at most this.")
@click.option(
    "--method", default="auto", show_default=True, help="auto, enum, lazy, kkt, bilinear."
)
@click.option("--time-limit", type=float, help="Seconds a unit.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("targets"), show_default=True,
    help="Writes OUT.csv and OUT.html.",
)  # fmt: skip
def targets(
    table: Path, inputs: list[str], outputs: list[str], label: str | None, out: Path,
    most: int | None, budget: float | None, only: list[str], weight: tuple[str, ...],
    lower: tuple[str, ...], upper: tuple[str, ...], rts: str, **options: Any,
) -> None:  # fmt: skip
    """Find for the units in TABLE (CSV) the least costly changes to a wanted efficiency."""
    from groupcf.benchmarking.benchmark import Benchmark
    from groupcf.benchmarking.pages import write_page
    from groupcf.datasets.sources import write_atomically

    frame = _read(table, label)
    benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
    units = None
    if only:
        known = {str(v): v for v in frame.index}
        missing = [name for name in only if name not in known]
        if missing:
            raise ConfigError(f"--only: there is no unit {missing[0]!r} in {table}")
        units = [known[name] for name in only]
    result = benchmark.targets(
        units=units, weights=_amounts("weight", weight), lower=_amounts("lower", lower),
        upper=_amounts("upper", upper), **options,
    )  # fmt: skip
    view = result.group(most=most, budget=budget)
    frame_out = result.frame()
    if most is not None or budget is not None:
        place = {unit: i + 1 for i, unit in enumerate(view.chosen)}
        frame_out.insert(0, "moves", [place.get(unit) for unit in frame_out.index])
        frame_out["moves"] = frame_out["moves"].astype("Int64")
    out.parent.mkdir(parents=True, exist_ok=True)
    csv, page = out.with_name(f"{out.name}.csv"), out.with_name(f"{out.name}.html")
    write_atomically(csv, frame_out.to_csv().encode())
    write_page(result, view, page, title=f"Efficiency targets of {table.name}")
    click.echo(result.summary())
    if result.moving:
        click.echo(view.summary())
    if len(result) <= 20:
        for target in result:
            click.echo(f"  {target.sentence()}")
    click.echo(f"written: {csv}, {page}")


def _read(path: Path, label: str | None) -> Any:
    """Read a table of units."""
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a CSV table ({error})") from error
    if label is None:
        return frame
    if label not in frame.columns:
        raise DataError(f"{path}: there is no column {label!r} for --unit")
    return frame.set_index(label)
