"""Exact Euclidean counterfactual curves.

The original and at most ``B_max`` prototypes span a small simplex, and inside it the score
only changes where a threshold is crossed. The search goes over boxes of threshold cells and
over tuples of clusters of prototypes. For a tuple, with unit directions ``u_b`` and weights a,

    ||v||^2 >= a' M a,   M_ik = least inner product of a direction of cluster i and one of k,
    v_t <= sum_i a_i s_it,   s_it = largest entry t of a direction of cluster i,

so a box and a tuple give a convex program in ``B_max`` variables, whose value bounds all
combinations in them; for single prototypes it is the exact one. What is not farther than the
incumbent has its values in an interval that the same data give, and the trees' highest score
there decides whether anything in the node can be accepted. With one prototype this is the scan
of the segments from x0, one feature's position on its segment at a time; each number of
prototypes starts from the answer for one fewer.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.checks import instance_of, number
from groupcf.classifiers import LinearScore
from groupcf.errors import ConfigError, UnsupportedProblemError
from groupcf.functional.preparation import Floats, Prepared, prepare, trees_of
from groupcf.functional.problem import (
    WEIGHT,
    FunctionalProblem,
    FunctionalSolution,
    values_of,
)
from groupcf.solution import GAP_TOLERANCE, Progress, Status

METHOD = "prototype search"
THIN = 0.97
"""Clusters whose directions all have at least this cosine are thin: then cells are split."""
THICK = 0.9
"""The same where a bound is wanted soon."""
_FIRST = 0.7  # share of the time for the search that comes to its end soonest
_LOCAL = 3_000  # for one combination of prototypes in the local search
_ABOVE = 1 + 1e-7


def _cells_in_reach(p: Prepared) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the lowest and highest cell of each column between x0 and some prototype."""
    columns, offset = p.data[1], p.data[2]
    steps = p.d.reshape(len(p.d), -1)[:, columns]
    least, most = np.minimum(steps.min(axis=0), 0.0), np.maximum(steps.max(axis=0), 0.0)
    low, high = np.empty(len(columns), np.int16), np.empty(len(columns), np.int16)
    for c in range(len(columns)):
        upper = p.ends[1, offset[c] : offset[c + 1]]
        low[c], high[c] = np.searchsorted(upper, [least[c], most[c]])
    return low, high


