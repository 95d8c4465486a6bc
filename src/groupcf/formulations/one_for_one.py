"""Reference formulation of one-for-one with a linear score (models.md section 1).

The mixed-integer model of ColCE and CEsep, written in the changes ``u = x - x0`` and solved
by a general solver. Binaries: ``xi[s, j]`` feature j of instance s changes, ``xi_star[j]`` it
changes somewhere in the group, ``y[s]`` instance s flips. All big-M are exact: the ends of an
instance's feasible interval, and its own deficit in the score row.

A continuous change is a bounded variable, a change of an integer feature a number of steps,
and any other discrete feature picks at most one of its options. Binaries that nothing prices
or limits are left out: ``xi`` exists only with ``lam_ind`` or ``max_changed``, and ``xi_star``
only with ``lam_glob`` or ``f_max``; changes are then tied to ``xi_star`` and ``y`` directly,
which has the same solutions and a much smaller search.

With squared distances and any binary this is a mixed-integer quadratic model: among the open
solvers SCIP takes it, HiGHS does not. With ``l1`` distances it is linear, and HiGHS does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.scores import LinearScore
from groupcf.constraints import feasible_box, options
from groupcf.errors import UnsupportedProblemError
from groupcf.features import Feature, Kind
from groupcf.problems import Problem
from groupcf.solution import Solution, Status

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from groupcf.solvers import SolveResult

METHOD = "reference formulation"
_ATTEMPTS = 3


def build(problem: Problem, margin: NDArray[np.float64] | None = None) -> ConcreteModel:
    """Build the model.

    Parameters
    ----------
    problem : Problem
        One-for-one allocation and a linear score.
    margin : ndarray of shape (S,), optional
        Added to the score that each instance must gain; makes up for a solver's tolerance.

    Returns
    -------
    ConcreteModel
        Variables ``u`` (continuous changes), ``n`` (integer steps), ``z`` (options), ``xi``,
        ``xi_star``, ``y``; objective ``cost``.

    Raises
    ------
    UnsupportedProblemError
        For another score or allocation.
    """
    import pyomo.environ as pyo

    if not isinstance(problem.score, LinearScore):
        raise UnsupportedProblemError("this formulation is for a linear score")
    allocation, cost, space = problem.one_for_one, problem.cost, problem.space
    instances = range(problem.n_instances)
    model = pyo.ConcreteModel("one-for-one")
    changes = _Changes(problem)
    model.choices = changes.choices  # what an option stands for; read by extract

    individual = cost.lam_ind > 0 or allocation.max_changed is not None
    joint = cost.lam_glob > 0 or allocation.f_max is not None
    model.y = pyo.Var(instances, domain=pyo.Binary)
    if problem.flips == problem.n_instances:
        for s in instances:
            model.y[s].fix(1)
    model.flips = pyo.Constraint(expr=pyo.quicksum(model.y.values()) == problem.flips)
    if individual:
        model.xi = pyo.Var(changes.places, domain=pyo.Binary)
        model.changes_if_flipped = pyo.Constraint(
            changes.places, rule=lambda m, s, j: m.xi[s, j] <= m.y[s]
        )
    if joint:
        model.xi_star = pyo.Var(range(space.n_features), domain=pyo.Binary)

    def switches(s: int, j: int) -> list[Any]:
        """Return the binaries that a change of feature j of instance s needs."""
        if individual:
            return [model.xi[s, j]]
        on = [model.xi_star[j]] if joint else []
        return on if model.y[s].fixed else [*on, model.y[s]]

    if individual and joint:
        model.changed_somewhere = pyo.Constraint(
            changes.places, rule=lambda m, s, j: m.xi[s, j] <= m.xi_star[j]
        )

    gains: list[list[Any]] = [[] for _ in instances]
    distance: list[Any] = []
    model.u = pyo.Var(list(changes.intervals), domain=pyo.Reals)
    model.n = pyo.Var(list(changes.steps), domain=pyo.Integers)
    model.z = pyo.Var(list(changes.options), domain=pyo.Binary)
    model.switch = pyo.ConstraintList()
    if cost.gauge == "l1":
        moving = [*changes.intervals, *changes.steps]
        model.size = pyo.Var(moving, domain=pyo.NonNegativeReals)
        model.sizes = pyo.ConstraintList()
    for variable, bounds in ((model.u, changes.intervals), (model.n, changes.steps)):
        for (s, j), (low, high, unit) in bounds.items():
            change = variable[s, j]
            change.setlb(low)
            change.setub(high)
            for on in switches(s, j):
                model.switch.add(change <= high * on)
                model.switch.add(change >= low * on)
            gains[s].append(changes.slope[j] * unit * change)
            if cost.gauge == "l1":
                model.sizes.add(model.size[s, j] >= unit * change)
                model.sizes.add(model.size[s, j] >= -unit * change)
                distance.append(space.weights[j] * model.size[s, j])
            else:
                distance.append(space.weights[j] * unit**2 * change**2)
    picks: dict[tuple[int, int], list[Any]] = {}
    for (s, j, k), (gain, price) in changes.options.items():
        gains[s].append(gain * model.z[s, j, k])
        distance.append(price * model.z[s, j, k])
        picks.setdefault((s, j), []).append(model.z[s, j, k])
    for (s, j), chosen in picks.items():
        for on in switches(s, j) or ([1] if len(chosen) > 1 else []):
            model.switch.add(pyo.quicksum(chosen) <= on)

    deficit = problem.target - problem.score.decision(problem.instances)
    if margin is not None:
        deficit = deficit + margin
    model.score = pyo.ConstraintList()
    for s in instances:
        if deficit[s] > 0:
            model.score.add(pyo.quicksum(gains[s]) - deficit[s] * model.y[s] >= 0)
        elif gains[s]:
            model.score.add(pyo.quicksum(gains[s]) >= deficit[s])
    if allocation.max_changed is not None:
        model.few_each = pyo.ConstraintList()
        for s in instances:
            mine = [model.xi[place] for place in changes.places if place[0] == s]
            if mine:
                model.few_each.add(pyo.quicksum(mine) <= allocation.max_changed)
    if allocation.f_max is not None:
        model.few = pyo.Constraint(expr=pyo.quicksum(model.xi_star.values()) <= allocation.f_max)
    total = pyo.quicksum(distance)
    if cost.lam_ind > 0:
        total += cost.lam_ind * pyo.quicksum(model.xi.values())
    if cost.lam_glob > 0:
        total += cost.lam_glob * pyo.quicksum(model.xi_star.values())
    model.cost = pyo.Objective(expr=total, sense=pyo.minimize)
    return model


class _Changes:
    """What may change: intervals, integer steps and options by instance and feature.

    Attributes
    ----------
    intervals, steps : dict
        (s, j) -> (low, high, unit): bounds on ``u`` or ``n``, encoded length of one unit.
    options : dict
        (s, j, k) -> (gain in score, distance cost) of option k >= 1.
    choices : dict
        (s, j) -> encoded values (positions of categories) of the options, own value first.
    places : list of (s, j)
        Wherever anything may change.
    slope : dict
        j -> score weight of a one-column feature.
    """

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.score, LinearScore)
        space, X0 = problem.space, problem.instances
        power = 2 if problem.cost.gauge == "l2_squared" else 1
        lower, upper = feasible_box(space, X0)
        self.intervals: dict[tuple[int, int], tuple[float, float, float]] = {}
        self.steps: dict[tuple[int, int], tuple[float, float, float]] = {}
        self.options: dict[tuple[int, int, int], tuple[float, float]] = {}
        self.choices: dict[tuple[int, int], NDArray[np.float64]] = {}
        self.slope: dict[int, float] = {}
        places: set[tuple[int, int]] = set()
        for j, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
            w, at = problem.score.weights[block], block.start
            self.slope[j] = float(w[0])
            for s, x in enumerate(X0):
                low, high = lower[s, at] - x[at], upper[s, at] - x[at]
                if not feature.discrete:
                    if low < high:
                        self.intervals[s, j] = (low, high, 1.0)
                        places.add((s, j))
                    continue
                if _counts(feature, x[at]):
                    down, up = np.rint(low * feature.scale), np.rint(high * feature.scale)
                    if down < up:
                        self.steps[s, j] = (float(down), float(up), 1.0 / feature.scale)
                        places.add((s, j))
                    continue
                nominal = feature.kind is Kind.NOMINAL
                values = options(feature, int(x[block].argmax()) if nominal else x[at])
                self.choices[s, j] = values
                for k in range(1, len(values)):
                    if nominal:
                        gain, length = float(w[int(values[k])] - w[int(values[0])]), 1.0
                    else:
                        length = float(values[k] - values[0])
                        gain = float(w[0]) * length
                    self.options[s, j, k] = (gain, feature.weight * abs(length) ** power)
                    places.add((s, j))
        self.places = sorted(places)


def _counts(feature: Feature, own: float) -> bool:
    """Whether a change of a discrete feature is a whole number of equal steps."""
    raw = own * feature.scale + feature.offset
    return (
        feature.kind is Kind.INTEGER and feature.allowed is None and abs(raw - np.rint(raw)) <= 1e-6
    )


def extract(
    model: ConcreteModel, problem: Problem
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the counterfactuals out of a solved model.

    Discrete values are rounded to the values they stand for, and changes that their binaries
    rule out (within the solver's tolerance) are dropped.

    Returns
    -------
    counterfactuals : ndarray of shape (S, D)
        One row per instance; its own values where it does not flip.
    assignment : ndarray of shape (S,) of int
        The instance's own row, or -1 where it does not flip.
    """
    space = problem.space
    X = problem.instances.copy()
    flips = np.array([model.y[s].value > 0.5 for s in range(problem.n_instances)])
    off = {key for key in model.xi if model.xi[key].value < 0.5} if _has(model, "xi") else set()
    gone = (
        {j for j in model.xi_star if model.xi_star[j].value < 0.5}
        if _has(model, "xi_star")
        else set()
    )

    def moves(s: int, j: int) -> bool:
        return bool(flips[s]) and (s, j) not in off and j not in gone

    for (s, j), change in model.u.items():
        if moves(s, j):
            X[s, space.blocks[j].start] += change.value
    for (s, j), count in model.n.items():
        feature, at = space.features[j], space.blocks[j].start
        steps = np.rint(count.value)
        if moves(s, j) and steps != 0:
            raw = np.rint(X[s, at] * feature.scale + feature.offset) + steps
            X[s, at] = (raw - feature.offset) / feature.scale
    for (s, j, k), picked in model.z.items():
        if moves(s, j) and picked.value > 0.5:
            block, choice = space.blocks[j], model.choices[s, j][k]
            if space.features[j].kind is Kind.NOMINAL:
                X[s, block] = 0.0
                X[s, block.start + int(choice)] = 1.0
            else:
                X[s, block.start] = choice
    lower, upper = feasible_box(space, problem.instances)
    X = np.clip(X, lower, upper)
    assignment = np.where(flips, np.arange(len(X)), -1).astype(np.int64)
    return _stretch(X, flips, problem), assignment


