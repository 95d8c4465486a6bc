"""Curves: data sets of the UCR and UEA archives."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import OFFLINE_VARIABLE, fetch
from groupcf.errors import DataError, SourceUnavailableError


@dataclass(frozen=True, eq=False)
class SeriesData:
    """Labelled curves on a common grid.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray of shape (n, J, T)
        n curves with J functional features on T grid points.
    y_train, y_test : ndarray of str, shape (n,)
    source : str
        "bundled", "mirror", "cache" or "network".
    """

    name: str
    X_train: NDArray[np.float64]
    y_train: NDArray[np.str_]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.str_]
    source: str


def load_series(name: str, *, cache: Path | None = None) -> SeriesData:
    """Load a data set of the UCR or UEA archive by its name there.

    Registered sets come from their files; any other name is asked of the archive through
    tslearn, which keeps its own download cache.

    Raises
    ------
    DataError
        For curves of unequal length.
    SourceUnavailableError, ChecksumError
        When the data are nowhere to be had, or not the registered ones.
    """
    if f"{name}_TRAIN.ts" not in FILES:
        return _from_archive(name)
    places, parts = [], []
    for part in ("TRAIN", "TEST"):
        place, content = fetch(FILES[f"{name}_{part}.ts"], cache)
        places.append(place)
        parts.append(parse_ts(content.decode(), f"{name}_{part}.ts"))
    (X_train, y_train), (X_test, y_test) = parts
    return SeriesData(name, X_train, y_train, X_test, y_test, places[0])


def _from_archive(name: str) -> SeriesData:
    if os.environ.get(OFFLINE_VARIABLE):
        raise SourceUnavailableError(
            f"{name}: not a registered data set, and {OFFLINE_VARIABLE} forbids the network"
        )
    from tslearn.datasets import UCR_UEA_datasets

    try:
        X_train, y_train, X_test, y_test = UCR_UEA_datasets().load_dataset(name)
    except Exception as error:
        raise SourceUnavailableError(f"{name}: the archive cannot be reached ({error})") from error
    if X_train is None:
        raise SourceUnavailableError(
            f"{name}: the archive cannot be reached or has no data set of this name"
        )
    if not (np.isfinite(X_train).all() and np.isfinite(X_test).all()):
        raise DataError(f"{name}: curves of unequal length or with missing values")
    # tslearn gives (n, T, J)
    return SeriesData(
        name,
        np.ascontiguousarray(np.swapaxes(X_train, 1, 2)),
        np.asarray(y_train, dtype=str),
        np.ascontiguousarray(np.swapaxes(X_test, 1, 2)),
        np.asarray(y_test, dtype=str),
        "network",
    )


def parse_ts(text: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Parse the archive's .ts format to (n, J, T) values and labels.

    Each data line holds J dimensions separated by colons, then the label; comments start
    with ``#`` and header lines with ``@``.

    Raises
    ------
    DataError
        For a line that does not parse or curves of unequal length, naming file and line.
    """
    curves: list[NDArray[np.float64]] = []
    labels: list[str] = []
    in_data = False
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if not in_data:
            in_data = line.lower() == "@data"
            continue
        *dimensions, label = line.split(":")
        try:
            rows = [[float(value) for value in d.split(",")] for d in dimensions]
        except ValueError as error:
            raise DataError(f"{name}, line {number}: {error}") from None
        if not rows or len({len(r) for r in rows}) != 1:
            raise DataError(
                f"{name}, line {number}: dimensions of unequal length are not supported"
            )
        curve = np.array(rows)
        if not np.isfinite(curve).all():
            raise DataError(f"{name}, line {number}: missing or infinite values")
        if curves and curve.shape != curves[0].shape:
            raise DataError(
                f"{name}, line {number}: {curve.shape[0]} dimensions of length {curve.shape[1]}, "
                f"but the first curve has {curves[0].shape[0]} of length {curves[0].shape[1]}; "
                "curves of unequal length are not supported"
            )
        curves.append(curve)
        labels.append(label.strip())
    if not curves:
        raise DataError(f"{name}: no data lines after @data")
    return np.stack(curves), np.array(labels, dtype=str)
