"""Reference models in Pyomo: the bilevel problem through its KKT conditions, and bilinear.

Both are what a general solver can be given (models.md section 6): they serve as oracles and as
the comparison of the study. The KKT model is the dissertation's (4.17) with its size multiplier
repaired and complementarity by special ordered sets instead of a guessed big-M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.moves import Move
from groupcf.benchmarking.search import Found
from groupcf.benchmarking.technology import Technology
from groupcf.benchmarking.units import Side
from groupcf.solution import Status

if TYPE_CHECKING:
    import pyomo.environ as pyo

Floats = NDArray[np.float64]


def solve_reference(
    method: str,
    technology: Technology,
    move: Move,
    change: Side,
    x0: Floats,
    y0: Floats,
    goal: float,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
) -> tuple[Status, Found | None, str]:
    """Solve a reference model.

    Parameters
    ----------
    method : {"kkt", "bilinear"}
    technology, move, change
    x0, y0 : ndarray of shape (I,), (O,)
        Scaled goods of the unit.
    goal : float
        E*.
    solver, time_limit
        As for :func:`groupcf.solvers.solve`.

    Returns
    -------
    status : Status
    found : Found or None
        None where there is neither an answer nor a proof that there is none.
    message : str
    """
    from groupcf.solvers import solve

    build = build_kkt if method == "kkt" else build_bilinear
    model = build(technology, move, change, x0, y0, goal)

    result = solve(model, solver=solver, time_limit=time_limit)
    if result.status is Status.INFEASIBLE:
        return result.status, Found(None, np.inf, np.inf, 0, True), result.message
    if not result.status.has_incumbent:
        return result.status, None, result.message
    d = np.array([max(0.0, result.values[model.d[i].name]) for i in model.goods])
    d[d < 1e-9 * np.maximum(move.start, 1.0)] = 0.0
    value = float(np.sum(move.charge * (d > 0) + move.linear * d + move.quadratic * d**2))
    bound = -np.inf if result.bound is None else min(float(result.bound), value)
    return result.status, Found(d, value, bound, 0, result.status is Status.OPTIMAL), ""


def _changes(move: Move) -> pyo.ConcreteModel:
    """Return a model of the changes d and their cost."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    n = len(move.cap)
    model.goods = pyo.RangeSet(0, n - 1)
    model.d = pyo.Var(model.goods, bounds=lambda _, i: (0.0, float(move.cap[i])))
    terms: list[Any] = []
    charged = [i for i in range(n) if move.charge[i] > 0]
    model.changed = pyo.Var(charged, domain=pyo.Binary)
    model.link = pyo.ConstraintList()
    for i in charged:
        model.link.add(model.d[i] <= float(move.cap[i]) * model.changed[i])
        terms.append(float(move.charge[i]) * model.changed[i])
    whole = [i for i in range(n) if move.unit[i] > 0]
    model.some = pyo.Var(whole, domain=pyo.Binary)
    model.count = pyo.Var(whole, domain=pyo.NonNegativeIntegers)
    for i in whole:  # 0, first, first + unit, ...
        room = max(0.0, float((move.cap[i] - move.first[i]) / move.unit[i]))
        steps = int(np.floor(room + 1e-9))
        model.count[i].setub(steps)
        model.link.add(
            model.d[i]
            == float(move.first[i]) * model.some[i] + float(move.unit[i]) * model.count[i]
        )
        model.link.add(model.count[i] <= steps * model.some[i])
    for i in range(n):
        terms.append(float(move.linear[i]) * model.d[i])
        if move.quadratic[i] > 0:
            terms.append(float(move.quadratic[i]) * model.d[i] ** 2)
    model.cost = pyo.Objective(expr=sum(terms))
    return model


