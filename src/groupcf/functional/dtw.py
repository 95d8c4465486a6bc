"""Counterfactual curves under dynamic time warping (Algorithm 1 of the dissertation).

For a fixed warping path the cost is a weighted squared distance, of each value of the
counterfactual from the mean of the original's values that it is matched with. Model and path
take turns: the path is the best one for the curve, the curve the best one found for the path,
and neither step raises the cost. The end is a local optimum; several starts make it a better
one. The warping is multivariate: one path for all functional features.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.checks import number, whole
from groupcf.errors import ConfigError, DataError
from groupcf.functional.curves import as_curves
from groupcf.functional.preparation import Floats, Trees, prepare, trees_of
from groupcf.functional.problem import (
    WEIGHT,
    FunctionalProblem,
    FunctionalSolution,
    values_of,
)
from groupcf.functional.prototypes import Search, solve_euclidean
from groupcf.solution import Progress, Status

METHOD = "alternating model and warping path"
_DROP = 1e-9
_ROUNDS = 100


@dataclass(frozen=True)
class Warping:
    """A warping path and the squared distance along it.

    Attributes
    ----------
    squared : float
    path : ndarray of shape (Q, 2) of int
        Pairs (point of the counterfactual, point of the original).
    """

    squared: float
    path: NDArray[np.int64]


def warp(x: Floats, x0: Floats, window: int | None = None) -> Warping:
    """Return the best warping path of two curves (J, T), by tslearn."""
    from tslearn.metrics import dtw_path

    options = (
        {} if window is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": window}
    )
    path, _ = dtw_path(x.T, x0.T, **options)
    pairs = np.asarray(path, dtype=np.int64)
    # along the path itself, so that a sum that is 0 is 0
    return Warping(float(((x[:, pairs[:, 0]] - x0[:, pairs[:, 1]]) ** 2).sum()), pairs)


def dtw_cost(problem: FunctionalProblem, weights: ArrayLike, *, window: int | None = None) -> float:
    """Return the cost of weights (J, m) under dynamic time warping.

    ``lam0`` for each changed functional feature and ``lam2 * dt`` times the squared distance
    along the best path.
    """
    a = np.asarray(weights, dtype=float)
    if a.shape != (len(problem.x0), len(problem.prototypes)):
        raise DataError(
            f"weights: expected shape {(len(problem.x0), len(problem.prototypes))}, not {a.shape}"
        )
    changed = int((a > WEIGHT).any(axis=1).sum())
    squared = warp(problem.combine(a), problem.x0, window).squared
    return problem.lam0 * changed + problem.lam2 * problem.dt * squared


def solve_dtw(
    problem: FunctionalProblem,
    *,
    window: int | None = None,
    starts: int = 3,
    time_limit: float | None = None,
    euclidean: FunctionalSolution | None = None,
) -> FunctionalSolution:
    """Find a counterfactual curve of low cost under dynamic time warping.

    Parameters
    ----------
    problem : FunctionalProblem
    window : int, optional
        Radius of the Sakoe-Chiba band; no band when omitted.
    starts : int
        Number of prototypes, the nearest first, whose warping paths are starts besides the
        Euclidean answer (whose path is the diagonal).
    time_limit : float, optional
        Seconds for everything.
    euclidean : FunctionalSolution, optional
        The Euclidean answer; found here when omitted. The result never costs more than it.

    Returns
    -------
    FunctionalSolution
        A local optimum. `bound` is what is proven without warping: ``lam0`` for the one
        feature that must change at least. `details["costs"]` holds the costs of the start that
        won, iteration by iteration, and never rises.
    """
    if window is not None:
        whole("window", window)
    starts = whole("starts", starts)
    if time_limit is not None and number("time_limit", time_limit) <= 0:
        raise ConfigError(f"time_limit: {time_limit!r} must be positive")
    began = time.perf_counter()
    deadline = None if time_limit is None else began + time_limit
    if euclidean is None:
        share = None if time_limit is None else time_limit / 2
        euclidean = solve_euclidean(problem, time_limit=share)
    if euclidean.weights is None or not euclidean.used:
        return replace(euclidean, method=METHOD)
    trees = trees_of(problem)
    first = [euclidean.weights]
    order = np.argsort([warp(p, problem.x0, window).squared for p in problem.prototypes])
    for b in order[:starts]:
        a = np.zeros_like(euclidean.weights)
        a[:, b] = 1.0
        first.append(a)
    best: tuple[float, Floats, list[float]] | None = None
    for a in first:
        if best is not None and deadline is not None and time.perf_counter() >= deadline:
            break
        costs, end = _alternate(problem, trees, a, window, deadline)
        if best is None or costs[-1] < best[0]:
            best = costs[-1], end, costs
    assert best is not None
    cost, weights, costs = best
    return FunctionalSolution(
        status=Status.FEASIBLE,
        objective=cost,
        bound=problem.lam0,
        method=METHOD,
        message="A local optimum of an alternating method: there may be better curves.",
        seconds=time.perf_counter() - began,
        history=tuple(
            Progress(time.perf_counter() - began, c, problem.lam0, k) for k, c in enumerate(costs)
        ),
        details={
            "costs": costs,
            "starts": len(first),
            "euclidean_cost": dtw_cost(problem, euclidean.weights, window=window),
            "window": window,
        },
        **values_of(problem, weights),
    )


def _alternate(
    problem: FunctionalProblem,
    trees: Trees,
    weights: Floats,
    window: int | None,
    deadline: float | None,
) -> tuple[list[float], Floats]:
    """Take turns until the cost drops no more; return the costs and the last weights."""
    x = as_curves("x", problem.combine(weights), ndim=2)
    costs = [dtw_cost(problem, weights, window=window)]
    for _ in range(_ROUNDS):
        if deadline is not None and time.perf_counter() >= deadline:
            break
        path = warp(x, problem.x0, window).path
        found = _best_curve(problem, trees, path, weights, costs[-1], deadline)
        cost = dtw_cost(problem, found, window=window)
        if cost >= costs[-1] - _DROP:
            break
        costs.append(cost)
        weights, x = found, problem.combine(found)
    return costs, weights


def _best_curve(
    problem: FunctionalProblem,
    trees: Trees,
    path: NDArray[np.int64],
    weights: Floats,
    cost: float,
    deadline: float | None,
) -> Floats:
    """Return weights that cost less along a path, or those given.

    Exact for the prototypes in use and, with one prototype, for all of them; a local search
    over prototypes otherwise.
    """
    J, T = problem.x0.shape
    count = np.bincount(path[:, 0], minlength=T).astype(float)
    mean = np.stack([np.bincount(path[:, 0], x[path[:, 1]], T) for x in problem.x0]) / count
    spread = float(((problem.x0[:, path[:, 1]] - mean[:, path[:, 0]]) ** 2).sum())
    prepared = prepare(
        problem, trees, metric=np.broadcast_to(count, (J, T)), shift=problem.x0 - mean
    )
    search = Search(problem, prepared, deadline)
    search.cost = cost - problem.lam2 * problem.dt * spread
    search.weights = weights
    search.improve(problem.b_max)
    assert search.weights is not None
    return search.weights
