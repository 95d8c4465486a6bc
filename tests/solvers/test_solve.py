"""Every outcome of every installed solver, on models that any licence carries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcf.errors import UnsupportedProblemError
from groupcf.solution import Status
from groupcf.solvers import SOLVERS, Capability, available, classify, solve

RELAXED = ["highs", "scip", "gurobi"]


def installed(names):
    return [name for name in names if available(name).ok]


@pytest.mark.parametrize(("maximise", "optimum"), [(True, 15.0), (False, -1.0)])
def test_optimal(models, solver, maximise, optimum):
    m = models.knapsack(maximise)
    r = solve(m, solver=solver)
    assert r.status == Status.OPTIMAL
    assert r.objective == pytest.approx(optimum)
    assert r.bound == pytest.approx(optimum)
    assert r.gap == pytest.approx(0, abs=1e-9)
    assert pyo.value(m.o) == pytest.approx(optimum)
    assert r.values == {m.x[j].name: m.x[j].value for j in range(4)}
    assert set(r.values.values()) <= {0.0, 1.0}
    assert (r.solver, r.version) == (solver, SOLVERS[solver].version())
    assert r.history[-1].incumbent == pytest.approx(optimum)
    assert r.history[-1].bound == pytest.approx(optimum)


def test_infeasible(models, solver):
    m = models.pair("Integers", a=lambda x, y: 2 * x + 2 * y == 3)
    m.o = pyo.Objective(expr=m.x)
    r = solve(m, solver=solver)
    assert r.status == Status.INFEASIBLE
    assert (r.objective, r.bound, dict(r.values)) == (None, None, {})
    assert m.x.value is None


@pytest.mark.parametrize("domain", ["Reals", "Integers"])
@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("relaxed", installed(RELAXED))
def test_unbounded_is_told_from_infeasible(models, relaxed, domain, sense):
    sign = 1 if sense == pyo.minimize else -1
    m = models.pair(domain, a=lambda x, y: x - y <= 3)
    m.x.setlb(None)
    m.y.setlb(None)
    m.o = pyo.Objective(expr=sign * (m.x + m.y), sense=sense)
    assert solve(m, solver=relaxed).status == Status.UNBOUNDED
    # unbounded direction, but no point
    m.b = pyo.Constraint(expr=m.x - m.y >= 4)
    assert solve(m, solver=relaxed).status == Status.INFEASIBLE


@pytest.mark.parametrize("relaxed", installed(RELAXED))
def test_an_unbounded_relaxation_without_integer_point_is_infeasible(models, relaxed):
    m = models.pair("Integers", a=lambda x, y: 2 * x + 4 * y == 1)
    for v in (m.x, m.y):
        v.setlb(None)
        v.setub(None)
    m.z = pyo.Var()
    m.o = pyo.Objective(expr=m.z)
    assert solve(m, solver=relaxed, time_limit=20).status in (
        Status.INFEASIBLE,
        Status.NO_INCUMBENT,  # a solver need not prove it without bounds; it must not say more
    )


def test_time_limit_without_incumbent(models, solver):
    m = models.market_split(6, 50)
    r = solve(m, solver=solver, time_limit=0.3)
    assert r.status == Status.NO_INCUMBENT
    assert r.objective is None
    assert not r.values
    assert r.message


def test_time_limit_with_incumbent(models, solver):
    m = models.market_split(12, 60, equal=False)
    start = pyo.ComponentMap((m.x[j], 0) for j in range(60))
    r = solve(m, solver=solver, time_limit=0.7, mip_start=start)
    assert r.status == Status.FEASIBLE
    assert r.bound is not None
    assert r.bound < r.objective <= 0
    assert pyo.value(m.o) == pytest.approx(r.objective)
    assert all(pyo.value(row.body) <= row.ub + 1e-6 for row in m.rows.values())
    assert r.message


def test_the_bound_of_a_maximisation_is_an_upper_one(models, solver):
    m = models.market_split(12, 60, equal=False)
    m.o.set_value(-m.o.expr)
    m.o.sense = pyo.maximize
    r = solve(m, solver=solver, time_limit=0.7)
    assert r.status == Status.FEASIBLE
    assert r.bound > r.objective
    for point in r.history:
        if point.bound is not None and point.incumbent is not None:
            assert point.bound >= point.incumbent - 1e-6


def test_a_start_is_used(models, solver):
    """What the start gave is not lost in a much shorter search."""
    m = models.market_split(12, 60, equal=False)
    good = solve(m, solver=solver, time_limit=0.8)
    again = solve(m, solver=solver, time_limit=0.1, mip_start=True)
    assert again.objective <= good.objective + 1e-6


@pytest.mark.parametrize("known", [{0: 1}, {0: 0, 1: 0, 2: 0, 3: 0}, {0: 1, 1: 1, 2: 1, 3: 1}])
def test_a_start_may_be_partial_or_infeasible(models, solver, known):
    m = models.knapsack()
    start = pyo.ComponentMap((m.x[j], value) for j, value in known.items())
    r = solve(m, solver=solver, mip_start=start)
    assert (r.status, r.objective) == (Status.OPTIMAL, pytest.approx(15))


@pytest.mark.parametrize("name", installed(["scip", "gurobi"]))
def test_a_start_of_a_quadratic_model(models, name):
    m = models.pair("Integers", a=lambda x, y: x + y >= 3)
    m.o = pyo.Objective(expr=(m.x - 0.6) ** 2 + m.y**2)
    m.x.value, m.y.value = 3, 0
    r = solve(m, solver=name, mip_start=True)
    assert r.objective == pytest.approx(1.4**2 + 1)
    assert r.history[0].incumbent <= 2.4**2 + 1e-9


def test_seeds_and_threads_do_not_change_the_optimum(models, solver):
    results = [
        solve(models.knapsack(), solver=solver, seed=seed, threads=threads)
        for seed, threads in ((0, 1), (0, 1), (7, 1), (0, 2))
    ]
    assert {r.status for r in results} == {Status.OPTIMAL}
    assert [r.objective for r in results] == pytest.approx([15.0] * 4)
    assert results[0].values == results[1].values
    assert results[0].nodes == results[1].nodes


def test_a_log_is_written(models, solver, tmp_path):
    solve(models.knapsack(), solver=solver, log=tmp_path / "log.txt")
    assert len((tmp_path / "log.txt").read_text().splitlines()) > 3


def test_isolated_and_in_process_agree(models, solver):
    inside = solve(models.knapsack(), solver=solver, isolate=False)
    apart = solve(models.knapsack(), solver=solver, isolate=True)
    assert inside.values == apart.values
    assert inside.objective == apart.objective
    assert apart.status == Status.OPTIMAL


@pytest.mark.parametrize("name", installed(["highs", "scip", "gurobi"]))
def test_convex_quadratic_objective(models, name):
    m = models.pair("Reals", a=lambda x, y: x + y >= 2)
    m.o = pyo.Objective(expr=m.x**2 + m.x * m.y + 2 * m.y**2 - m.x + 5)
    assert classify(m) == {Capability.LP, Capability.QP}
    r = solve(m, solver=name)
    x = np.linspace(-9, 9, 200_001)
    y = np.maximum(2 - x, -x / 4)
    best = np.min(x**2 + x * y + 2 * y**2 - x + 5)
    assert r.status == Status.OPTIMAL
    assert r.objective == pytest.approx(best, abs=1e-5)
    assert r.bound == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("name", installed(["auto", "scip", "gurobi"][1:]))
def test_mixed_integer_quadratic(models, name, sense):
    sign = 1 if sense == pyo.minimize else -1
    m = models.pair("Integers", a=lambda x, y: 3 * x + 5 * y >= 7)
    m.o = pyo.Objective(expr=sign * ((m.x - 0.3) ** 2 + 2 * m.y**2 - m.x * m.y), sense=sense)
    assert Capability.NONCONVEX not in classify(m)
    r = solve(m, solver=name)
    grid = range(-9, 10)
    best = min(
        (x - 0.3) ** 2 + 2 * y**2 - x * y
        for x, y in itertools.product(grid, grid)
        if 3 * x + 5 * y >= 7
    )
    assert r.status == Status.OPTIMAL
    assert sign * r.objective == pytest.approx(best, abs=1e-6)
    assert sign * r.bound == pytest.approx(best, abs=1e-5)
    assert pyo.value(m.o) == pytest.approx(r.objective)


@pytest.mark.parametrize("name", installed(["scip", "gurobi"]))
def test_quadratic_rows(models, name):
    m = models.pair("Reals", a=lambda x, y: x**2 + y**2 <= 2)
    m.o = pyo.Objective(expr=m.x + m.y)
    assert classify(m) == {Capability.LP, Capability.QCP}
    r = solve(m, solver=name)
    assert r.objective == pytest.approx(-2, abs=1e-5)
    m.b = pyo.Constraint(expr=m.x * m.y >= 1.5)  # not convex by its signs: outside the disc
    assert Capability.NONCONVEX in classify(m)
    assert solve(m, solver=name).status == Status.INFEASIBLE


@pytest.mark.parametrize("name", installed(["scip", "gurobi"]))
def test_nonconvex_objective(models, name):
    m = models.pair("Reals", a=lambda x, y: x + 2 * y <= 4)
    m.o = pyo.Objective(expr=-m.x * m.y)
    m.x.setlb(0)
    m.y.setlb(0)
    assert Capability.NONCONVEX in classify(m)
    r = solve(m, solver=name)
    assert r.objective == pytest.approx(-2, abs=1e-5)


@pytest.mark.parametrize("name", installed(["scip", "gurobi"]))
def test_special_ordered_sets(name):
    for kind, optimum in ((1, 5.0), (2, 9.0)):
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(3), bounds=(0, 1))
        m.o = pyo.Objective(expr=5 * m.x[0] + 4 * m.x[1] + 4.5 * m.x[2], sense=pyo.maximize)
        m.s = pyo.SOSConstraint(var=m.x, sos=kind)
        assert {1: Capability.SOS1, 2: Capability.SOS2}[kind] in classify(m)
        r = solve(m, solver=name)
        assert r.objective == pytest.approx(optimum)
        assert sum(v > 1e-9 for v in r.values.values()) <= kind


@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("name", installed(["scip", "cpsat", "gurobi"]))
def test_indicator_rows(models, name, active):
    m = models.pair("Integers")
    m.on = pyo.Var(domain=pyo.Binary)
    m.row = pyo.Constraint(expr=(-2, m.x + m.y, 3))
    m.indicator = pyo.Suffix()
    m.indicator[m.row] = (m.on, active)
    m.o = pyo.Objective(expr=m.x + m.y + (30 * m.on if active == 0 else 30 * (1 - m.on)))
    assert Capability.INDICATOR in classify(m)
    r = solve(m, solver=name)
    assert r.objective == pytest.approx(-2)  # the row is held, for leaving it costs 30
    m.on.fix(1 - active)
    assert solve(m, solver=name).objective == pytest.approx(12)  # -18 + 30


@pytest.mark.skipif(not available("highs").ok, reason="HiGHS is not installed")
def test_what_highs_lacks_is_named(models):
    m = models.pair("Integers")
    m.o = pyo.Objective(expr=m.x**2 + m.y)
    with pytest.raises(UnsupportedProblemError, match=r"HiGHS cannot.*integer.*use scip"):
        solve(m, solver="highs")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_solvers_agree_on_random_integer_programs(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 5, 2)
    a = rng.integers(-4, 5, (rows, columns))
    b = rng.integers(-3, 9, rows)
    c = rng.integers(-9, 10, columns)
    points = np.array(list(itertools.product(range(3), repeat=int(columns))))
    feasible = points[np.all(points @ a.T <= b, axis=1)]
    best = min(feasible @ c) if len(feasible) else math.inf
    for name in installed(["highs", "scip", "cpsat"]):
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(columns), domain=pyo.Integers, bounds=(0, 2))
        m.rows = pyo.ConstraintList()
        for i in range(rows):
            m.rows.add(sum(int(a[i, j]) * m.x[j] for j in range(columns)) + 0 * m.x[0] <= int(b[i]))
        m.o = pyo.Objective(expr=sum(int(c[j]) * m.x[j] for j in range(columns)))
        r = solve(m, solver=name)
        if not len(feasible):
            assert r.status == Status.INFEASIBLE
        else:
            assert (r.status, r.objective) == (Status.OPTIMAL, pytest.approx(best))
            assert r.bound == pytest.approx(best)
