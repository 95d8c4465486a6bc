"""Kinds of studies: what one solve of each kind does.

A kind is one module with a function ``run(study, solve, data, classifier, options)`` that
returns an :class:`Answer`. Adding a kind is adding a module and naming it here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from groupcf.errors import ConfigError
from groupcf.solution import Solution
from groupcf.verify import Verification

KINDS = {
    "one_for_one": "groupcf.pipeline.studies.one_for_one",
    "sparse_one_for_many": "groupcf.pipeline.studies.sparse_one_for_many",
}
"""Kind -> module. Studies of curves have data of another shape and a driver of their own,
:func:`groupcf.pipeline.studies.functional.run_functional`."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one solve of a study found, ready to be recorded."""

    model: str
    solution: Solution
    verification: Verification
    n_instances: int
    n_flipped: int | None = None
    changed_features: Mapping[str, int] = field(default_factory=dict)
    outliers: Sequence[Any] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    instances: pd.DataFrame | None = None


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
