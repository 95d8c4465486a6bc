"""Which method solves which problem, and why.

The router takes the fastest exact method that supports everything asked for and says so in
the solution; what no exact method carries goes to the reference formulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from groupcf.checks import number, whole
from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import ConfigError, UnsupportedProblemError
from groupcf.problems import TIED, ManyForOne, OneForMany, OneForOne, Problem
from groupcf.solution import Solution


@dataclass(frozen=True)
class Method:
    """One way to solve a family of problems.

    Attributes
    ----------
    name : str
    refuses : callable
        Returns why the method cannot solve a problem, or None if it can.
    why : str
        Why it is preferred where it applies.
    run : callable
        ``run(problem, **options) -> Solution``; options are solver, time_limit, threads.
    """

    name: str
    refuses: Callable[[Problem], str | None]
    why: str
    run: Callable[..., Solution]


def _needs(rule: type, words: str, *scores: type, apart: bool) -> Callable[[Problem], str | None]:
    """Return the refusal of a method for one allocation rule and some scores.

    `apart`: the method solves instances on their own.
    """

    def refuses(problem: Problem) -> str | None:
        if not isinstance(problem.allocation, rule):
            return f"it is for the allocation {rule.__name__}"
        if not isinstance(problem.score, scores):
            return f"it needs {words}"
        if apart and problem.tied:
            return TIED
        return None

    return refuses


def _feature_search(problem: Problem, **options: Any) -> Solution:
    from groupcf.exact.feature_search import solve_one_for_one

    options.pop("solver")
    return solve_one_for_one(problem, **options)


def _reference_one_for_one(problem: Problem, **options: Any) -> Solution:
    from groupcf.formulations.one_for_one import solve_reference

    return solve_reference(problem, **options)


def _many_for_one(problem: Problem, **options: Any) -> Solution:
    from groupcf.formulations.many_for_one import solve_many_for_one

    return solve_many_for_one(problem, **options)


def _sparse_one_for_many(problem: Problem) -> str | None:
    allocation = problem.allocation
    if not isinstance(allocation, OneForMany) or not allocation.fewest:
        return "it is for OneForMany(fewest=True)"
    for feature in problem.space.features:
        if not feature.discrete:
            return (
                f"feature {feature.name!r} is continuous and sparse one-for-many needs discrete "
                "features: put it in bins, or give allowed= values"
            )
    return None


def _sparse(method: str) -> Callable[..., Solution]:
    def run(problem: Problem, **options: Any) -> Solution:
        from groupcf.exact.sparse_one_for_many import Method as Sparse
        from groupcf.exact.sparse_one_for_many import solve_sparse

        return solve_sparse(problem, method=cast(Sparse, method), **options)

    return run


SCORES = (LinearScore, TreeEnsembleScore, NetworkScore)
ANY_SCORE = "a linear score, a tree ensemble or a ReLU network"

SOLVERS = ("auto", "highs", "scip", "cpsat", "gurobi")
"""Solvers that may be named for the reference formulations."""

LONGEST = 1e6
"""Seconds that stand for any longer time limit: timers of the system end not far above."""

METHODS: tuple[Method, ...] = (
    Method(
        "feature search",
        _needs(OneForOne, "a linear score", LinearScore, apart=True),
        "a linear score: for a fixed set of features the group splits into projections",
        _feature_search,
    ),
    Method(
        "threshold cells",
        _needs(OneForOne, "a tree ensemble", TreeEnsembleScore, apart=True),
        "a tree ensemble: between thresholds the score is constant, and for a fixed set of "
        "features the group splits into searches over cells",
        _feature_search,
    ),
    Method(
        "reference formulation",
        _needs(OneForOne, ANY_SCORE, *SCORES, apart=False),
        "the mixed-integer formulation, solved by a general solver",
        _reference_one_for_one,
    ),
    Method(
        "reference formulation by instance",
        _needs(ManyForOne, ANY_SCORE, *SCORES, apart=False),
        "the counterfactuals of one instance depend on each other only: a mixed-integer "
        "formulation for each instance",
        _many_for_one,
    ),
    Method(
        "pattern pricing with proof",
        _sparse_one_for_many,
        "discrete features: clusters are patterns, which column generation prices by search; "
        "the cover over all clusters in the gap is the optimum",
        _sparse("exact"),
    ),
    Method(
        "column generation with pattern pricing",
        _sparse_one_for_many,
        "column generation priced by pattern search; the cover over the generated clusters",
        _sparse("pattern"),
    ),
    Method(
        "column generation with MIP pricing",
        _sparse_one_for_many,
        "the published column generation, priced by a mixed-integer model",
        _sparse("mip_pricing"),
    ),
    Method(
        "plain MILP",
        _sparse_one_for_many,
        "the mixed-integer formulation of the whole problem, solved by a general solver",
        _sparse("milp"),
    ),
)


def candidates(problem: Problem) -> list[Method]:
    """Return the methods that can solve a problem, the router's choice first."""
    return [m for m in METHODS if m.refuses(problem) is None]


def solve(
    problem: Problem,
    *,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
) -> Solution:
    """Solve a problem with the best method for it, or with a named one.

    Parameters
    ----------
    problem : Problem
    method : str
        "auto" or the name of a method (see ``METHODS``).
    solver : str
        Solver of the reference formulation: "auto", "highs", "scip", "gurobi", "cpsat".
        The exact methods need none.
    time_limit : float or None
        Seconds; None for no limit.
    threads : int

    Returns
    -------
    Solution
        With `method` and `why` filled in.

    Raises
    ------
    ConfigError
        For an unknown method or a time limit or thread count out of range.
    UnsupportedProblemError
        When no method, or not the named one, solves this problem; the message says why.
    """
    if time_limit is not None and not number("time_limit", time_limit) > 0:
        raise ConfigError(f"time_limit: {time_limit!r} must be a positive number of seconds")
    whole("threads", threads, minimum=1)
    if solver not in SOLVERS:
        raise ConfigError(f"solver: {solver!r} is none of {', '.join(SOLVERS)}")
    if time_limit is not None:
        time_limit = min(time_limit, LONGEST)
    chosen = _choose(problem, method)
    solution = chosen.run(problem, solver=solver, time_limit=time_limit, threads=threads)
    why = chosen.why if method == "auto" else f"asked for by name; {chosen.why}"
    return replace(solution, method=chosen.name, why=why)


def _choose(problem: Problem, method: str) -> Method:
    if method == "auto":
        able = candidates(problem)
        if able:
            return able[0]
        reasons = {r for m in METHODS if (r := m.refuses(problem)) is not None}
        closer = sorted(r for r in reasons if not r.startswith("it is for"))
        raise UnsupportedProblemError(
            f"no method solves {_stated(problem)} in this version: "
            + "; ".join(closer or sorted(reasons))
        )
    named = {m.name: m for m in METHODS}
    if method not in named:
        raise ConfigError(f"method: {method!r} is none of auto, {', '.join(named)}")
    reason = named[method].refuses(problem)
    if reason is not None:
        raise UnsupportedProblemError(f"{method} cannot solve this problem: {reason}")
    return named[method]


def _stated(problem: Problem) -> str:
    return f"{problem.allocation} with a {type(problem.score).__name__}"