def _goods(
    model: pyo.ConcreteModel, move: Move, change: Side, x0: Floats, y0: Floats
) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs after the changes, numbers or expressions."""
    moved = [float(move.start[i]) + move.sign * model.d[i] for i in model.goods]
    if change == "input":
        return moved, [float(v) for v in y0]
    return [float(v) for v in x0], moved


def _prices(model: pyo.ConcreteModel, technology: Technology) -> None:
    """Add prices u, v and k under which no unit earns anything."""
    import pyomo.environ as pyo

    n_inputs, n_outputs = technology.n_inputs, technology.n_outputs
    model.u = pyo.Var(range(n_inputs), domain=pyo.NonNegativeReals)
    model.v = pyo.Var(range(n_outputs), domain=pyo.NonNegativeReals)
    low, high = {"crs": (0.0, 0.0), "vrs": (None, None), "drs": (None, 0.0), "irs": (0.0, None)}[
        technology.rts
    ]
    model.k = pyo.Var(bounds=(low, high))
    model.units = pyo.RangeSet(0, len(technology.X) - 1)
    model.loss = pyo.Var(model.units, domain=pyo.NonNegativeReals)
    model.earn = pyo.ConstraintList()
    for j in model.units:
        model.earn.add(
            sum(float(technology.X[j, i]) * model.u[i] for i in range(n_inputs))
            - sum(float(technology.Y[j, o]) * model.v[o] for o in range(n_outputs))
            - model.k
            == model.loss[j]
        )


def build_bilinear(
    technology: Technology, move: Move, change: Side, x0: Floats, y0: Floats, goal: float
) -> pyo.ConcreteModel:
    """Build the bilinear model: some prices prove that efficiency is at least `goal`.

    Efficiency of (x, y) is at least E* if and only if some prices have ``u.x <= 1`` and
    ``v.y + k >= E*``; for changed outputs (x, y) must also be attainable at some size.
    """
    import pyomo.environ as pyo

    model = _changes(move)
    _prices(model, technology)
    x, y = _goods(model, move, change, x0, y0)
    model.paid = pyo.Constraint(expr=sum(x[i] * model.u[i] for i in range(len(x))) <= 1.0)
    model.worth = pyo.Constraint(
        expr=sum(y[o] * model.v[o] for o in range(len(y))) + model.k >= float(goal)
    )
    if change == "output":
        model.weight = pyo.Var(model.units, domain=pyo.NonNegativeReals)
        model.share = pyo.Var(domain=pyo.NonNegativeReals)
        model.made = pyo.ConstraintList()
        _attain(model, technology, [model.share * v for v in x], y)
    return model


def _attain(
    model: pyo.ConcreteModel, technology: Technology, x: list[Any], y: list[Any], size: float = 1.0
) -> None:
    """Demand that inputs x make outputs y (both may be expressions)."""
    for i in range(len(x)):
        used = sum(float(technology.X[j, i]) * model.weight[j] for j in model.units)
        model.made.add(used <= x[i])
    for o in range(len(y)):
        made = sum(float(technology.Y[j, o]) * model.weight[j] for j in model.units)
        model.made.add(made >= y[o])
    total = sum(model.weight[j] for j in model.units)
    if technology.rts == "vrs":
        model.made.add(total == size)
    elif technology.rts == "drs":
        model.made.add(total <= size)
    elif technology.rts == "irs":
        model.made.add(total >= size)


def build_kkt(
    technology: Technology, move: Move, change: Side, x0: Floats, y0: Floats, goal: float
) -> pyo.ConcreteModel:
    """Build the single-level model of the bilevel problem: efficiency is exactly `goal`.

    Inputs: ``max F`` with ``X'b <= x, Y'b >= F y0, size of b in F Lambda`` is optimal at
    F* = 1 / E*. Outputs: ``min E`` with ``X'l <= E x0, Y'l >= y, l in Lambda`` at E*. Either is
    replaced by primal and dual feasibility and complementary slackness.
    """
    import pyomo.environ as pyo

    model = _changes(move)
    _prices(model, technology)
    x, y = _goods(model, move, change, x0, y0)
    n_inputs, n_outputs = technology.n_inputs, technology.n_outputs
    model.weight = pyo.Var(model.units, domain=pyo.NonNegativeReals)
    model.spare_x = pyo.Var(range(n_inputs), domain=pyo.NonNegativeReals)
    model.spare_y = pyo.Var(range(n_outputs), domain=pyo.NonNegativeReals)
    model.made = pyo.ConstraintList()
    factor = 1.0 / goal if change == "input" else 1.0
    ends_x = x if change == "input" else [goal * v for v in x]
    ends_y = [factor * v for v in y] if change == "input" else y
    for i in range(n_inputs):
        used = sum(float(technology.X[j, i]) * model.weight[j] for j in model.units)
        model.made.add(used + model.spare_x[i] == ends_x[i])
    for o in range(n_outputs):
        made = sum(float(technology.Y[j, o]) * model.weight[j] for j in model.units)
        model.made.add(made - model.spare_y[o] == ends_y[o])
    pairs = [(model.u[i], model.spare_x[i]) for i in range(n_inputs)]
    pairs += [(model.v[o], model.spare_y[o]) for o in range(n_outputs)]
    pairs += [(model.weight[j], model.loss[j]) for j in model.units]
    total = sum(model.weight[j] for j in model.units)
    if technology.rts == "vrs":
        model.made.add(total == factor)
    elif technology.rts != "crs":
        model.spare_size = pyo.Var(domain=pyo.NonNegativeReals)
        model.size_price = pyo.Var(domain=pyo.NonNegativeReals)
        sign = 1.0 if technology.rts == "drs" else -1.0
        model.made.add(total + sign * model.spare_size == factor)
        model.made.add(model.size_price == -sign * model.k)
        pairs.append((model.size_price, model.spare_size))
    if change == "input":  # the price of F, which is positive, leaves nothing over
        model.norm = pyo.Constraint(
            expr=sum(float(v) * model.v[o] for o, v in enumerate(y0)) + model.k == 1.0
        )
    else:
        model.norm = pyo.Constraint(
            expr=sum(float(v) * model.u[i] for i, v in enumerate(x0)) == 1.0
        )
    model.either = pyo.SOSConstraint(
        range(len(pairs)),
        var=_flat(model, pairs),
        index={p: [2 * p, 2 * p + 1] for p in range(len(pairs))},
        sos=1,
    )
    return model


def _flat(model: pyo.ConcreteModel, pairs: list[tuple[Any, Any]]) -> Any:
    """Return the members of all pairs as one indexed variable, which Pyomo's sets want."""
    import pyomo.environ as pyo

    model.member = pyo.Reference([v for pair in pairs for v in pair])
    return model.member
