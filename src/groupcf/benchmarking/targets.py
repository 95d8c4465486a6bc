"""Least costly changes after which units reach a wanted efficiency."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.benchmarking.answers import Question, answers
from groupcf.benchmarking.benchmark import Benchmark
from groupcf.benchmarking.costs import TargetCost, read_weights
from groupcf.benchmarking.limits import Bound, read_limits
from groupcf.benchmarking.results import Target, TargetsResult
from groupcf.benchmarking.units import Side, Units, check_side, named
from groupcf.benchmarking.verification import EfficiencyChecker, check_target
from groupcf.errors import ConfigError, DataError, UnsupportedProblemError

Floats = NDArray[np.float64]

METHODS = ("auto", "enum", "lazy", "kkt", "bilinear")


def targets(
    frame: pd.DataFrame,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    rts: str = "crs",
    **options: Any,
) -> TargetsResult:
    """Find for each unit the least costly changes that make it as efficient as wanted.

    Parameters
    ----------
    frame, inputs, outputs, rts
        As for :class:`Benchmark`, which answers several questions about the same units faster.
    **options
        As for :func:`solve_targets`; `target` must be given.

    Returns
    -------
    TargetsResult

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame(
    ...     {"x1": [0.5, 1.5, 1.75, 2.5], "x2": [1, 0.5, 1.25, 1.25], "y": [1, 1, 1, 1]}
    ... )
    >>> result = targets(firms, inputs=["x1", "x2"], outputs=["y"], target=0.8, cost="l2")
    >>> result.values().round(3).loc[2].tolist()
    [1.525, 0.8, 1.0]
    """
    return solve_targets(Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts), **options)


def solve_targets(
    benchmark: Benchmark,
    *,
    target: float | Mapping[Any, float] | pd.Series[float],
    cost: str | TargetCost = "l0+l2",
    change: str = "input",
    units: Sequence[Any] | None = None,
    weights: Mapping[str, float] | None = None,
    scale: str | Mapping[str, float] = "raw",
    frozen: Sequence[str] = (),
    integer: Sequence[str] = (),
    lower: Bound = None,
    upper: Bound = None,
    relative_lower: Bound = None,
    relative_upper: Bound = None,
    super_efficiency: bool = False,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = None,
    verify: bool = True,
) -> TargetsResult:
    """Find targets of the units of a benchmark.

    Parameters
    ----------
    benchmark : Benchmark
    target : float or mapping or Series
        The wanted Farrell input efficiency E*, for all or by unit. Above 1 only with
        `super_efficiency`.
    cost : str or TargetCost
        "l0" (how many goods change), "l1", "l2" (squared), sums such as "l0+l2", "l0+(l2)"
        for one after the other, or "farrell" for the radial target, as a comparison.
    change : {"input", "output"}
        Which goods change; efficiency is the input efficiency in either case.
    units : sequence of labels, optional
        Units to look at; all by default.
    weights : mapping of column to number, optional
        Multiply all that a good costs; 1 by default.
    scale : {"raw", "mean", "own"} or mapping of column to number
        What changes are divided by before they are charged: nothing, the column's mean, or
        the unit's own present value.
    frozen : sequence of str
        Goods that keep their value.
    integer : sequence of str
        Goods that change to whole numbers only, such as people.
    lower, upper : number or mapping, optional
        Bounds of the new values, for all columns or by column (a number, or a Series by unit).
    relative_lower, relative_upper : number or mapping, optional
        Bounds as multiples of the present values.
    super_efficiency : bool
        Leave the unit itself out of the technology that it is compared with.
    method : {"auto", "enum", "lazy", "kkt", "bilinear"}
        "auto" takes the faster exact method; the last two are reference models for a solver.
    solver : str
        For the reference models; see :func:`groupcf.solvers.solve`.
    time_limit : float, optional
        Seconds per unit.
    verify : bool
        Recompute the efficiency of every answer by HiGHS and check what was promised.

    Returns
    -------
    TargetsResult
        Unattainable targets, limits that came too early and missing solvers are outcomes with
        a message.

    Raises
    ------
    ConfigError, DataError, UnsupportedProblemError
        For a question that makes no sense; the message names key, column or unit.
    """
    side = check_side(change, "change")
    priced = TargetCost.parse(cost)
    if method not in METHODS:
        raise ConfigError(f"method: {method!r} is none of {', '.join(METHODS)}")
    table = benchmark.units
    names = table.inputs if side == "input" else table.outputs
    which = np.arange(len(table))
    if units is not None:
        if isinstance(units, str) or not isinstance(units, (Sequence, pd.Index)):
            raise ConfigError(f"units: give a list of labels, not {units!r}")
        which = np.array([table.position(label) for label in units], dtype=np.int64)
    question = Question(
        benchmark, side, priced, read_weights(weights, names),
        _read_scale(scale, table, side, names),
        read_limits(
            table, side, frozen=frozen, integer=integer, lower=lower, upper=upper,
            relative_lower=relative_lower, relative_upper=relative_upper,
        ),
        _read_goals(target, table, which, super_efficiency), method, solver, time_limit,
    )  # fmt: skip
    limited = (
        frozen
        or integer
        or any(bound is not None for bound in (lower, upper, relative_lower, relative_upper))
    )
    if priced.radial and limited:
        raise UnsupportedProblemError(
            "cost: the Farrell target changes all goods by one share; it takes no frozen or "
            "integer goods and no bounds"
        )
    if time_limit is not None and not time_limit >= 0:
        raise ConfigError(f"time_limit: {time_limit!r} is not a number of seconds")
    start = time.perf_counter()
    outcomes = list(answers(question, which, alone=super_efficiency))
    seconds = time.perf_counter() - start
    if verify:
        checker = EfficiencyChecker(table, benchmark.rts)
        outcomes = [
            _verified(question, int(k), outcome, checker, super_efficiency)
            for k, outcome in zip(which, outcomes, strict=True)
        ]
    return TargetsResult(
        benchmark, side, priced, tuple(outcomes), _notes(question, scale), seconds,
        time.perf_counter() - start - seconds,
    )  # fmt: skip


def _read_goals(target: Any, units: Units, which: NDArray[np.int64], above_one: bool) -> Floats:
    goals = np.full(len(units), np.nan)
    if isinstance(target, (pd.Series, Mapping)):
        for k in which:
            label = units.labels[k]
            if label not in target:
                raise ConfigError(f"target: there is none for unit {named(label)}")
            goals[k] = _number(target[label], f"target of unit {named(label)}")
    else:
        goals[which] = _number(target, "target")
    worst = goals[which]
    if (worst <= 0).any():
        raise ConfigError(f"target: {worst.min():g} is not above 0")
    if (worst > 1).any() and not above_one:
        raise ConfigError(
            f"target: {worst.max():g} is above 1, which exists only as super-efficiency, with "
            "the unit itself left out of the technology: ask for super_efficiency"
        )
    return goals


def _number(value: Any, key: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ConfigError(f"{key}: {value!r} is not a finite number")
    return number


def _read_scale(
    scale: str | Mapping[str, float], units: Units, side: Side, names: tuple[str, ...]
) -> Floats:
    now = units.X if side == "input" else units.Y
    if isinstance(scale, str):
        if scale == "raw":
            return np.ones_like(now)
        if scale == "mean":
            return np.broadcast_to(now.mean(axis=0), now.shape)
        if scale == "own":
            if side == "output" and (now == 0).any():
                k, j = np.argwhere(now == 0)[0]
                raise DataError(
                    f"scale 'own': output {names[j]!r} of unit {named(units.labels[k])} is zero, "
                    "and no change is a share of nothing; use 'mean'"
                )
            return np.where(now > 0, now, 1.0)  # an input of zero cannot change
        raise ConfigError(f"scale: {scale!r} is none of 'raw', 'mean', 'own'; or give a mapping")
    return np.broadcast_to(read_weights(scale, names, "scale"), now.shape)


def _notes(question: Question, scale: Any) -> tuple[str, ...]:
    """Warn of costs that add up very different units of measurement."""
    notes = []
    typical = question.now.mean(axis=0)
    squares = question.cost.l2 + question.cost.then_l2 + question.cost.l1 + question.cost.then_l1
    if isinstance(scale, str) and scale == "raw" and squares > 0 and not question.cost.radial:
        spread = typical.max() / typical.min()
        if spread > 100:
            notes.append(
                f"the cost is measured in the columns' own units, whose means differ by a factor "
                f"of {spread:.3g}; scale 'mean' or 'own' makes them comparable"
            )
    return tuple(notes)


def _verified(
    question: Question, k: int, outcome: Target, checker: EfficiencyChecker, alone: bool
) -> Target:
    if outcome.values is None:
        return outcome
    x, y = question.plan(k, outcome.values)
    efficiency = checker.efficiency(x, y, k if alone else -1)
    checks = check_target(
        names=question.names, now=outcome.now, new=outcome.values,
        lower=question.limits.lower[k], upper=question.limits.upper[k],
        whole=question.limits.whole, cost=question.cost, weights=question.weights,
        cost_scale=question.scale[k], objective=outcome.objective or 0.0,
        efficiency=efficiency, target=outcome.target,
    )  # fmt: skip
    return replace(outcome, efficiency=efficiency, checks=checks)
