"""Reference formulation of one-for-one (models.md section 1).

The mixed-integer model of ColCE and CEsep, written in the changes ``x - x0`` and solved by a
general solver; it carries every score, every linking constraint and value ranges. Binaries:
``xi[s, j]`` feature j of instance s changes, ``xi_star[j]`` it changes somewhere in the
group, ``y[s]`` instance s flips. All big-M are exact: the ends of an instance's feasible
interval, and its own deficit in the score row.

Binaries that nothing prices or limits are left out: ``xi`` exists only with ``lam_ind``,
``max_changed`` or distinct features, and ``xi_star`` only with ``lam_glob`` or ``f_max``;
changes are then tied to ``xi_star`` and ``y`` directly, which has the same solutions and a
much smaller search.

With squared distances and any binary this is a mixed-integer quadratic model: among the open
solvers SCIP takes it, HiGHS does not. With ``l1`` distances it is linear, and HiGHS does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import UnsupportedProblemError
from groupcf.formulations.linking_rows import add_linking, needs_changed
from groupcf.formulations.moves import Moves
from groupcf.formulations.score_rows import add_score
from groupcf.problems import Problem
from groupcf.solution import Solution, Status

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from groupcf.solvers import SolveResult

METHOD = "reference formulation"
SCORES = (LinearScore, TreeEnsembleScore, NetworkScore)
"""Score models that the formulation carries."""

NETWORK_MARGIN = 1e-6
"""What a solver's tolerance takes from the score of a network, whose units it adds up."""

TOLERANCE = 1e-4
"""Relative gap, left by a solver's tolerance, up to which its proof is taken."""

_ATTEMPTS = 3


def build(problem: Problem, margin: NDArray[np.float64] | None = None) -> ConcreteModel:
    """Build the model.

    Parameters
    ----------
    problem : Problem
        One-for-one allocation; a linear score, a tree ensemble or a ReLU network.
    margin : ndarray of shape (S,), optional
        Added to the score that each instance must gain; makes up for a solver's tolerance.

    Returns
    -------
    ConcreteModel
        Variables ``u`` (continuous changes), ``n`` (integer steps), ``z`` (options), ``xi``,
        ``xi_star``, ``y``; objective ``cost``; attribute ``moves`` says what they mean.

    Raises
    ------
    UnsupportedProblemError
        For another score or allocation.
    """
    import pyomo.environ as pyo

    if not isinstance(problem.score, SCORES):
        raise UnsupportedProblemError(
            "this formulation is for a linear score, a tree ensemble or a ReLU network"
        )
    allocation, cost, space = problem.one_for_one, problem.cost, problem.space
    instances = range(problem.n_instances)
    model = pyo.ConcreteModel("one-for-one")
    moves = Moves(model, problem)
    model.moves = moves  # read by extract

    individual = cost.lam_ind > 0 or allocation.max_changed is not None or needs_changed(problem)
    joint = cost.lam_glob > 0 or allocation.f_max is not None
    model.y = pyo.Var(instances, domain=pyo.Binary)
    if problem.flips == problem.n_instances:
        for s in instances:
            model.y[s].fix(1)
    model.flips = pyo.Constraint(expr=pyo.quicksum(model.y.values()) == problem.flips)
    if individual:
        model.xi = pyo.Var(moves.places, domain=pyo.Binary)
        model.changes_if_flipped = pyo.Constraint(
            moves.places, rule=lambda m, s, j: m.xi[s, j] <= m.y[s]
        )
    if joint:
        model.xi_star = pyo.Var(range(space.n_features), domain=pyo.Binary)
    if individual and joint:
        model.changed_somewhere = pyo.Constraint(
            moves.places, rule=lambda m, s, j: m.xi[s, j] <= m.xi_star[j]
        )
    model.switch = pyo.ConstraintList()

    def switches(s: int, j: int) -> list[Any]:
        """Return the binaries that a change of feature j of instance s needs."""
        if individual:
            return [model.xi[s, j]]
        on: list[Any] = [model.xi_star[j]] if joint else []
        return on if model.y[s].fixed else [*on, model.y[s]]

    for place in moves.places:
        for row in moves.switch(place, switches(*place)):
            model.switch.add(row)
    if margin is None:
        margin = np.zeros(len(instances))
    add_score(model, problem, moves, margin, switches)
    add_linking(model, problem, moves)
    if moves.impossible:  # a row without variables cannot be stated
        model.never = pyo.Var(bounds=(0.0, 0.0))
        model.nothing_left = pyo.Constraint(expr=model.never >= 1.0)
    if allocation.max_changed is not None:
        model.few_each = pyo.ConstraintList()
        for s in instances:
            mine = [model.xi[place] for place in moves.places if place[0] == s]
            if mine:
                model.few_each.add(pyo.quicksum(mine) <= allocation.max_changed)
    if allocation.f_max is not None:
        model.few = pyo.Constraint(expr=pyo.quicksum(model.xi_star.values()) <= allocation.f_max)
    total = pyo.quicksum(term for s in instances for term in moves.distance(s))
    if cost.lam_ind > 0:
        total += cost.lam_ind * pyo.quicksum(model.xi.values())
    if cost.lam_glob > 0:
        total += cost.lam_glob * pyo.quicksum(model.xi_star.values())
    model.cost = pyo.Objective(expr=total, sense=pyo.minimize)
    return model


