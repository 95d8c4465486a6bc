"""The tabular data sets, in the user's own labels, with the published encoding."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.datasets import binned, preprocessing
from groupcf.datasets.registry import FILES
from groupcf.datasets.sources import fetch, locate
from groupcf.errors import ConfigError, DataError, SourceUnavailableError
from groupcf.features import Feature, FeatureSpace, Kind

Loader = Callable[[Path | None], "TabularData"]


@dataclass(frozen=True, eq=False)
class TabularData:
    """A data set for classification.

    Attributes
    ----------
    name, variant : str
        As asked for; `variant` names the preprocessing that was really applied.
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


def _numerical(name: str, column: pd.Series, *, scaled: bool) -> Feature:
    low, high = float(column.min()), float(column.max())
    if not high > low:
        raise DataError(f"column {name!r} is constant; it cannot be a numerical feature")
    if scaled:
        return Feature(name, Kind.NUMERICAL, low, high, offset=low, scale=high - low)
    return Feature(name, Kind.NUMERICAL, low, high)


def _ordinal(name: str, codes: dict[Any, float]) -> Feature:
    return Feature(name, Kind.ORDINAL, categories=tuple(codes), codes=tuple(codes.values()))


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
        _binary("CHAS", 0.0, 1.0) if name == "CHAS" else _numerical(name, frame[name], scaled=True)
        for name in frame.columns
    )
    return TabularData("boston", "published", frame, target, FeatureSpace(features), place)


def _compas_space(frame: pd.DataFrame) -> FeatureSpace:
    race = (
        _nominal("Race", frame["Race"])
        if frame["Race"].nunique() > 2
        else _binary("Race", "not Caucasian", "Caucasian")
    )
    return FeatureSpace(
        (
            race,
            _ordinal("AgeGroup", {"Less25": 1.0, "25-45": 2.0, "More45": 3.0}),
            _binary("Sex"),
            _numerical("PriorsCount", frame["PriorsCount"], scaled=False),
            _binary("ChargeDegree"),
        )
    )


def _compas_table(frame: pd.DataFrame, variant: str, place: str, *notes: str) -> TabularData:
    target = _signed(frame["TwoYearRecid"] == 0)
    space = _compas_space(frame)
    return TabularData("compas", variant, frame[space.names], target, space, place, notes)


def _compas(cache: Path | None) -> TabularData:
    place, frame = _read("compas_processed.csv", cache, sep=";", encoding="utf-8-sig")
    return _compas_table(frame, "published", place)


def _compas_bundled(cache: Path | None) -> TabularData:
    place, raw = _read("compas_recidivism.csv", cache)
    return _compas_table(
        preprocessing.compas_bundled(raw),
        "bundled",
        place,
        "The bundled COMPAS table has 6167 rows, five less than the published 6172, in another "
        "order, and race only as Caucasian or not; values differ from the published ones.",
    )


_CREDIT_AMOUNTS = (
    "MaxBillAmountOverLast6Months",
    "MaxPaymentAmountOverLast6Months",
    "MostRecentBillAmount",
    "MostRecentPaymentAmount",
)


def _credit(cache: Path | None) -> TabularData:
    place, raw = _read("UCI_Credit_Card.csv", cache)
    frame = preprocessing.credit(raw)
    target = _signed(frame.pop("NoDefaultNextMonth") == 1)
    features = []
    for name in frame.columns:
        if name in ("isMale", "isMarried", "HasHistoryOfOverduePayments"):
            features.append(_binary(name))
        elif name in ("AgeGroup", "EducationLevel"):
            levels = sorted(frame[name].unique())
            features.append(_ordinal(name, {level.item(): float(level) for level in levels}))
        else:
            features.append(_numerical(name, frame[name], scaled=name in _CREDIT_AMOUNTS))
    return TabularData("credit", "published", frame, target, FeatureSpace(tuple(features)), place)


_STUDENT_BINARIES = {
    "school": ("GP", "MS"),
    "sex": ("M", "F"),
    "address": ("R", "U"),
    "famsize": ("LE3", "GT3"),
    "Pstatus": ("T", "A"),
} | dict.fromkeys(preprocessing.YES_NO, ("no", "yes"))
_STUDENT_NOMINALS = ("Mjob", "Fjob", "reason", "guardian")
_STUDENT_NUMBERS = ("age", "failures", "absences")


def _students(*, corrected: bool) -> Loader:
    def load(cache: Path | None) -> TabularData:
        place, raw = _read("Students-Performance-MAT.csv", cache)
        target = _signed(raw.pop("Class") == 1)
        frame = raw if corrected else preprocessing.students_published(raw)
        order = [*_STUDENT_NOMINALS, *(c for c in frame.columns if c not in _STUDENT_NOMINALS)]
        frame = frame[order]
        features = []
        for name in frame.columns:
            if name in _STUDENT_NOMINALS:
                features.append(_nominal(name, frame[name]))
            elif name in _STUDENT_BINARIES:
                features.append(_binary(name, *_STUDENT_BINARIES[name]))
            elif name in _STUDENT_NUMBERS:
                features.append(_numerical(name, frame[name], scaled=False))
            else:
                levels = sorted(frame[name].unique())
                features.append(_ordinal(name, {level.item(): float(level) for level in levels}))
        notes = (
            ()
            if corrected
            else (
                "The published preprocessing makes eight yes/no columns constant: "
                + ", ".join(preprocessing.YES_NO),
            )
        )
        variant = "corrected" if corrected else "published"
        space = FeatureSpace(tuple(features))
        return TabularData("students", variant, frame, target, space, place, notes)

    return load


