"""The tabular data sets, in the user's own labels, with the published encoding."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.datasets import binned, preprocessing
from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import fetch
from groupcf.errors import ConfigError, DataError
from groupcf.features import Feature, FeatureSpace, Kind

Loader = Callable[[Path | None], "TabularData"]


@dataclass(frozen=True, eq=False)
class TabularData:
    """A data set for classification.

    Attributes
    ----------
    name, variant : str
        Data set, and the preprocessing that was applied.
    frame : DataFrame
        Features in the user's own labels and units, rows numbered from 0.
    target : Series of int
        +1 for the wanted class, -1 otherwise.
    space : FeatureSpace
        Its encoding is what the published classifiers saw.
    source : str
        "bundled", "mirror", "cache" or "network".
    notes : tuple of str
        What a reader of results must know about this table.
    """

    name: str
    variant: str
    frame: pd.DataFrame
    target: pd.Series
    space: FeatureSpace
    source: str
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def X(self) -> NDArray[np.float64]:  # noqa: N802 - the letter of models.md
        """Encoded features, shape (rows, D)."""
        return self.space.encode(self.frame)

    @cached_property
    def y(self) -> NDArray[np.int64]:
        """Target, shape (rows,)."""
        return self.target.to_numpy(dtype=np.int64)

    @cached_property
    def sha256(self) -> str:
        """Checksum of the table's content."""
        table = self.frame.assign(**{"(target)": self.target})
        text = table.to_csv(index=False, lineterminator="\n", float_format="%.17g")
        return hashlib.sha256(text.encode()).hexdigest()


def _read(name: str, cache: Path | None, **options: Any) -> tuple[str, pd.DataFrame]:
    place, content = fetch(FILES[name], cache)
    return place, pd.read_csv(io.BytesIO(content), **options)


def _numerical(name: str, column: pd.Series) -> Feature:
    low, high = float(column.min()), float(column.max())
    if not high > low:
        raise DataError(f"column {name!r} is constant; it cannot be a numerical feature")
    # Every number and every order is min-max scaled, also where the authors' instance files
    # show raw values: only so do the published changes of COMPAS, credit and students come
    # out (which features change, how many, how many outliers).
    return Feature(name, Kind.NUMERICAL, low, high, offset=low, scale=high - low)


def _count(name: str, column: pd.Series) -> Feature:
    """Whole numbers: only so do the published five features suffice for all of credit."""
    return replace(_numerical(name, column), kind=Kind.INTEGER)


def _ordinal(name: str, codes: dict[Any, float]) -> Feature:
    values = tuple(codes.values())
    return Feature(
        name,
        Kind.ORDINAL,
        categories=tuple(codes),
        codes=values,
        offset=values[0],
        scale=values[-1] - values[0],
    )


def _levels(name: str, column: pd.Series) -> Feature:
    """Return an ordinal feature whose categories are their own codes."""
    return _ordinal(name, {level.item(): float(level) for level in sorted(column.unique())})


def _binary(name: str, zero: Any = 0, one: Any = 1) -> Feature:
    return Feature(name, Kind.BINARY, categories=(zero, one))


def _nominal(name: str, column: pd.Series) -> Feature:
    return Feature(name, Kind.NOMINAL, categories=tuple(sorted(column.unique())))


def _signed(wanted: pd.Series) -> pd.Series:
    return pd.Series(np.where(wanted, 1, -1), name="target")


def _boston(cache: Path | None) -> TabularData:
    place, raw = _read("boston_house_prices.csv", cache)
    target = _signed(raw.pop("MEDV") > 22)
    frame = raw.astype(float)
    features = tuple(
        _binary("CHAS", 0.0, 1.0) if name == "CHAS" else _numerical(name, frame[name])
        for name in frame.columns
    )
    return TabularData("boston", "published", frame, target, FeatureSpace(features), place)


def _compas(cache: Path | None) -> TabularData:
    place, raw = _read("compas-scores-two-years-columns.csv", cache)
    frame = preprocessing.compas(raw)
    target = _signed(frame["TwoYearRecid"] == 0)
    space = FeatureSpace(
        (
            _nominal("Race", frame["Race"]),
            _ordinal("AgeGroup", {"Less25": 1.0, "25-45": 2.0, "More45": 3.0}),
            _binary("Sex"),
            _count("PriorsCount", frame["PriorsCount"]),
            _binary("ChargeDegree"),
        )
    )
    return TabularData("compas", "published", frame[space.names], target, space, place)


def _credit(cache: Path | None) -> TabularData:
    place, raw = _read("UCI_Credit_Card.csv", cache)
    frame = preprocessing.credit(raw)
    target = _signed(frame.pop("NoDefaultNextMonth") == 1)
    features = []
    for name in frame.columns:
        if name in ("isMale", "isMarried", "HasHistoryOfOverduePayments"):
            features.append(_binary(name))
        elif name in ("AgeGroup", "EducationLevel"):
            features.append(_levels(name, frame[name]))
        else:
            counted = name.startswith(("Months", "Total"))
            features.append((_count if counted else _numerical)(name, frame[name]))
    return TabularData("credit", "published", frame, target, FeatureSpace(tuple(features)), place)


