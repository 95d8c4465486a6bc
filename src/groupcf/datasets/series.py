"""Curves: data sets of the UCR and UEA archives."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groupcf.datasets.registry import FILES, archive_file
from groupcf.datasets.sources import SourceFile, fetch
from groupcf.errors import ConfigError, DataError

SERIES = ("BasicMotions", "ItalyPowerDemand", "NATOPS")
"""Data sets with a registered checksum."""


@dataclass(frozen=True, eq=False)
class SeriesData:
    """Labelled curves on a common grid.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray of shape (n, J, T)
        n curves with J functional features on T grid points.
    y_train, y_test : ndarray of str, shape (n,)
        Class labels as the file has them.
    source : str
        "bundled", "mirror", "cache" or "network".
    notes : tuple of str
        What a reader of results must know about these curves.
    """

    name: str
    X_train: NDArray[np.float64]
    y_train: NDArray[np.str_]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.str_]
    source: str
    notes: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Checksum of curves and labels, training part first."""
        digest = hashlib.sha256()
        for X, y in ((self.X_train, self.y_train), (self.X_test, self.y_test)):
            digest.update(np.ascontiguousarray(X).tobytes())
            digest.update("\n".join(y).encode())
        return digest.hexdigest()


def series_files(name: str) -> tuple[SourceFile, SourceFile]:
    """Return the training and the test file of a data set of the archives.

    Raises
    ------
    ConfigError
        For a name that cannot be one of the archives'.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ConfigError(
            f"dataset: {name!r} is no name of the UCR and UEA archives; registered are "
            f"{', '.join(SERIES)}"
        )
    train, test = (f"{name}_{part}.ts" for part in ("TRAIN", "TEST"))
    return FILES.get(train) or archive_file(name, train), FILES.get(test) or archive_file(
        name, test
    )


def load_series(name: str, *, cache: Path | None = None) -> SeriesData:
    """Load a data set of the UCR or UEA archive by its name there.

    Any name will do: a set that is not registered is looked for in the same places, the
    archive last, but its content cannot be checked; `notes` say so.

    Raises
    ------
    ConfigError
        For a name that cannot be one of the archives'.
    DataError
        For curves of unequal length or with missing values.
    SourceUnavailableError, ChecksumError
        When the data are nowhere to be had, or not the registered ones.
    """
    places, parts = [], []
    for file in series_files(name):
        place, content = fetch(file, cache)
        places.append(place)
        parts.append(parse_ts(content.decode(), file.name))
    (X_train, y_train), (X_test, y_test) = parts
    if X_train.shape[1:] != X_test.shape[1:]:
        raise DataError(
            f"{name}: training curves have {X_train.shape[1]} dimensions of length "
            f"{X_train.shape[2]}, test curves {X_test.shape[1]} of length {X_test.shape[2]}"
        )
    notes: tuple[str, ...] = ()
    if name not in SERIES:
        notes = ("This data set has no registered checksum; its files were taken as found.",)
    return SeriesData(name, X_train, y_train, X_test, y_test, places[0], notes)


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
