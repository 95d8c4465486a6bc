"""The fewest shared counterfactuals, with proof: sparse one-for-many (models.md section 4)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import ConfigError
from groupcf.exact import sparse_wording as wording
from groupcf.exact.column_generation import Journal
from groupcf.exact.pattern_pricing import Clusters
from groupcf.exact.sparse_closing import Closing
from groupcf.exact.sparse_group import Group
from groupcf.exact.sparse_selection import select
from groupcf.problems import Problem
from groupcf.solution import Progress, Solution, Status

Method = Literal["exact", "pattern", "mip_pricing", "milp"]

TITLES: dict[str, str] = {
    "exact": "pattern pricing with proof",
    "pattern": "column generation with pattern pricing",
    "mip_pricing": "column generation with MIP pricing",
    "milp": "plain MILP",
}
"""What the methods are called in a solution."""


@dataclass(eq=False)
class _Answer:
    """What a method leaves behind: clusters at hand, the chosen ones, and facts."""

    clusters: Clusters | None
    cover: NDArray[np.int64]
    facts: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    status: Status = Status.NO_INCUMBENT


def solve_sparse(
    problem: Problem,
    *,
    method: Method = "exact",
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    readable: float = 1.0,
    mip_time_limit: float = 800.0,
    candidates: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find the fewest counterfactuals that a group can share.

    A counterfactual x serves all instances that agree with it outside of at most J_max
    (``max_changed``) features; with discrete features only.

    Parameters
    ----------
    problem : Problem
        ``OneForMany(fewest=True, max_changed=...)``; linear, network or tree score.
    method : {"exact", "pattern", "mip_pricing", "milp"}
        Column generation with pattern pricing and, for the optimum, all clusters whose reduced
        cost is in the gap; the same without the latter (cover over the generated clusters);
        column generation with mixed-integer pricing and the published heuristics; the plain
        mixed-integer model.
    solver : str
        Solver of the mixed-integer models of the last two.
    time_limit : float or None
        Seconds for everything but the choice among optimal covers.
    threads, seed : int
    readable : float
        Seconds for the choice among covers with equally few clusters; 0 takes the first.
    mip_time_limit : float
        Seconds for one pricing model.
    candidates : int or None
        Candidate counterfactuals of the plain model; None: one for every distinct instance.
    on_progress : callable, optional
        Called with each better incumbent or bound.

    Returns
    -------
    Solution
        `counterfactuals` has one row a cluster, `assignment` gives each instance's, -1 where
        ``max_changed`` features do not reach the wanted class. `objective` counts the clusters,
        `bound` is proven and rounded up. `details`: clusters (features, size, changes), changes
        (changed features over all instances), choice (what is proven about it), unreachable
        (instances), least_max_changed (for each of these, what would do; None: nothing),
        distinct, lp_value, columns, iterations, nodes and further counts of the method.

    Raises
    ------
    UnsupportedProblemError
        For another allocation, a feature that is not discrete, or a score of another kind.
    ConfigError
        For an unknown method or a limit out of range.
    """
    if method not in TITLES:
        raise ConfigError(f"method: {method!r} is none of {', '.join(TITLES)}")
    for name, value in (("readable", readable), ("mip_time_limit", mip_time_limit)):
        if not value >= 0:
            raise ConfigError(f"{name}: {value!r} must be a number of seconds >= 0")
    if candidates is not None and candidates < 1:
        raise ConfigError(f"candidates: {candidates!r} must be a whole number >= 1")
    begin = time.perf_counter()
    until = math.inf if time_limit is None else begin + time_limit
    journal = Journal(on_progress)
    group = Group.of(problem)
    phases = {"prepare": time.perf_counter() - begin}
    details = wording.unreachable(group)
    if not len(group.rows):
        return Solution(
            status=Status.INFEASIBLE,
            method=TITLES[method],
            message=wording.unreachable_text(group, details),
            seconds=time.perf_counter() - begin,
            phases=phases,
            details=details,
        )
    if method == "milp":
        answer = _milp(group, journal, until, solver, candidates, threads, seed)
    elif method == "mip_pricing":
        answer = _mip_pricing(group, journal, until, solver, mip_time_limit, threads, seed)
    else:
        answer = _pattern(group, journal, until, threads, seed, prove=method == "exact")
    phases["search"] = time.perf_counter() - begin - phases["prepare"]
    details |= {
        "distinct": group.table.n_rows,
        "columns": journal.columns,
        "iterations": journal.iteration,
        "nodes": int(group.search.tally[2]),
    } | answer.facts
    common: dict[str, Any] = {
        "method": TITLES[method],
        "bound": float(journal.least) if journal.bound > 0 else None,
    }
    if answer.clusters is None:
        return Solution(
            status=answer.status,
            message=answer.message,
            seconds=time.perf_counter() - begin,
            phases=phases,
            history=tuple(journal.history),
            details=details,
            **common,
        )
    chosen = select(
        group.search,
        answer.clusters,
        answer.cover,
        group.multiplicity,
        time_limit=readable,
        threads=threads,
        seed=seed,
    )
    phases["readability"] = chosen.seconds
    X = group.table.points(chosen.clusters.points)
    assignment = group.assigned(chosen.assignment)
    details |= wording.clusters(group, chosen)
    value = len(X)
    journal.note(incumbent=value)
    status = Status.OPTIMAL if journal.closed else Status.FEASIBLE
    return Solution(
        status=status,
        objective=float(value),
        message=wording.message(group, chosen, details, journal, answer.message),
        counterfactuals=X,
        assignment=assignment,
        seconds=time.perf_counter() - begin,
        phases=phases,
        history=tuple(journal.history),
        details=details,
        **common,
    )


def _pattern(
    group: Group, journal: Journal, until: float, threads: int, seed: int, *, prove: bool
) -> _Answer:
    closing = Closing(group.search, group.greedy(), journal, until, threads=threads, seed=seed)
    if closing.relax() and prove:
        closing.close()
    else:
        closing.cover_pool()
    return _Answer(*closing.nearest(), closing.facts)


def _mip_pricing(
    group: Group,
    journal: Journal,
    until: float,
    solver: str,
    mip_time_limit: float,
    threads: int,
    seed: int,
) -> _Answer:
    from groupcf.formulations.sparse_one_for_many import MipPricer

    pricer = MipPricer(group, solver, mip_time_limit, threads, seed)
    closing = Closing(group.search, group.singletons(), journal, until, threads=threads, seed=seed)
    closing.relax(pricer, smooth=False)
    closing.cover_pool()
    facts = closing.facts | {"mip_solves": pricer.solves}
    return _Answer(*closing.nearest(), facts, pricer.failure)


def _milp(
    group: Group,
    journal: Journal,
    until: float,
    solver: str,
    candidates: int | None,
    threads: int,
    seed: int,
) -> _Answer:
    from groupcf.formulations.sparse_one_for_many import solve_milp

    start = journal.seconds
    left = None if until == math.inf else max(0.1, until - time.perf_counter())
    result, clusters = solve_milp(
        group, count=candidates, solver=solver, time_limit=left, threads=threads, seed=seed
    )
    for moment in result.history:
        value = None if moment.incumbent is None else round(moment.incumbent)
        journal.note(incumbent=value, bound=moment.bound, seconds=start + moment.seconds)
    journal.note(bound=result.bound)
    facts = {"solver": result.solver, "solver_nodes": result.nodes}
    if clusters is None:
        return _Answer(None, np.empty(0, np.int64), facts, result.message, result.status)
    return _Answer(clusters, np.arange(len(clusters)), facts, result.message)
