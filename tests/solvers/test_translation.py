"""What a Pyomo model needs, who is chosen for it, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pyomo.gdp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcf.errors import (
    ConfigError,
    DataError,
    SolverUnavailableError,
    UnsupportedProblemError,
)
from groupcf.solution import Status
from groupcf.solvers import SOLVERS, Availability, Capability, choose, classify, solve
from groupcf.solvers.program import Quadratic
from groupcf.solvers.pyomo_models import translate


def test_classify(models):
    m = models.pair("Reals", a=lambda x, y: x + y >= 1)
    assert classify(m) == {Capability.LP}
    m.o = pyo.Objective(expr=m.x**2)
    assert classify(m) == {Capability.LP, Capability.QP}
    m.z = pyo.Var(domain=pyo.Binary)
    assert classify(m) == {Capability.LP, Capability.QP, Capability.MILP, Capability.MIQP}
    m.o.sense = pyo.maximize
    assert Capability.NONCONVEX in classify(m)
    assert classify(models.knapsack()) == {Capability.MILP}


def test_fixed_variables_are_constants(models):
    m = models.pair("Reals", a=lambda x, y: x * y >= 2)
    m.o = pyo.Objective(expr=m.x)
    assert Capability.QCP in classify(m)
    m.y.fix(4)
    assert classify(m) == {Capability.LP}
    r = solve(m)
    assert r.objective == pytest.approx(0.5)
    assert m.y.value == 4
    assert "y" not in r.values


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000))
def test_convexity_is_the_sign_of_the_least_eigenvalue(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    root = rng.integers(-3, 4, (n, n)).astype(float)
    matrix = root @ root.T
    if rng.random() < 0.5:
        matrix -= rng.integers(0, 3) * np.eye(n)
    least = np.linalg.eigvalsh(matrix)[0]
    if 0 < abs(least) < 1e-6:
        return
    i, j = np.nonzero(np.triu(matrix))
    v = np.where(i == j, 1.0, 2.0) * matrix[i, j]
    form = Quadratic(i, j, v)
    assert form.convex() == (least >= -1e-9)
    x = rng.normal(size=n)
    assert form.value(x) == pytest.approx(x @ matrix @ x)


def test_values_bounds_and_constants_are_read(models):
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=2.5, mutable=True)
    m.i = pyo.Var(domain=pyo.Integers, bounds=(-1.5, 3.2))
    m.free = pyo.Var()
    m.o = pyo.Objective(expr=m.p * m.i + 4, sense=pyo.maximize)
    m.b = pyo.Block()
    m.b.row = pyo.Constraint(expr=(1, m.free + 2 * m.i + 3, 9))
    program = translate(m).program
    assert program.names == ("i", "free")
    assert program.lower.tolist() == [-1, -np.inf]
    assert program.upper.tolist() == [3, np.inf]
    assert program.integer.tolist() == [True, False]
    assert (program.offset, program.maximise, program.c.tolist()) == (4, True, [2.5, 0])
    assert (program.rows.lower.tolist(), program.rows.upper.tolist()) == ([-2], [6])
    assert dict(zip(*program.rows.row(0), strict=True)) == {0: 2, 1: 1}


def test_inactive_components_are_left_out(models):
    m = models.knapsack()
    m.c.deactivate()
    m.b = pyo.Block()
    m.b.row = pyo.Constraint(expr=m.x[0] >= 3)
    m.b.deactivate()
    assert solve(m).objective == pytest.approx(20)


def test_what_cannot_hold_is_said_without_a_solver(models):
    m = models.knapsack()
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] >= 1)
    m.x[0].fix(0)
    m.x[1].fix(0)
    r = solve(m)
    assert r.status == Status.INFEASIBLE
    assert "row" in r.message
    m = models.pair("Integers")
    m.x.setlb(0.3)
    m.x.setub(0.8)
    r = solve(m)
    assert r.status == Status.INFEASIBLE
    assert r.message == "x has no value between its bounds 0.3 and 0.8"


def test_a_model_without_objective_or_rows(models, solver):
    m = models.pair("Integers")
    r = solve(m, solver=solver)
    assert (r.status, r.objective, r.bound) == (Status.OPTIMAL, 0.0, 0.0)
    assert -9 <= m.x.value <= 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.add_component("n", pyo.Constraint(expr=pyo.exp(m.x) <= 2)), "n is neither"),
        (lambda m: m.add_component("o2", pyo.Objective(expr=m.y)), "more than one .*o, o2"),
        (lambda m: m.add_component("d", pyomo.gdp.Disjunct()), "Disjunct"),
    ],
)
def test_what_no_solver_takes_is_named(models, change, message):
    m = models.pair("Reals")
    m.o = pyo.Objective(expr=m.x)
    change(m)
    with pytest.raises(UnsupportedProblemError, match=message):
        solve(m)


def test_a_coefficient_that_is_not_a_number_is_named(models):
    m = models.pair("Reals")
    m.row = pyo.Constraint(expr=m.x + float("inf") * m.y <= 2)
    with pytest.raises(DataError, match="of y in row is inf"):
        solve(m)


def test_an_indicator_of_nothing_is_refused(models):
    m = models.knapsack()
    m.indicator = pyo.Suffix()
    m.indicator[m.c] = (m.x[0], 1)
    m.c.deactivate()
    with pytest.raises(UnsupportedProblemError, match="not active"):
        solve(m, solver="scip")


def test_cp_sat_refuses_what_it_would_have_to_round(models):
    m = models.pair("Integers", a=lambda x, y: x + 0.25 * y <= 2)
    m.o = pyo.Objective(expr=-m.x - 0.5 * m.y)
    r = solve(m, solver="cpsat")  # quarters become integers
    assert r.objective == pytest.approx(solve(m, solver="highs").objective)
    m.b = pyo.Constraint(expr=m.x + np.pi * m.y <= 2)
    with pytest.raises(UnsupportedProblemError, match=r"integer coefficients.*3\.14.* at y"):
        solve(m, solver="cpsat")
    m.b.deactivate()
    m.x.setub(None)
    with pytest.raises(UnsupportedProblemError, match="bounds on every variable; x has none"):
        solve(m, solver="cpsat")
    m.z = pyo.Var(bounds=(0, 1))
    with pytest.raises(UnsupportedProblemError, match="continuous variables; use highs"):
        solve(m, solver="cpsat")


def test_choice(monkeypatch, models):
    everything = frozenset(Capability)
    solver, why = choose({Capability.LP, Capability.MILP})
    assert solver.name == "highs"
    assert why == "HiGHS takes continuous variables, integer variables"
    assert choose({Capability.MILP, Capability.MIQP})[0].name == "scip"
    assert choose({Capability.MILP}, "cpsat")[0].name == "cpsat"
    with pytest.raises(ConfigError, match="unknown value 'cplex'; use one of auto, highs"):
        choose(everything, "cplex")

    def only_highs(name):
        if name == "highs":
            return Availability(True, "1", "MIT")
        return Availability(False, reason=f"{name} is not installed: {SOLVERS[name].install}")

    monkeypatch.setattr("groupcf.solvers.dispatch.available", only_highs)
    with pytest.raises(SolverUnavailableError, match=r"indicator rows.*pip install pyscipopt"):
        choose(everything)
    m = models.pair("Integers")
    m.o = pyo.Objective(expr=m.x**2)
    for name in ("auto", "scip"):
        r = solve(m, solver=name)
        assert r.status == Status.SOLVER_MISSING
        assert "pip install pyscipopt" in r.message


def test_a_solver_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for solver in SOLVERS.values():
        state = solver.available()
        assert (state.ok, state.version) == (False, "")
        assert solver.install in state.reason


@pytest.mark.parametrize(
    ("option", "value"),
    [("time_limit", -1), ("threads", 0), ("gap", float("nan")), ("memory_limit_mb", 0)],
)
def test_options_out_of_range_are_named(models, option, value):
    with pytest.raises(ConfigError, match=option):
        solve(models.knapsack(), **{option: value})
