"""Gurobi with whatever licence is there."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

gurobipy = pytest.importorskip("gurobipy")

from groupcf.solution import Status  # noqa: E402
from groupcf.solvers import available, gurobi, solve  # noqa: E402


def test_a_model_beyond_the_licence_is_a_status(models):
    if "2000" not in available("gurobi").licence:
        pytest.skip("a full licence is installed")
    for apart in (False, True):
        r = solve(models.market_split(2, 2001), solver="gurobi", isolate=apart)
        assert r.status == Status.LICENCE_MISSING
        assert "GRB_LICENSE_FILE" in r.message
        assert r.objective is None


def test_quadratic_terms_beyond_the_licence_are_a_status():
    if "2000" not in available("gurobi").licence:
        pytest.skip("a full licence is installed")
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(400), bounds=(-1, 1))
    m.o = pyo.Objective(expr=sum(v for v in m.x.values()))
    m.c = pyo.Constraint(expr=sum(v**2 for v in m.x.values()) <= 4)
    r = solve(m, solver="gurobi")
    assert r.status == Status.LICENCE_MISSING
    assert "quadratic" in r.message


@pytest.mark.parametrize("number", [10009, 10031])
def test_no_licence_at_all(monkeypatch, models, number):
    class Refusing:
        def __init__(self, *args, **kwargs):
            raise gurobipy.GurobiError(number, "expired")

    monkeypatch.setattr(gurobipy, "Env", Refusing)
    licence, problem = gurobi._probe.__wrapped__()
    assert licence == "none"
    assert "GRB_LICENSE_FILE" in problem
    r = solve(models.knapsack(), solver="gurobi", isolate=False)
    assert r.status == Status.LICENCE_MISSING
    assert "expired" in r.message
