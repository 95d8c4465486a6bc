"""Records: the only interface between solving, tracking and reporting.

One solve is one directory ``<records>/<study>/<key>/`` with ``record.json`` and, where
there is an incumbent, ``instances.parquet``. Both are written whole or not at all.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from groupcf.errors import DataError

SCHEMA = 1
SKIPPED = "skipped"
"""Status of a solve whose data could not be had; beside those of groupcf.solution.Status."""
FAILED = "failed"
"""Status of a solve that ended in an error."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is kept of one solve.

    Attributes
    ----------
    study, title, chapter, key : str, str, int, str
        The study, and the hash of everything that determines this solve.
    dataset, classifier : mapping or None
        Name, variant, checksum, ...; name, checksum, accuracies.
    model, method, why : str
    parameters : mapping
    status : str
        A ``groupcf.solution.Status`` value, "skipped" or "failed".
    objective, bound, gap : float or None
    seconds : float or None
        Wall-clock time of the solve.
    phases : mapping
    peak_memory_mb : float or None
    history : sequence of [seconds, incumbent, bound, iteration, columns]
    verified : bool or None
        None when there was nothing to verify.
    verification : mapping
    published : mapping or None
        What the dissertation reports for this solve.
    note, message : str
    n_instances, n_flipped : int or None
    changed_features : mapping of str to int
        How many instances change each feature.
    outliers : sequence
        Row labels of the instances left where they are.
    details, host, versions : mapping
    commit, started : str
    directory : Path or None
        Where the record was read from; not stored.
    """

    study: str
    key: str
    status: str
    title: str = ""
    chapter: int = 0
    dataset: Mapping[str, Any] | None = None
    classifier: Mapping[str, Any] | None = None
    model: str = ""
    method: str = ""
    why: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    seconds: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    peak_memory_mb: float | None = None
    history: Sequence[Sequence[float | None]] = ()
    verified: bool | None = None
    verification: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Any] | None = None
    note: str = ""
    message: str = ""
    n_instances: int | None = None
    n_flipped: int | None = None
    changed_features: Mapping[str, int] = field(default_factory=dict)
    outliers: Sequence[Any] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    started: str = ""
    directory: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        out = {"schema": SCHEMA, **asdict(self)}
        del out["directory"]
        return plain(out)  # type: ignore[no-any-return]


def write(directory: Path, record: Record, instances: pd.DataFrame | None = None) -> None:
    """Write a record and its instances to a directory, replacing what is there.

    The directory appears complete: it is built beside its place and moved there.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        if instances is not None:
            instances.to_parquet(building / "instances.parquet", index=False)
        text = json.dumps(record.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
        (building / "record.json").write_text(text + "\n", encoding="utf-8")
        building.chmod(0o755)
        if directory.exists():
            # what is replaced goes aside first: a kill in between leaves no half record
            old = Path(tempfile.mkdtemp(prefix=".old.", dir=directory.parent))
            os.replace(directory, old / "old")
            os.replace(building, directory)
            shutil.rmtree(old)
        else:
            os.replace(building, directory)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def load(directory: Path) -> Record:
    """Read one record.

    Raises
    ------
    DataError
        When the file is missing, damaged or of another schema.
    """
    path = directory / "record.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such record") from None
    except ValueError as error:
        raise DataError(f"{path}: damaged ({error}); delete it and run again") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise DataError(f"{path}: not a record of schema {SCHEMA}; delete it and run again")
    known = {f.name for f in fields(Record)}
    return Record(**{k: v for k, v in data.items() if k in known}, directory=directory)


def load_records(directory: Path) -> list[Record]:
    """Read all records below a directory, ordered by study and by their order in it."""
    found = sorted(directory.glob("*/*/record.json"))
    records = [load(path.parent) for path in found if not path.parent.name.startswith(".")]
    return sorted(records, key=lambda r: (r.study, r.details.get("order", 0), r.key))


def load_instances(record: Record) -> pd.DataFrame | None:
    """Read the instances of a record, or None where it has none."""
    if record.directory is None or not (record.directory / "instances.parquet").is_file():
        return None
    return pd.read_parquet(record.directory / "instances.parquet")


def plain(value: Any) -> Any:
    """Return a value as plain JSON types; infinite and undefined numbers become None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
