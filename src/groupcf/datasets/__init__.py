"""Data sets: registry, sources, preprocessing.

``load(name)`` gives a table in its own labels with the encoding that the published
classifiers saw, ``load_series(name)`` curves, ``load_units(name)`` firms; ``names(kind)``
lists them and ``where(name)`` says which place would serve one without the network.
"""

from __future__ import annotations

from groupcf.datasets.catalogue import files_of, names, where
from groupcf.datasets.series import SeriesData, load_series
from groupcf.datasets.sources import Origin, SourceFile
from groupcf.datasets.tabular import TabularData, load, train_test_rows
from groupcf.datasets.units import UnitsData, load_efficiencies, load_units

__all__ = [
    "Origin",
    "SeriesData",
    "SourceFile",
    "TabularData",
    "UnitsData",
    "files_of",
    "load",
    "load_efficiencies",
    "load_series",
    "load_units",
    "names",
    "train_test_rows",
    "where",
]