_STUDENT_BINARIES = {
    "school": ("GP", "MS"),
    "sex": ("M", "F"),
    "address": ("R", "U"),
    "famsize": ("LE3", "GT3"),
    "Pstatus": ("T", "A"),
} | dict.fromkeys(preprocessing.YES_NO, ("no", "yes"))
_STUDENTS_FILE = "Students-Performance-MAT.csv"
_STUDENT_NOMINALS = ("Mjob", "Fjob", "reason", "guardian")
_STUDENT_NUMBERS = ("age", "failures", "absences")


def _students(variant: str, cache: Path | None) -> TabularData:
    place, raw = _read(_STUDENTS_FILE, cache)
    target = _signed(raw.pop("Class") == 1)
    notes: tuple[str, ...] = ()
    if variant == "published":
        raw = preprocessing.students_published(raw)
        constant = ", ".join(preprocessing.YES_NO)
        notes = (f"The published preprocessing makes eight yes/no columns constant: {constant}",)
    rest = [c for c in raw.columns if c not in _STUDENT_NOMINALS]
    frame = raw[[*_STUDENT_NOMINALS, *rest]]
    features = []
    for name in frame.columns:
        if name in _STUDENT_NOMINALS:
            features.append(_nominal(name, frame[name]))
        elif name in _STUDENT_BINARIES:
            features.append(_binary(name, *_STUDENT_BINARIES[name]))
        elif name in _STUDENT_NUMBERS:
            features.append(_count(name, frame[name]))
        else:
            features.append(_levels(name, frame[name]))
    space = FeatureSpace(tuple(features))
    return TabularData("students", variant, frame, target, space, place, notes)


def _german(cache: Path | None) -> TabularData:
    place, content = fetch(FILES["credit-g.arff"], cache)
    frame = preprocessing.german(content)
    target = _signed(frame.pop("class") == 1)
    features = tuple(
        _numerical(name, frame[name])
        if pd.api.types.is_numeric_dtype(frame[name])
        else _nominal(name, frame[name])
        if frame[name].nunique() > 2
        else _binary(name, *sorted(frame[name].unique()))
        for name in frame.columns
    )
    return TabularData("german", "published", frame, target, FeatureSpace(features), place)


def _binned(name: str, base: Loader, table: Callable[[pd.DataFrame], pd.DataFrame]) -> Loader:
    """Return the all-discrete table of a data set, for sparse one-for-many."""

    def load(cache: Path | None) -> TabularData:
        data = base(cache)
        frame = table(data.frame)
        return replace(data, name=name, frame=frame, space=binned.space(frame))

    return load


_STUDENTS: dict[str, Loader] = {
    variant: partial(_students, variant) for variant in ("published", "corrected")
}

DATASETS: dict[str, tuple[str, dict[str, Loader]]] = {
    "boston": ("boston_house_prices.csv", {"published": _boston}),
    "compas": ("compas-scores-two-years-columns.csv", {"published": _compas}),
    "credit": ("UCI_Credit_Card.csv", {"published": _credit}),
    "students": (_STUDENTS_FILE, _STUDENTS),
    "german": ("credit-g.arff", {"published": _german}),
    "compas_binned": (
        "compas-scores-two-years-columns.csv",
        {"published": _binned("compas_binned", _compas, binned.compas)},
    ),
    "students_binned": (
        _STUDENTS_FILE,
        {
            variant: _binned("students_binned", loader, binned.students)
            for variant, loader in _STUDENTS.items()
        },
    ),
    "german_binned": (
        "credit-g.arff",
        {"published": _binned("german_binned", _german, binned.german)},
    ),
}
"""Data set -> (the file it is made from, variant -> loader)."""


def load(name: str, *, variant: str = "published", cache: Path | None = None) -> TabularData:
    """Load a tabular data set.

    Parameters
    ----------
    name : str
        One of ``names("tabular")``.
    variant : str
        "published" preprocessing, or "corrected" (students).
    cache : Path, optional
        Directory of downloaded files, ``data/raw`` by default.

    Raises
    ------
    ConfigError
        For an unknown data set or variant; the message lists the known ones.
    SourceUnavailableError, ChecksumError
        When the file is nowhere to be had, or is not the registered one.
    """
    if name not in DATASETS:
        raise ConfigError(f"dataset: {name!r} is none of {', '.join(sorted(DATASETS))}")
    variants = DATASETS[name][1]
    if variant not in variants:
        raise ConfigError(
            f"variant: {variant!r} of data set {name!r} is none of {', '.join(variants)}"
        )
    return variants[variant](cache)


def train_test_rows(
    data: TabularData, test_size: float, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row positions of the published split, training rows first.

    Parameters
    ----------
    data : TabularData
    test_size : float
        Share of test rows: 0.33 for one-for-one, 0.5 for sparse one-for-many.
    seed : int
    """
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(data.frame)), test_size=test_size, random_state=seed
    )
    return np.asarray(train), np.asarray(test)