def extract(
    model: ConcreteModel, problem: Problem
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the counterfactuals out of a solved model.

    Discrete values are rounded to the values they stand for, and changes that their binaries
    rule out (within the solver's tolerance) are dropped. With trees every point is put into
    the box of its leaves, with a linear score its changes are lengthened until it is met.

    Returns
    -------
    counterfactuals : ndarray of shape (S, D)
        One row per instance; its own values where it does not flip.
    assignment : ndarray of shape (S,) of int
        The instance's own row, or -1 where it does not flip.
    """
    flips = np.array([model.y[s].value > 0.5 for s in range(problem.n_instances)])
    off: set[tuple[int, int]] = set()
    if _has(model, "xi"):
        off = {key for key in model.xi if model.xi[key].value < 0.5}
    if _has(model, "xi_star"):
        gone = {j for j in model.xi_star if model.xi_star[j].value < 0.5}
        off |= {(s, j) for s, j in model.moves.places if j in gone}
    X = model.moves.read(off, flips)
    assignment = np.where(flips, np.arange(len(X)), -1).astype(np.int64)
    if isinstance(problem.score, TreeEnsembleScore):
        for s in np.flatnonzero(flips):
            X[s] = model.chosen[s].snap(X[s])
    elif isinstance(problem.score, LinearScore):
        X = _stretch(X, flips, problem, model.moves)
    return X, assignment


def _has(model: ConcreteModel, name: str) -> bool:
    return model.component(name) is not None


def _stretch(
    X: NDArray[np.float64], flips: NDArray[np.bool_], problem: Problem, moves: Moves
) -> NDArray[np.float64]:
    """Make up for a solver's tolerance: lengthen continuous changes until the score is met."""
    space, X0 = problem.space, problem.instances
    lower, upper = moves.lower, moves.upper
    continuous = np.array([not f.discrete for f in space.features])[space.owner]
    for s in np.flatnonzero(flips):
        for _ in range(space.n_columns):
            short = problem.target - float(problem.score.decision(X[s : s + 1])[0])
            change = np.where(continuous, X[s] - X0[s], 0.0)
            change[(X[s] <= lower[s]) | (X[s] >= upper[s])] = 0.0
            ahead = problem.score.decision((X0[s] + change)[None]) - problem.score.decision(
                X0[s : s + 1]
            )
            if short <= 0 or ahead[0] <= 0:
                break
            X[s] = np.clip(X[s] + change * (short / ahead[0]), lower[s], upper[s])
    return X


def solve_reference(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
) -> Solution:
    """Solve the reference formulation with a general solver.

    Parameters
    ----------
    problem : Problem
    solver : str
        Name of the solver; "auto" takes the best one for the kind of model.
    time_limit : float or None
        Seconds.
    threads : int

    Returns
    -------
    Solution
        Every flipped instance reaches the problem's target: what a solver's tolerance leaves
        missing is made up by :func:`extract`, or by solving again with a margin where only
        discrete features change. The bound is the solver's and holds within its tolerance.
        `details`: features (names of what changes), outliers (rows that stay), costs (by
        instance, without ``lam_glob``), solver.
    """
    from groupcf.solvers import solve

    start = time.perf_counter()
    margin = np.zeros(problem.n_instances)
    if isinstance(problem.score, NetworkScore):
        margin += NETWORK_MARGIN * max(1.0, abs(problem.target))
    for _ in range(_ATTEMPTS):
        model = build(problem, margin)
        built = time.perf_counter() - start
        left = None if time_limit is None else max(0.1, time_limit - built)
        result = solve(model, solver=solver, time_limit=left, threads=threads)
        seconds = time.perf_counter() - start
        if not result.status.has_incumbent:
            message = result.message
            if result.status is Status.INFEASIBLE and problem.tied:
                what = "; ".join(model.moves.impossible[:3]) or "they contradict each other"
                message = f"no changes meet the score, ranges and linking constraints: {what}"
            return Solution(
                status=result.status,
                bound=result.bound,
                method=METHOD,
                message=message,
                seconds=seconds,
            )
        X, assignment = extract(model, problem)
        flips = assignment >= 0
        short = np.where(flips, problem.target - problem.score.decision(X), 0.0)
        worst = float(short.max())
        if worst <= 0.5 * (problem.target - problem.threshold):
            return _solution(problem, X, assignment, result, seconds, built)
        margin = np.where(short > 0, np.maximum(2 * short, 10 * margin), margin)
    return Solution(
        status=Status.NO_INCUMBENT,
        bound=result.bound,
        method=METHOD,
        message=f"the solver's points miss the score by up to {worst:.2g} after {_ATTEMPTS} "
        "attempts; use another solver or the exact method",
        seconds=time.perf_counter() - start,
    )


def _solution(
    problem: Problem,
    X: NDArray[np.float64],
    assignment: NDArray[np.int64],
    result: SolveResult,
    seconds: float,
    built: float,
) -> Solution:
    space, X0 = problem.space, problem.instances
    objective = problem.cost.total(space, X0, X)
    status, message = result.status, result.message
    worse = 0.0 if result.bound is None else objective - result.bound
    if status is Status.OPTIMAL and worse > TOLERANCE * max(1.0, abs(objective)):
        status = Status.FEASIBLE
        message = "the solver's point had to be moved within its tolerance, which costs more"
    changed = space.changed(X0, X)
    costs = problem.cost.distances(space, X0, X) + problem.cost.lam_ind * changed.sum(axis=1)
    names = [space.names[j] for j in np.flatnonzero(changed.any(axis=0))]
    return Solution(
        status=status,
        objective=objective,
        # both hold within the solver's tolerance only; a bound above the value is rounding
        bound=None if result.bound is None else min(result.bound, objective),
        method=METHOD,
        message=message,
        seconds=seconds,
        phases={"build": built, "solve": seconds - built},
        history=result.history,
        counterfactuals=X,
        assignment=assignment,
        details={
            "features": names,
            "outliers": np.flatnonzero(assignment < 0).tolist(),
            "costs": costs.tolist(),
            "solver": result.solver,
        },
    )
