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


_UNITS = {"banks1": (("STEXP", "FASUM", "INPSUM"), ("LNSUM", "DBSUM", "INCSUM"))}


def load_units(name: str, *, cache: Path | None = None) -> UnitsData:
    """Load a set of units by name.

    Raises
    ------
    ConfigError
        For an unknown name.
    SourceUnavailableError, ChecksumError
        When the file is nowhere to be had, or is not the registered one.
    """
    if name not in _UNITS:
        raise ConfigError(f"units: {name!r} is none of {', '.join(_UNITS)}")
    inputs, outputs = _UNITS[name]
    place, content = fetch(FILES[f"{name}.csv"], cache)
    frame = pd.read_csv(io.BytesIO(content)).astype(float)
    return UnitsData(name, frame[[*inputs, *outputs]], inputs, outputs, place)
