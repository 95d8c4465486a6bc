"""The data stage: from sources to one processed table with its description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from groupcf.datasets import TabularData, load
from groupcf.datasets.sources import write_atomically
from groupcf.errors import SourceUnavailableError
from groupcf.features import FeatureSpace


def prepare(name: str, variant: str, out: Path, cache: Path) -> None:
    """Write ``<out>`` (JSON) and, beside it, the processed table (Parquet).

    A data set that cannot be had is recorded as skipped, with the reason; every stage after
    this one passes that on.
    """
    try:
        data = load(name, variant=variant, cache=cache)
    except SourceUnavailableError as error:
        _write(out, {"name": name, "variant": variant, "skipped": str(error)})
        return
    table = data.frame.assign(**{"(target)": data.target})
    write_atomically(out.with_suffix(".parquet"), table.to_parquet(index=False))
    _write(
        out,
        {
            "name": name,
            "variant": data.variant,
            "sha256": data.sha256,
            "rows": len(data.frame),
            "source": data.source,
            "notes": list(data.notes),
            "space": data.space.to_dict(),
        },
    )


def read(path: Path) -> TabularData | str:
    """Read what :func:`prepare` wrote: the table, or why it is skipped."""
    described = describe(path)
    if "skipped" in described:
        return str(described["skipped"])
    table = pd.read_parquet(path.with_suffix(".parquet"))
    target = table.pop("(target)").rename("target")
    return TabularData(
        described["name"],
        described["variant"],
        table,
        target,
        FeatureSpace.from_dict(described["space"]),
        described["source"],
        tuple(described["notes"]),
    )


def describe(path: Path) -> dict[str, Any]:
    """Read the description alone."""
    out: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return out


def _write(path: Path, description: dict[str, Any]) -> None:
    text = json.dumps(description, indent=1, ensure_ascii=False)
    write_atomically(path, (text + "\n").encode())
