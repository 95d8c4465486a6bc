"""Kinds of studies: what one solve of each kind does.

A kind of study of tabular data is one module with a function
``run(study, solve, data, classifier, options)`` that returns an :class:`Answer`. A kind that
brings data of another shape has ``prepare(study, cache, files, options)`` that returns
:class:`Prepared`. Adding a kind is adding a module and naming it here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from groupcf.errors import ConfigError
from groupcf.solution import Outcome, Verification

KINDS = {
    "one_for_one": "groupcf.pipeline.studies.one_for_one",
    "sparse_one_for_many": "groupcf.pipeline.studies.sparse_one_for_many",
}
"""Kind of tabular data -> module."""

OWN_DATA = {
    "functional": "groupcf.pipeline.studies.functional",
    "efficiency_targets": "groupcf.pipeline.studies.efficiency_targets",
}
"""Kind that brings its own data -> module."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one solve of a study found, ready to be recorded."""

    model: str
    solution: Outcome
    verification: Verification
    n_instances: int
    n_flipped: int | None = None
    changed_features: Mapping[str, int] = field(default_factory=dict)
    outliers: Sequence[Any] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    instances: pd.DataFrame | None = None


@dataclass(frozen=True)
class Prepared:
    """Data and classifiers of a study made ready, and what its solves do with them.

    Attributes
    ----------
    code : tuple of str
        Parts of the library whose change makes every solve run again.
    determined : callable
        ``determined(solve)``: what decides the result of a solve beside code, study and
        options, such as the checksum of its data.
    described : callable
        ``described(solve)``: the dataset and classifier of its record.
    answered : callable
        ``answered(solve) -> Answer``.
    """

    code: tuple[str, ...]
    determined: Callable[[Mapping[str, Any]], Sequence[Any]]
    described: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    answered: Callable[[Mapping[str, Any]], Answer]


def runner(kind: str) -> Callable[..., Answer]:
    """Return the function that runs one solve of a kind of study.

    Raises
    ------
    ConfigError
        For an unknown kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind: {kind!r} is none of {', '.join(KINDS)}")
    run: Callable[..., Answer] = importlib.import_module(KINDS[kind]).run
    return run


def preparer(kind: str) -> Callable[..., Prepared]:
    """Return the function that prepares a study whose kind brings its own data.

    Raises
    ------
    ConfigError
        For an unknown kind.
    """
    if kind not in OWN_DATA:
        raise ConfigError(f"kind: {kind!r} is none of {', '.join(OWN_DATA)}")
    prepare: Callable[..., Prepared] = importlib.import_module(OWN_DATA[kind]).prepare
    return prepare
