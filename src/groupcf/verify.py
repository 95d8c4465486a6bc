"""Independent re-check of a solution (models.md section 7).

Everything is recomputed from the counterfactuals alone: feasibility from the feature space,
the class from the original fitted classifier, the objective from the definition of the
cost. Nothing of the formulation that produced the solution is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.scores import Link
from groupcf.problems import ManyForOne, OneForMany, OneForOne, Problem, one_by_one
from groupcf.solution import Check, Solution, Verification

VALUE_TOLERANCE = 1e-6
"""Relative tolerance between a reported and a recomputed objective."""


class FittedClassifier(Protocol):
    """What the verifier asks of the original classifier."""

    def probability(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the original estimator's probability of the wanted class, shape (S,)."""
        ...

    def decision_original(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the original estimator's signed distance, shape (S,)."""
        ...


LINK_TOLERANCE = 1e-5
"""Absolute tolerance of linking constraints: solvers keep rows within 1e-6 or so."""


def verify(problem: Problem, solution: Solution, classifier: FittedClassifier) -> Verification:
    """Re-check a solution against the problem statement and the original classifier.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    classifier : FittedClassifier
        The original estimator behind the problem's score model.

    Returns
    -------
    Verification
        Without an incumbent there is nothing to check and only the bound is looked at.
    """
    checks = [_bound(solution)]
    if solution.status.has_incumbent:
        if solution.counterfactuals is None:
            checks.append(Check("counterfactuals given", False, 1.0, "status promises values"))
            return Verification(tuple(checks))
        pairs = solution.pairs()
        X0 = problem.instances[pairs[:, 0]]
        X = solution.counterfactuals[pairs[:, 1]]
        checks += [
            _feasible(problem, X0, X),
            _wanted(problem, X, classifier),
            _served(problem, solution, classifier),
        ]
        checks += _ALLOCATION_CHECKS[type(problem.allocation)](problem, solution, pairs)
    return Verification(tuple(checks))


def _bound(solution: Solution) -> Check:
    if solution.objective is None or solution.bound is None:
        return Check("lower bound <= objective", True, detail="no incumbent or no bound")
    excess = solution.bound - solution.objective
    slack = VALUE_TOLERANCE * max(1.0, abs(solution.objective))
    return Check(
        "lower bound <= objective",
        excess <= slack,
        max(0.0, excess),
        f"bound {solution.bound:.10g}, objective {solution.objective:.10g}",
    )


def _feasible(problem: Problem, X0: NDArray[np.float64], X: NDArray[np.float64]) -> Check:
    found = problem.space.violations(X0, X)
    return Check("valid points", not found, float(len(found)), "; ".join(found[:5]))


def _wanted(problem: Problem, X: NDArray[np.float64], classifier: FittedClassifier) -> Check:
    name = "original classifier accepts"
    if not len(X):
        return Check(name, True, detail="no instance is moved")
    link = problem.score.link
    if link is Link.NONE:
        value, required = classifier.decision_original(X), problem.threshold
    else:
        value = classifier.probability(X)
        required = float(link.probability(np.array([problem.threshold]))[0])
    short = required - value
    worst = float(short.max())
    return Check(
        name,
        bool((short <= 0).all()),
        max(0.0, worst),
        f"smallest value {float(value.min()):.12g}, required {required:.12g}",
    )


def _served(problem: Problem, solution: Solution, classifier: FittedClassifier) -> Check:
    """Enough instances are given a counterfactual."""
    served = len(np.unique(solution.pairs()[:, 0]))
    unreachable = len(solution.details.get("unreachable", ()))
    needed = problem.flips - unreachable
    return Check(
        "instances served",
        served >= needed,
        float(max(0, needed - served)),
        f"{served} of {problem.n_instances}, {needed} required"
        + (f", {unreachable} unreachable" if unreachable else ""),
    )


def _value(solution: Solution, recomputed: float) -> Check:
    reported = np.nan if solution.objective is None else solution.objective
    error = abs(reported - recomputed)
    return Check(
        "objective recomputed",
        bool(error <= VALUE_TOLERANCE * max(1.0, abs(recomputed))),
        float(error),
        f"reported {reported:.10g}, recomputed {recomputed:.10g}",
    )


def _limit(name: str, used: int, limit: int | None) -> list[Check]:
    if limit is None:
        return []
    return [Check(name, used <= limit, float(max(0, used - limit)), f"{used}, limit {limit}")]


def _one_for_one(problem: Problem, solution: Solution, pairs: NDArray[np.int64]) -> list[Check]:
    assert isinstance(problem.allocation, OneForOne)
    assert solution.counterfactuals is not None
    X = problem.instances.copy()
    X[pairs[:, 0]] = solution.counterfactuals[pairs[:, 1]]
    changed = problem.space.changed(problem.instances, X)
    return [
        _value(solution, problem.cost.total(problem.space, problem.instances, X)),
        *_limit(
            "features changed overall", int(changed.any(axis=0).sum()), problem.allocation.f_max
        ),
        *_limit(
            "features changed per instance",
            int(changed.sum(axis=1).max()),
            problem.allocation.max_changed,
        ),
        *_linking(problem, X),
    ]


def _linking(problem: Problem, X: NDArray[np.float64]) -> list[Check]:
    checks = []
    for constraint in problem.linking:
        worst = constraint.violation(problem.space, problem.cost, problem.instances, X)
        detail = f"violation {worst:.3g}, tolerance {LINK_TOLERANCE:g}"
        checks.append(Check(f"linking: {constraint}", worst <= LINK_TOLERANCE, worst, detail))
    return checks


def _many_for_one(problem: Problem, solution: Solution, pairs: NDArray[np.int64]) -> list[Check]:
    rule, space = problem.allocation, problem.space
    assert isinstance(rule, ManyForOne)
    assert solution.counterfactuals is not None
    X0, X = problem.instances[pairs[:, 0]], solution.counterfactuals[pairs[:, 1]]
    each = np.bincount(pairs[:, 0], minlength=problem.n_instances)
    wrong = int((each != rule.each).sum())
    checks = [
        _value(solution, problem.cost.total(space, X0, X)),
        Check(f"{rule.each} counterfactuals each", wrong == 0, float(wrong)),
        *_limit(
            "features changed per counterfactual",
            int(space.changed(X0, X).sum(axis=1).max(initial=0)),
            rule.max_changed,
        ),
    ]
    if wrong:
        return checks
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    if rule.feature is not None:
        j = space.index(rule.feature)
        feature, at = space.features[j], space.blocks[j].start
        value = (X[order, at] * feature.scale + feature.offset).reshape(-1, rule.each)
        low, high = np.array(rule.ranges, dtype=float).T
        slack = 1e-9 * max(1.0, abs(feature.lower), abs(feature.upper))
        outside = float(((value <= low) | (value > high + slack)).sum())
        detail = f"{outside:.0f} values outside"
        checks.append(Check(f"{rule.feature} in its ranges", outside == 0, outside, detail))
    checks += _linking(one_by_one(problem), X[order])
    return checks


def _one_for_many(problem: Problem, solution: Solution, pairs: NDArray[np.int64]) -> list[Check]:
    assert isinstance(problem.allocation, OneForMany)
    assert solution.counterfactuals is not None
    changed = problem.space.changed(
        problem.instances[pairs[:, 0]], solution.counterfactuals[pairs[:, 1]]
    )
    used = np.unique(pairs[:, 1])
    widest = max((int(changed[pairs[:, 1] == r].any(axis=0).sum()) for r in used), default=0)
    return [
        _value(solution, float(len(used))),
        *_limit("features changed per cluster", widest, problem.allocation.max_changed),
    ]


_ALLOCATION_CHECKS: dict[type, Callable[[Problem, Solution, NDArray[np.int64]], list[Check]]] = {
    OneForOne: _one_for_one,
    ManyForOne: _many_for_one,
    OneForMany: _one_for_many,
}
