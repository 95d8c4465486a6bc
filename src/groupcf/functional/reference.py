"""Reference formulation of a counterfactual curve (section 3.2 of the dissertation).

The mixed-integer convex quadratic model, with a ladder of binaries for each tested value (one
for each threshold, in order) in place of one big-M row for each split. For small instances and
for comparison: :func:`groupcf.functional.solve_euclidean` is the method of choice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers import LinearScore
from groupcf.functional.problem import FunctionalProblem, FunctionalSolution, values_of
from groupcf.solution import GAP_TOLERANCE, Status

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

METHOD = "reference formulation"
_STEP = 1e-6
_TOLERANCE = 5e-6
"""Added to the score row: a solver lets rows be violated by 1e-6, which would let ties pass."""


@dataclass(frozen=True)
class _Ladder:
    """Range of a tested value over all convex combinations, and the thresholds inside."""

    low: float
    high: float
    cuts: NDArray[np.float64]


def build(problem: FunctionalProblem) -> ConcreteModel:
    """Build the model.

    Returns
    -------
    ConcreteModel
        Variables ``a[j, b]`` (weights), ``u[b]`` (prototype used), ``xi[j]`` (feature changed),
        ``v[j, t]`` (change), ``above[c, k]`` (value c is above its k-th threshold),
        ``z[leaf]``; objective ``cost``.
    """
    import pyomo.environ as pyo

    x0, d = problem.x0, problem.prototypes - problem.x0
    J, T = x0.shape
    features, points, prototypes = range(J), range(T), range(len(d))
    model = pyo.ConcreteModel("functional")
    model.a = pyo.Var(features, prototypes, bounds=(0, 1))
    model.u = pyo.Var(prototypes, domain=pyo.Binary)
    model.few = pyo.Constraint(expr=pyo.quicksum(model.u.values()) <= problem.b_max)
    model.used = pyo.Constraint(features, prototypes, rule=lambda m, j, b: m.a[j, b] <= m.u[b])
    model.v = pyo.Var(features, points)
    model.combination = pyo.Constraint(
        features,
        points,
        rule=lambda m, j, t: (
            m.v[j, t] == pyo.quicksum(m.a[j, b] * float(d[b, j, t]) for b in prototypes)
        ),
    )
    model.xi = pyo.Var(features, domain=pyo.Binary)
    model.changed = pyo.Constraint(
        features, rule=lambda m, j: pyo.quicksum(m.a[j, b] for b in prototypes) <= m.xi[j]
    )
    _score(model, problem)
    squared = pyo.quicksum(model.v[j, t] ** 2 for j in features for t in points)
    model.cost = pyo.Objective(
        expr=problem.lam0 * pyo.quicksum(model.xi.values()) + problem.lam2 * problem.dt * squared
    )
    return model


def _score(model: Any, problem: FunctionalProblem) -> None:
    import pyomo.environ as pyo

    x0, score = problem.x0, problem.score
    T = x0.shape[1]
    if isinstance(score, LinearScore):
        gain = pyo.quicksum(
            float(w) * model.v[divmod(k, T)] for k, w in enumerate(score.weights) if w
        )
        own = float(score.decision(x0.reshape(1, -1))[0])
        model.reached = pyo.Constraint(expr=gain >= problem.target - own + _TOLERANCE)
        return
    flat = problem.prototypes.reshape(len(problem.prototypes), -1)
    ladders: dict[int, _Ladder] = {}
    for c in np.unique(score.column[score.column >= 0]):
        low = float(min(flat[:, c].min(), x0.flat[c]))
        high = float(max(flat[:, c].max(), x0.flat[c]))
        cuts = score.thresholds(int(c))
        ladders[int(c)] = _Ladder(low, high, cuts[(cuts >= low) & (cuts < high)])
    rungs = [(c, k) for c, ladder in ladders.items() for k in range(len(ladder.cuts))]
    model.above = pyo.Var(rungs, domain=pyo.Binary)
    model.ladder = pyo.ConstraintList()
    for c, ladder in ladders.items():
        j, t = divmod(c, T)
        x = float(x0.flat[c]) + model.v[j, t]
        lower, upper = ladder.low, ladder.high
        for k in range(len(ladder.cuts) - 1, -1, -1):
            below = ladder.cuts[k - 1] + _STEP if k else ladder.low
            above = ladder.cuts[k + 1] if k + 1 < len(ladder.cuts) else ladder.high
            on = model.above[c, k]
            lower = lower + (float(ladder.cuts[k]) + _STEP - below) * on
            upper = upper - (above - float(ladder.cuts[k])) * (1 - on)
            if k:
                model.ladder.add(on <= model.above[c, k - 1])
        model.ladder.add(x >= lower)
        model.ladder.add(x <= upper)
    leaves = score.leaves()
    model.z = pyo.Var(range(len(leaves)), bounds=(0, 1))
    model.one = pyo.ConstraintList()
    for tree in range(score.n_trees):
        mine = [i for i, leaf in enumerate(leaves) if leaf.tree == tree]
        model.one.add(pyo.quicksum(model.z[i] for i in mine) == 1)
        for i in mine:
            for c, cut in leaves[i].above.items():
                side = _is_above(model, ladders[c], c, cut)
                model.one.add(model.z[i] <= side)
            for c, cut in leaves[i].up_to.items():
                side = _is_above(model, ladders[c], c, cut)
                model.one.add(model.z[i] <= 1 - side)
    total = pyo.quicksum(leaf.value * model.z[i] for i, leaf in enumerate(leaves))
    model.reached = pyo.Constraint(expr=total >= problem.target - score.base + _TOLERANCE)


def _is_above(model: Any, ladder: _Ladder, column: int, cut: float) -> Any:
    if cut < ladder.low:
        return 1
    if cut >= ladder.high:
        return 0
    return model.above[column, int(np.searchsorted(ladder.cuts, cut))]


def solve_functional_reference(
    problem: FunctionalProblem,
    *,
    solver: str = "scip",
    time_limit: float | None = None,
    threads: int = 1,
) -> FunctionalSolution:
    """Solve the reference formulation with a general solver, in a process of its own.

    Parameters
    ----------
    problem : FunctionalProblem
    solver : str
        One that takes convex quadratic objectives with integer variables.
    time_limit : float, optional
        Seconds.
    threads : int

    Returns
    -------
    FunctionalSolution
        Values keep 1e-6 away from a threshold that they are above. A solver that dies is a
        status with a message.
    """
    from groupcf.solvers import solve

    began = time.perf_counter()
    model = build(problem)
    result = solve(model, solver=solver, time_limit=time_limit, threads=threads, isolate=True)
    seconds = time.perf_counter() - began
    if not result.status.has_incumbent:
        return FunctionalSolution(
            status=result.status,
            bound=result.bound,
            method=METHOD,
            message=result.message,
            seconds=seconds,
        )
    J, m = len(problem.x0), len(problem.prototypes)
    a = np.array([[max(0.0, model.a[j, b].value or 0.0) for b in range(m)] for j in range(J)])
    a[:, [b for b in range(m) if (model.u[b].value or 0.0) < 0.5]] = 0.0
    a[a < 1e-8] = 0.0
    objective = problem.cost(a)
    bound = None if result.bound is None else min(result.bound, objective)
    accepted = problem.accepts(problem.combine(a))
    proven = bound is not None and objective - bound <= GAP_TOLERANCE * max(1.0, objective)
    return FunctionalSolution(
        status=Status.OPTIMAL if proven and accepted else Status.FEASIBLE,
        objective=objective,
        bound=bound,
        method=METHOD,
        message="" if accepted else "Rounding put the curve on the wrong side of a threshold.",
        seconds=seconds,
        details={"solver": solver, "accepted": accepted},
        **values_of(problem, a),
    )
