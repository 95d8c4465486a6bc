"""Independent re-check of a counterfactual curve: nothing of the search is used."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers import Link
from groupcf.functional.problem import FunctionalProblem, FunctionalSolution
from groupcf.solution import Check, Verification

COMBINATION = 1e-9
"""Largest error of the convex combination, in the unit of the curves."""
VALUE_TOLERANCE = 1e-6


class FittedCurveClassifier(Protocol):
    """What is asked of the original classifier."""

    def probability(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the original estimator's probability for curves (n, J, T)."""
        ...

    def decision_original(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the original estimator's score for curves (n, J, T)."""
        ...


def verify_curves(
    problem: FunctionalProblem,
    solution: FunctionalSolution,
    classifier: FittedCurveClassifier,
    *,
    dtw: bool = False,
    window: int | None = None,
) -> Verification:
    """Re-check a counterfactual curve against the problem and the original classifier.

    Parameters
    ----------
    problem : FunctionalProblem
    solution : FunctionalSolution
    classifier : CurveClassifier
        The original estimator behind the problem's score.
    dtw : bool
        The objective is the one of dynamic time warping, with this `window`.

    Returns
    -------
    Verification
        Convex combination to 1e-9, prototypes within ``b_max``, the original classifier
        accepts, the objective recomputed, bound not above it.
    """
    checks = []
    if solution.bound is not None and solution.objective is not None:
        excess = solution.bound - solution.objective
        slack = VALUE_TOLERANCE * max(1.0, abs(solution.objective))
        checks.append(
            Check(
                "lower bound <= objective",
                excess <= slack,
                max(0.0, excess),
                f"bound {solution.bound:.10g}, objective {solution.objective:.10g}",
            )
        )
    if not solution.status.has_incumbent:
        return Verification(tuple(checks))
    x, a = solution.curve, solution.weights
    if x is None or a is None:
        checks.append(Check("curve given", False, 1.0, "status promises a curve"))
        return Verification(tuple(checks))
    own = 1.0 - a.sum(axis=1)
    mixed = own[:, None] * problem.x0 + np.einsum("jb,bjt->jt", a, problem.prototypes)
    error = float(np.abs(mixed - x).max())
    least = float(min(a.min(), own.min()))
    checks.append(
        Check(
            "convex combination",
            error <= COMBINATION and least >= -COMBINATION,
            max(error, -least, 0.0),
            f"largest error {error:.3g}, smallest weight {least:.3g}",
        )
    )
    used = int((a != 0).any(axis=0).sum())
    checks.append(
        Check(
            "prototypes used",
            used <= problem.b_max,
            float(max(0, used - problem.b_max)),
            f"{used}, limit {problem.b_max}",
        )
    )
    link = problem.score.link
    if link is Link.NONE:
        value, required = float(classifier.decision_original(x[None])[0]), problem.threshold
    else:
        value = float(classifier.probability(x[None])[0])
        required = float(link.probability(np.array([problem.threshold]))[0])
    checks.append(
        Check(
            "original classifier accepts",
            value >= required,
            max(0.0, required - value),
            f"value {value:.12g}, required {required:.12g}",
        )
    )
    changed = int((np.abs(x - problem.x0).max(axis=1) > COMBINATION).sum())
    squared = float(((x - problem.x0) ** 2).sum())
    if dtw:
        from groupcf.functional.dtw import warp

        squared = warp(x, problem.x0, window).squared
    recomputed = problem.lam0 * changed + problem.lam2 * problem.dt * squared
    reported = np.nan if solution.objective is None else solution.objective
    difference = abs(reported - recomputed)
    checks.append(
        Check(
            "objective recomputed",
            bool(difference <= VALUE_TOLERANCE * max(1.0, abs(recomputed))),
            float(difference),
            f"reported {reported:.10g}, recomputed {recomputed:.10g}",
        )
    )
    return Verification(tuple(checks))
