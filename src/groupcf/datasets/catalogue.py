"""Which data sets there are, and where each would come from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from groupcf.datasets.registry import FILES
from groupcf.datasets.series import SERIES, series_files
from groupcf.datasets.sources import SourceFile, locate
from groupcf.datasets.tabular import DATASETS
from groupcf.datasets.units import UNITS
from groupcf.errors import ConfigError

DatasetKind = Literal["tabular", "series", "units"]


def names(kind: DatasetKind) -> list[str]:
    """Return the registered data sets of a kind.

    Series are not limited to these: :func:`load_series` takes any name of the UCR and UEA
    archives.
    """
    known = {"tabular": DATASETS, "series": SERIES, "units": UNITS}
    if kind not in known:
        raise ConfigError(f"kind: {kind!r} is none of {', '.join(get_args(DatasetKind))}")
    return sorted(known[kind])


def files_of(name: str, *, kind: DatasetKind | None = None) -> tuple[SourceFile, ...]:
    """Return the files that a data set is made from.

    Raises
    ------
    ConfigError
        For an unknown data set; the message names the known ones. With ``kind="series"``
        every name counts as one of the UCR and UEA archives.
    """
    if name in DATASETS:
        return (FILES[DATASETS[name][0]],)
    if name in UNITS:
        return (FILES[f"{name}.csv"],) if f"{name}.csv" in FILES else ()
    if name in SERIES or kind == "series":
        return series_files(name)
    known = sorted((*DATASETS, *SERIES, *UNITS))
    raise ConfigError(f"dataset: {name!r} is none of {', '.join(known)}")


def where(name: str, *, kind: DatasetKind | None = None, cache: Path | None = None) -> str | None:
    """Say which place would serve a data set now, without the network and reading nothing.

    Returns
    -------
    "bundled", "mirror", "cache", or None when only the network could serve it.

    Raises
    ------
    ConfigError
        As :func:`files_of`.
    """
    places = []
    for file in files_of(name, kind=kind):
        found = locate(file, cache)
        if found is None:
            return None
        places.append(found[0])
    return places[0] if places else "bundled"
