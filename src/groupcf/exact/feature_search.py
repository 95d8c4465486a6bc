"""One-for-one counterfactuals of a linear score or trees, solved to proof (models.md section 1).

``CEsep`` and ``ColCE`` in all variants: price per changed feature of an instance
(``lam_ind``) and of the group (``lam_glob``), limits on either, and soft groups of which only
S* instances must flip.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.feature_costs import GroupCosts
from groupcf.exact.feature_tree import FeatureTree
from groupcf.problems import Problem
from groupcf.solution import GAP_TOLERANCE, Progress, Solution, Status

METHOD = "feature search"
_NAMED = 10
_LEAST_BUDGET = 2000


def solve_one_for_one(
    problem: Problem,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find the cheapest counterfactuals of a group, with proof.

    Parameters
    ----------
    problem : Problem
        One-for-one allocation; a linear score or a tree ensemble.
    time_limit : float or None
        Seconds; None for no limit.
    threads : int
        The search is sequential; accepted so that all methods are called alike.
    on_progress : callable, optional
        Called with each new incumbent or bound.

    Returns
    -------
    Solution
        `counterfactuals` has one row per instance; instances left where they are have
        assignment -1 and their own values. `details`: nodes, features (names of what
        changes), outliers (rows not on the wanted side), costs (by instance, without
        ``lam_glob``). When infeasible: unreachable (rows) and best_scores, or least_f_max.

    Raises
    ------
    UnsupportedProblemError
        For another score or allocation.
    """
    start = time.perf_counter()
    group = GroupCosts(problem)
    prepared = time.perf_counter() - start
    tree = _tree(problem, group, _limit(problem), _until(start, time_limit), on_progress)
    return _finish(problem, group, tree, _until(start, time_limit), start, prepared)


def pareto_f_max(
    problem: Problem,
    values: Iterable[int],
    *,
    time_limit: float | None = None,
    threads: int = 1,
) -> dict[int, Solution]:
    """Solve a problem for several limits F_max on the features changed by the group.

    Costs of feature sets, incumbents and bounds are shared: the optimum under a larger limit
    bounds the one under a smaller limit from below.

    Parameters
    ----------
    problem : Problem
        Its own ``f_max`` is replaced.
    values : iterable of int
    time_limit : float or None
        Seconds for all values together.
    threads : int
        As in :func:`solve_one_for_one`.

    Returns
    -------
    dict
        F_max -> Solution, in the order of `values`.
    """
    values = list(dict.fromkeys(values))
    begin = time.perf_counter()
    until = _until(begin, time_limit)
    group = GroupCosts(problem)
    prepared = time.perf_counter() - begin
    solutions: dict[int, Solution] = {}
    lower = 0.0
    for f_max in sorted(values, reverse=True):
        start = time.perf_counter()
        limited = replace(problem, allocation=replace(problem.one_for_one, f_max=f_max))
        tree = _tree(limited, group, f_max, until, None, lower)
        lower = max(lower, tree.bound)
        solutions[f_max] = _finish(limited, group, tree, until, start, prepared)
        prepared = 0.0
    return {f_max: solutions[f_max] for f_max in values}


def _until(start: float, time_limit: float | None) -> float | None:
    return None if time_limit is None else start + time_limit


def _limit(problem: Problem) -> int:
    f_max = problem.one_for_one.f_max
    return problem.space.n_features if f_max is None else f_max


def _tree(
    problem: Problem,
    group: GroupCosts,
    f_max: int,
    until: float | None,
    on_progress: Callable[[Progress], None] | None,
    lower: float = 0.0,
) -> FeatureTree:
    tree = FeatureTree(
        group,
        f_max,
        problem.cost.lam_glob,
        lower=lower,
        until=until,
        on_progress=on_progress,
    )
    tree.run()
    return tree


def _finish(
    problem: Problem,
    group: GroupCosts,
    tree: FeatureTree,
    until: float | None,
    start: float,
    prepared: float,
) -> Solution:
    searched = time.perf_counter() - start
    if tree.features is None:
        solution = _without_incumbent(problem, group, tree, until)
    else:
        solution = _with_incumbent(problem, group, tree)
    seconds = time.perf_counter() - start
    return replace(
        solution,
        method=METHOD,
        seconds=seconds,
        phases={
            "prepare": prepared,
            "search": searched - prepared,
            "report": seconds - searched,
        },
        history=tuple(tree.history),
    )