def _has(model: ConcreteModel, name: str) -> bool:
    return model.component(name) is not None


def _stretch(
    X: NDArray[np.float64], flips: NDArray[np.bool_], problem: Problem
) -> NDArray[np.float64]:
    """Make up for a solver's tolerance: lengthen continuous changes until the score is met."""
    space, X0 = problem.space, problem.instances
    lower, upper = feasible_box(space, X0)
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
    for _ in range(_ATTEMPTS):
        model = build(problem, margin)
        built = time.perf_counter() - start
        left = None if time_limit is None else max(0.1, time_limit - built)
        result = solve(model, solver=solver, time_limit=left, threads=threads)
        seconds = time.perf_counter() - start
        if not result.status.has_incumbent:
            return Solution(
                status=result.status,
                bound=result.bound,
                method=METHOD,
                message=result.message,
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
    changed = space.changed(X0, X)
    costs = problem.cost.distances(space, X0, X) + problem.cost.lam_ind * changed.sum(axis=1)
    names = [space.names[j] for j in np.flatnonzero(changed.any(axis=0))]
    return Solution(
        status=result.status,
        objective=objective,
        # both hold within the solver's tolerance only; a bound above the value is rounding
        bound=None if result.bound is None else min(result.bound, objective),
        method=METHOD,
        message=result.message,
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
