"""Decision-making units (firms) for benchmarking."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import fetch
from groupcf.errors import ConfigError, DataError, SourceUnavailableError


@dataclass(frozen=True, eq=False)
class UnitsData:
    """Units with inputs and outputs.

    Attributes
    ----------
    name : str
    frame : DataFrame
        One row per unit.
    inputs, outputs : tuple of str
        Columns of `frame`.
    source : str
        "bundled", "mirror", "cache", "network", "made" by this module, or "file", the user's.
    note : str
        What a reader must know about them.
    """

    name: str
    frame: pd.DataFrame
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str
    note: str = ""


SYNTHETIC = "Invented branches in the columns of the Canadian ones, which are not public."

BRANCHES = (
    ("Teller", "Typing", "Accounting and ledgers", "Supervision", "Credit"),
    ("Term accounts", "Personal loan accounts", "Commercial loan accounts"),
)
"""Columns of the Canadian bank branches of chapter 4: personnel, and what it looks after."""

UNITS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "banks1": (("STEXP", "FASUM", "INPSUM"), ("LNSUM", "DBSUM", "INCSUM")),
    "firms": (("x1", "x2"), ("y",)),
    "branches_synthetic": BRANCHES,
    "branches_canadian": BRANCHES,
}
"""Set of units -> its inputs and outputs."""

_MADE = ("firms", "branches_synthetic")
"""Sets that no file is needed for."""


def load_units(name: str, *, cache: Path | None = None, file: Path | None = None) -> UnitsData:
    """Load a set of units by name.

    Parameters
    ----------
    name : str
        "banks1" (247 banks, bundled), "firms" (Table 4.1), "branches_synthetic" (267 invented
        branches in the columns of chapter 4), or "branches_canadian", which is not public.
    cache : Path, optional
        Directory of downloaded files.
    file : Path, optional
        A table to read instead: CSV with the set's columns; a column "unit" names the rows.

    Raises
    ------
    ConfigError
        For an unknown name.
    DataError
        For a file without the columns.
    SourceUnavailableError, ChecksumError
        When the file is nowhere to be had, or is not the registered one.
    """
    if name not in UNITS:
        raise ConfigError(f"units: {name!r} is none of {', '.join(UNITS)}")
    inputs, outputs = UNITS[name]
    if file is not None:
        frame = _read_file(Path(file), [*inputs, *outputs])
        return UnitsData(name, frame, inputs, outputs, "file")
    if name == "branches_canadian":
        raise SourceUnavailableError(
            "branches_canadian: the Canadian bank branches (Schaffnit, Rosen and Paradi 1997) are "
            "not public; name a CSV file with the columns "
            f"{', '.join([*inputs, *outputs])} under data.files in the configuration"
        )
    if name == "firms":
        return UnitsData(name, _firms(), inputs, outputs, "made")
    if name == "branches_synthetic":
        return UnitsData(name, synthetic_branches(), inputs, outputs, "made", SYNTHETIC)
    place, content = fetch(FILES[f"{name}.csv"], cache)
    frame = pd.read_csv(io.BytesIO(content)).astype(float)
    return UnitsData(name, frame[[*inputs, *outputs]], inputs, outputs, place)


def _firms() -> pd.DataFrame:
    """Return the four firms of Table 4.1."""
    return pd.DataFrame(
        {"x1": [0.5, 1.5, 1.75, 2.5], "x2": [1.0, 0.5, 1.25, 1.25], "y": [1.0] * 4},
        index=pd.Index([1, 2, 3, 4], name="firm"),
    )


def synthetic_branches(count: int = 267, seed: int = 0) -> pd.DataFrame:
    """Invent a network of bank branches: five kinds of personnel, three kinds of accounts.

    Sizes are lognormal, personnel follows the business with a Cobb-Douglas mix of its own and
    an inefficiency of its own in each branch. Nothing in it is real.

    Parameters
    ----------
    count : int
        Number of branches.
    seed : int
        The same seed gives the same branches.
    """
    rng = np.random.default_rng(seed)
    inputs, outputs = BRANCHES
    size = rng.lognormal(0.0, 0.6, count)
    business = size[:, None] * rng.lognormal(0.0, 0.35, (count, len(outputs)))
    accounts = business * np.array([2500.0, 900.0, 150.0])
    share = rng.dirichlet(np.full(len(outputs), 4.0), (len(inputs),))
    need = (business @ share.T) * np.array([6.0, 0.8, 1.5, 1.2, 2.5])
    waste = 1.0 + rng.exponential(0.25, (count, 1)) + rng.exponential(0.15, (count, len(inputs)))
    staff = need * waste * rng.lognormal(0.0, 0.05, (count, len(inputs)))
    table = np.hstack([np.round(staff, 2) + 0.01, np.round(accounts) + 1.0])
    index = pd.RangeIndex(1, count + 1, name="branch")
    return pd.DataFrame(table, columns=[*inputs, *outputs], index=index)


def _read_file(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a user's table of units."""
    try:
        frame = pd.read_csv(path)
    except FileNotFoundError:
        raise SourceUnavailableError(f"{path}: no such file") from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a CSV table ({error})") from error
    missing = [c for c in columns if c not in frame.columns]
    if missing:
        raise DataError(f"{path}: missing columns {missing}; it has {frame.columns.tolist()}")
    if "unit" in frame.columns:
        frame = frame.set_index("unit")
    return frame[columns]


def load_efficiencies(name: str, *, cache: Path | None = None) -> pd.DataFrame:
    """Load the Farrell efficiencies of a set of units as an independent program found them.

    Returns
    -------
    DataFrame
        One row per unit; columns ``input_vrs`` ... ``output_irs``: input efficiencies (at
        most 1) and output factors (at least 1) by returns to scale.

    Raises
    ------
    ConfigError, SourceUnavailableError, ChecksumError
        As :func:`load_units`; this file is not bundled.
    """
    if name not in UNITS:
        raise ConfigError(f"units: {name!r} is none of {', '.join(UNITS)}")
    _, content = fetch(FILES[f"{name}_efficiency_reference.csv"], cache)
    return pd.read_csv(io.BytesIO(content), index_col="dmu")
