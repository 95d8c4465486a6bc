"""Data sets: registry, sources, preprocessing.

``load(name)`` gives a table in its own labels with the encoding that the published
classifiers saw, ``load_series(name)`` curves, ``load_units(name)`` firms.
"""

from __future__ import annotations

from groupcf.datasets.series import SeriesData, load_series
from groupcf.datasets.tabular import DATASETS, TabularData, load, train_test_rows, where
from groupcf.datasets.units import UnitsData, load_units

__all__ = [
    "DATASETS",
    "SeriesData",
    "TabularData",
    "UnitsData",
    "load",
    "load_series",
    "load_units",
    "train_test_rows",
    "where",
]