def _german_frame(cache: Path | None) -> tuple[str, pd.DataFrame]:
    return _read(
        "german.data", cache, sep=" ", header=None, names=list(preprocessing.GERMAN_COLUMNS)
    )


def _german_frame_bundled(cache: Path | None) -> tuple[str, pd.DataFrame]:
    place, raw = _read("german_onehot.csv", cache)
    _, labels = _read("german_labels.csv", cache)
    return place, preprocessing.german_bundled(raw, labels)


_GERMAN_NOTE = (
    "The bundled German table gives sex, not the published four categories of personal status "
    "and sex; values differ from the published ones."
)


def _german(*, bundled: bool) -> Loader:
    def load(cache: Path | None) -> TabularData:
        place, frame = (_german_frame_bundled if bundled else _german_frame)(cache)
        target = _signed(frame.pop("class") == 1)
        features = tuple(
            _numerical(name, frame[name], scaled=True)
            if pd.api.types.is_numeric_dtype(frame[name])
            else _nominal(name, frame[name])
            if frame[name].nunique() > 2
            else _binary(name, *sorted(frame[name].unique()))
            for name in frame.columns
        )
        variant, notes = ("bundled", (_GERMAN_NOTE,)) if bundled else ("published", ())
        return TabularData("german", variant, frame, target, FeatureSpace(features), place, notes)

    return load


def _binned(base: Loader, name: str, table: Callable[[pd.DataFrame], pd.DataFrame]) -> Loader:
    """Return the all-discrete table of a data set, for sparse one-for-many."""

    def load(cache: Path | None) -> TabularData:
        data = base(cache)
        frame = table(data.frame)
        space = binned.space(frame)
        return TabularData(name, data.variant, frame, data.target, space, data.source, data.notes)

    return load


DATASETS: dict[str, dict[str, tuple[tuple[str, ...], Loader]]] = {
    "boston": {"published": (("boston_house_prices.csv",), _boston)},
    "compas": {
        "published": (("compas_processed.csv",), _compas),
        "bundled": (("compas_recidivism.csv",), _compas_bundled),
    },
    "credit": {"published": (("UCI_Credit_Card.csv",), _credit)},
    "students": {
        "published": (("Students-Performance-MAT.csv",), _students(corrected=False)),
        "corrected": (("Students-Performance-MAT.csv",), _students(corrected=True)),
    },
    "german": {
        "published": (("german.data",), _german(bundled=False)),
        "bundled": (("german_onehot.csv", "german_labels.csv"), _german(bundled=True)),
    },
    "compas_binned": {
        "published": (
            ("compas_processed.csv",),
            _binned(_compas, "compas_binned", binned.compas),
        ),
        "bundled": (
            ("compas_recidivism.csv",),
            _binned(_compas_bundled, "compas_binned", binned.compas),
        ),
    },
    "students_binned": {
        "published": (
            ("Students-Performance-MAT.csv",),
            _binned(_students(corrected=False), "students_binned", binned.students),
        ),
        "corrected": (
            ("Students-Performance-MAT.csv",),
            _binned(_students(corrected=True), "students_binned", binned.students),
        ),
    },
    "german_binned": {
        "published": (
            ("german.data",),
            _binned(_german(bundled=False), "german_binned", binned.german),
        ),
        "bundled": (
            ("german_onehot.csv", "german_labels.csv"),
            _binned(_german(bundled=True), "german_binned", binned.german),
        ),
    },
}
"""Data set -> variant -> (files it needs, loader)."""


def load(name: str, *, variant: str = "published", cache: Path | None = None) -> TabularData:
    """Load a tabular data set.

    Parameters
    ----------
    name : str
        One of ``DATASETS``.
    variant : str
        "published" preprocessing, "corrected" (students), or "bundled" (COMPAS and German
        from bundled files alone). When the files of "published" are nowhere to be had and a
        "bundled" variant exists, that one is returned; its `variant` and `notes` say so.
    cache : Path, optional
        Directory of downloaded files.

    Raises
    ------
    ConfigError
        For an unknown data set or variant; the message lists the known ones.
    SourceUnavailableError, ChecksumError
        When a file is nowhere to be had, or is not the registered one.
    """
    variants = _variants(name, variant)
    try:
        return variants[variant][1](cache)
    except SourceUnavailableError:
        if variant != "published" or "bundled" not in variants:
            raise
        return variants["bundled"][1](cache)


def where(name: str, *, variant: str = "published", cache: Path | None = None) -> str | None:
    """Say where a data set would come from without the network, or None if from nowhere.

    "bundled instead" when only the bundled variant is at hand.
    """
    variants = _variants(name, variant)
    place = None
    for file in variants[variant][0]:
        found = locate(FILES[file], cache)
        place = None if found is None else found[0]
        if place is None:
            break
    if place is None and variant == "published" and "bundled" in variants:
        return "bundled instead"
    return place


def _variants(name: str, variant: str) -> dict[str, tuple[tuple[str, ...], Loader]]:
    if name not in DATASETS:
        raise ConfigError(f"dataset: {name!r} is none of {', '.join(sorted(DATASETS))}")
    if variant not in DATASETS[name]:
        raise ConfigError(
            f"variant: {variant!r} of data set {name!r} is none of {', '.join(DATASETS[name])}"
        )
    return DATASETS[name]


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