def _with_incumbent(problem: Problem, group: GroupCosts, tree: FeatureTree) -> Solution:
    assert tree.features is not None
    space, X0 = problem.space, problem.instances
    found = tree.found
    if found is None:
        found = group.projection.project(group.rows, tree.features)
    _, chosen = group.choose(found.cost)
    rows = group.rows[chosen]
    X = X0.copy()
    X[group.rows] = group.projection.points(group.rows, found)
    stays = np.setdiff1d(group.rows, rows)
    X[stays] = X0[stays]
    assignment = np.arange(len(X0), dtype=np.int64)
    assignment[stays] = -1

    objective = problem.cost.total(space, X0, X)
    changed = space.changed(X0, X)
    costs = problem.cost.distances(space, X0, X) + problem.cost.lam_ind * changed.sum(axis=1)
    names = [space.names[j] for j in np.flatnonzero(changed.any(axis=0))]
    bound = min(objective, objective if tree.complete else tree.bound)
    gap = (objective - bound) / max(abs(objective), 1e-9)
    proven = tree.complete or gap <= GAP_TOLERANCE
    message = f"{len(names)} features change"
    if len(stays):
        message += f", {len(stays)} of {len(X0)} instances stay as they are"
    if not proven:
        message += "; stopped by the time limit before the proof was complete"
    return Solution(
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        objective=objective,
        bound=bound,
        message=message,
        counterfactuals=X,
        assignment=assignment,
        details={
            "nodes": tree.nodes,
            "features": names,
            "outliers": stays.tolist(),
            "costs": costs.tolist(),
        },
    )


def _without_incumbent(
    problem: Problem, group: GroupCosts, tree: FeatureTree, until: float | None
) -> Solution:
    projection = group.projection
    short, best = projection.unreachable(group.rows)
    if len(group.rows) - int(short.sum()) < group.need:
        return _unreachable(problem, group, short, best)
    if not tree.complete:
        return Solution(
            status=Status.NO_INCUMBENT,
            bound=tree.bound if math.isfinite(tree.bound) else None,
            message=f"the time limit came before any {tree.f_max} features were found that work, "
            "and before a proof that none do; allow more time or a larger f_max",
            details={"nodes": tree.nodes},
        )
    details: dict[str, object] = {"nodes": tree.nodes}
    message = (
        f"f_max = {tree.f_max} is too small to take {_flip_text(problem)} "
        f"to score {problem.threshold:.4g}"
    )
    least = _least_f_max(group, tree.f_max, until)
    if least is not None:
        message += f"; the least f_max that works is {least}"
        details["least_f_max"] = least
    else:
        message += "; allow a larger f_max"
    return Solution(status=Status.INFEASIBLE, message=message, details=details)


def _flip_text(problem: Problem) -> str:
    if problem.flips == problem.n_instances:
        return f"all {problem.n_instances} instances"
    return f"{problem.flips} of the {problem.n_instances} instances"


def _unreachable(
    problem: Problem,
    group: GroupCosts,
    short: NDArray[np.bool_],
    best: NDArray[np.float64] | None,
) -> Solution:
    """Name the instances that no permitted change takes to the wanted side."""
    rows = group.rows[short]
    details: dict[str, object] = {"nodes": 0, "unreachable_rows": rows.tolist()}
    if best is None:
        named = ", ".join(f"row {row}" for row in rows[:_NAMED])
    else:
        best = best[short]
        order = np.argsort(best, kind="stable")[::-1]
        named = ", ".join(f"row {rows[i]} (at best {best[i]:.4g})" for i in order[:_NAMED])
        details["best_scores"] = best.tolist()
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    limit = problem.one_for_one.max_changed
    permitted = "all permitted features" if limit is None else f"{limit} changed features each"
    return Solution(
        status=Status.INFEASIBLE,
        message=f"{_flip_text(problem)} must reach score {problem.threshold:.4g}, but with "
        f"{permitted} these cannot: {named}{more}; lower nu or s_star, or free more features",
        details=details,
    )


def _least_f_max(group: GroupCosts, f_max: int, until: float | None) -> int | None:
    """Find the smallest workable limit above an infeasible one, if that is quick."""
    for limit in range(f_max + 1, int(group.helpful.sum()) + 1):
        tree = FeatureTree(group, limit, 0.0, until=until)
        tree.run(first=True, budget=_LEAST_BUDGET)
        if tree.features is not None:
            return limit
        if not tree.complete:
            return None
    return None