class Search:
    """Searches for one prepared problem, with its clock and its incumbent."""

    def __init__(
        self, problem: FunctionalProblem, prepared: Prepared, deadline: float | None
    ) -> None:
        self.problem, self.prepared, self.deadline = problem, prepared, deadline
        self.leaves = prepared.tree.leaves()
        self.cost = np.inf
        self.weights: Floats | None = None
        self.nodes = 0
        self.free = np.ones(len(problem.x0), np.bool_)
        self.lam0, self.base = problem.lam0, 0.0
        reach = prepared.data[5].max(axis=1)
        self.ceiling = 1.0 + 2 * problem.lam2 * problem.dt * float(
            (reach**2).sum() + prepared.data[7].sum()
        )

    @property
    def out_of_time(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def used(self) -> list[int]:
        """Return the prototypes of the incumbent."""
        if self.weights is None:
            return []
        return [int(b) for b in np.flatnonzero((self.weights > WEIGHT).any(axis=0))]

    def run(self, clusters: NDArray[np.int64], limit: int, thin: float = THIN) -> float:
        """Search one tuple of clusters; return the proven bound on its cost."""
        from groupcf.functional.search_kernel import search

        p, problem = self.prepared, self.problem
        weights = np.zeros((p.d.shape[1], len(p.d)))
        seconds = np.inf if self.deadline is None else self.deadline - time.perf_counter()
        above = self.cost * _ABOVE if np.isfinite(self.cost) else np.inf
        ceiling = min(above - self.base, self.ceiling + self.lam0 * len(problem.x0))
        if ceiling <= 0:
            return self.cost
        found, bound, nodes, reason = search(
            p.trees.arrays,
            p.ends,
            p.data,
            p.home,
            p.d,
            p.tree.arrays,
            p.trees.needed,
            self.lam0,
            problem.lam2 * problem.dt,
            np.sort(clusters).astype(np.int32),
            self.free,
            ceiling,
            weights,
            limit,
            thin,
            time.time() + min(seconds, 1e9),
        )
        self.nodes += int(nodes)
        if weights.any():
            weights[weights <= WEIGHT] = 0.0
            # what a set of features pays may be more than what changes
            cost = self.base + float(found)
            if self.base:
                cost = problem.cost(weights)
            if cost < self.cost:
                self.cost, self.weights = cost, weights
        elif reason == 0 and not np.isfinite(above):
            return np.inf
        return self.base + float(bound)

    def improve(self, b_max: int) -> None:
        """Local search: add a prototype, or put another in the place of one."""
        better = True
        while better and not self.out_of_time:
            better = False
            have = self.used()
            if len(have) > b_max:
                return
            bases = [have] if len(have) < b_max else [[b for b in have if b != o] for o in have]
            for base in bases:
                for b in range(len(self.leaves)):
                    if b in base or self.out_of_time:
                        continue
                    chosen = [*base, b]
                    chosen += chosen[:1] * (b_max - len(chosen))
                    before = self.cost
                    self.run(self.leaves[chosen], _LOCAL)
                    better = better or self.cost < before * (1 - 1e-7)


def _few_features(search: Search) -> None:
    """Give the search an incumbent: prototypes with features put back, one after another."""
    problem = search.problem
    x0, score, target = problem.x0, problem.score, problem.target
    J, price = len(x0), problem.lam2 * problem.dt
    best, chosen = search.cost, None
    for b, other in enumerate(problem.prototypes):
        if score.decision(other.reshape(1, -1))[0] < target:
            continue
        kept = np.arange(J)
        while len(kept):
            trials = np.repeat(x0[None], len(kept), axis=0)
            for k in range(len(kept)):
                rest = np.delete(kept, k)
                trials[k, rest] = other[rest]
            values = score.decision(trials.reshape(len(kept), -1))
            k = int(values.argmax())
            if values[k] < target:
                break
            kept = np.delete(kept, k)
        cost = problem.lam0 * len(kept) + price * float(((other - x0)[kept] ** 2).sum())
        if cost < best:
            best, chosen = cost, (kept, b)
    if chosen is not None:
        weights = np.zeros((J, len(problem.prototypes)))
        weights[chosen[0], chosen[1]] = 1.0
        search.cost, search.weights = problem.cost(weights), weights


def _by_features(search: Search, b_max: int) -> float:
    """Search set after set of functional features, small ones first; return the proven bound.

    A set of k features costs at least ``k lam0``. Only sets where the trees can reach the score
    with all other features at their place are searched.
    """
    from groupcf.functional.trees_kernel import promising

    problem, p = search.problem, search.prepared
    J = len(problem.x0)
    used, offset = p.data[0], p.data[2]
    low, high = _cells_in_reach(p)
    root = np.zeros(b_max, dtype=np.int64)
    bound = np.inf
    search.lam0 = 0.0
    for size in range(1, J + 1):
        search.base = size * problem.lam0
        if search.base >= search.cost:
            break
        subsets = np.array(list(combinations(range(J), size)))
        best = promising(p.trees.arrays, used, p.home, offset, low, high, subsets, p.trees.needed)
        for k in np.argsort(-best, kind="stable"):
            if best[k] < p.trees.needed:
                break
            if search.out_of_time:
                bound = min(bound, search.base)
                break
            search.free[:] = False
            search.free[subsets[k]] = True
            bound = min(bound, search.run(root, 2**62))
        if search.out_of_time:
            bound = min(bound, search.base)
            break
    search.free[:], search.lam0, search.base = True, problem.lam0, 0.0
    return min(bound, search.cost)


def solve_euclidean(
    problem: FunctionalProblem,
    *,
    time_limit: float | None = None,
    start: FunctionalSolution | None = None,
) -> FunctionalSolution:
    """Find the least-cost convex combination, with proof.

    Parameters
    ----------
    problem : FunctionalProblem
        Trees with any number of functional features; a linear score with one.
    time_limit : float, optional
        Seconds; when they are over, the best answer comes with the bound that is proven.
    start : FunctionalSolution, optional
        An answer with fewer prototypes; found here when omitted.

    Returns
    -------
    FunctionalSolution
        Cells thinner than 2e-9, in the unit of the curves, are not entered: an answer stays
        1e-9 away from each threshold. The bound holds for them too unless they decide.

    Raises
    ------
    UnsupportedProblemError
        For a linear score with several functional features.
    """
    instance_of("problem", problem, FunctionalProblem)
    if isinstance(problem.score, LinearScore) and len(problem.x0) > 1:
        raise UnsupportedProblemError(
            "functional data: a linear score with several functional features goes to "
            "solve_functional_reference"
        )
    if time_limit is not None and number("time_limit", time_limit) <= 0:
        raise ConfigError(f"time_limit: {time_limit!r} must be positive")
    began = time.perf_counter()
    deadline = None if time_limit is None else began + time_limit
    if problem.score.decision(problem.x0.reshape(1, -1))[0] >= problem.target:
        return _answer(
            problem, 0.0, 0.0, np.zeros((len(problem.x0), len(problem.prototypes))), began,
            message="The classifier already accepts the curve; nothing changes.",
        )  # fmt: skip
    trees = trees_of(problem)
    prepared = prepare(problem, trees)
    built = time.perf_counter() - began
    search = Search(problem, prepared, deadline)
    if start is not None and start.weights is not None:
        search.cost, search.weights = problem.cost(start.weights), start.weights
    history = []
    first = 1 if search.weights is None else max(1, min(problem.b_max, len(search.used())))
    bound = 0.0
    for size in range(first, problem.b_max + 1):
        last = size == problem.b_max
        if len(problem.x0) > 1 and problem.lam0 > 0:
            if search.weights is None:
                _few_features(search)
            if last:
                bound = _by_features(search, size)
            continue
        search.improve(size)
        bound = 0.0
        if last or size <= 2:
            bound = _whole(search, size, began)
        history.append(Progress(time.perf_counter() - began, _known(search.cost), bound, size))
    return _answer(
        problem,
        search.cost,
        bound,
        search.weights,
        began,
        phases={"preparation": built, "search": time.perf_counter() - began - built},
        history=tuple(history),
        details={"nodes": search.nodes, "prototypes": len(problem.prototypes)},
    )


def _whole(search: Search, size: int, began: float) -> float:
    """Search all tuples of prototypes.

    Splitting clusters until they are thin is the quickest way to the end, but proves nothing
    before; splitting cells earlier proves a bound soon. The second gets the last part of the
    time where the first does not come to its end.
    """
    root = np.zeros(size, dtype=np.int64)
    deadline = search.deadline
    if deadline is not None and size > 1:
        search.deadline = deadline - (1 - _FIRST) * (deadline - began)
    bound = search.run(root, 2**62)
    out_of_time, search.deadline = search.out_of_time, deadline
    if out_of_time and size > 1 and bound < search.cost * (1 - GAP_TOLERANCE):
        bound = max(bound, search.run(root, 2**62, THICK))
    return bound


def _known(cost: float) -> float | None:
    return float(cost) if np.isfinite(cost) else None


def _answer(
    problem: FunctionalProblem,
    cost: float,
    bound: float,
    weights: Floats | None,
    began: float,
    **fields: Any,
) -> FunctionalSolution:
    seconds = time.perf_counter() - began
    if weights is None:
        proven = bound >= 1e299
        return FunctionalSolution(
            status=Status.INFEASIBLE if proven else Status.NO_INCUMBENT,
            bound=None if proven else bound,
            method=METHOD,
            seconds=seconds,
            **{
                "message": "No convex combination of the prototypes is accepted."
                if proven
                else "Time is over and no accepted curve was found.",
            }
            | fields,
        )
    objective = problem.cost(weights)
    answer = FunctionalSolution(
        status=Status.FEASIBLE,
        objective=objective,
        bound=min(bound, objective),
        method=METHOD,
        seconds=seconds,
        **values_of(problem, weights),
        **fields,
    )
    gap = answer.gap
    if gap is not None and gap <= GAP_TOLERANCE:
        return replace(answer, status=Status.OPTIMAL)
    return replace(answer, message="Time is over; the bound is proven, the curve may be improved.")
