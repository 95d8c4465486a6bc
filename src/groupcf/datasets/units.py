"""Decision-making units (firms) for benchmarking."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import fetch
from groupcf.errors import ConfigError


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
        "bundled", "mirror", "cache" or "network".
    """

    name: str
    frame: pd.DataFrame
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str


UNITS = {"banks1": (("STEXP", "FASUM", "INPSUM"), ("LNSUM", "DBSUM", "INCSUM"))}


def load_units(name: str, *, cache: Path | None = None) -> UnitsData:
    """Load a set of units by name.

    Raises
    ------
    ConfigError
        For an unknown name.
    SourceUnavailableError, ChecksumError
        When the file is nowhere to be had, or is not the registered one.
    """
    if name not in UNITS:
        raise ConfigError(f"units: {name!r} is none of {', '.join(UNITS)}")
    inputs, outputs = UNITS[name]
    place, content = fetch(FILES[f"{name}.csv"], cache)
    frame = pd.read_csv(io.BytesIO(content)).astype(float)
    return UnitsData(name, frame[[*inputs, *outputs]], inputs, outputs, place)


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
