"""Linear and mixed-integer programs given as arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, milp

from groupcf.errors import DataError
from groupcf.solution import Status
from groupcf.solvers.highs import HighsLP, solve_matrix


def test_duals_are_the_slope_of_the_optimum():
    r = solve_matrix([3.0, 1.0], [[1.0, 2.0], [1.0, 0.0]], [4.0, -np.inf], [np.inf, 1.0])
    assert r.status == Status.OPTIMAL
    assert (r.objective, r.bound) == (pytest.approx(2.0), pytest.approx(2.0))
    assert r.duals == pytest.approx([0.5, 0.0])
    assert r.reduced_costs == pytest.approx([2.5, 0.0])


def test_an_active_upper_side_has_a_negative_dual():
    r = solve_matrix([-2.0], [[1.0]], -np.inf, 5.0)
    assert r.objective == pytest.approx(-10)
    assert r.duals == pytest.approx([-2.0])


@pytest.mark.parametrize("integer", [False, True])
def test_infeasible_and_unbounded_are_told_apart(integer):
    kind = [integer] * 2
    infeasible = solve_matrix([-1.0, 0.0], [[1.0, -1.0], [1.0, -1.0]], [2.0, -np.inf], [9.0, 1.0],
                              integrality=kind)  # fmt: skip
    assert infeasible.status == Status.INFEASIBLE
    unbounded = solve_matrix([-1.0, 0.0], [[1.0, -1.0]], -np.inf, 0.5, integrality=kind)
    assert unbounded.status == Status.UNBOUNDED
    assert infeasible.x is None
    assert unbounded.x is None


def test_no_columns():
    assert solve_matrix([], np.zeros((1, 0)), 1.0, np.inf).status == Status.INFEASIBLE
    empty = solve_matrix([], np.zeros((1, 0)), -1.0, np.inf, offset=3.0)
    assert (empty.status, empty.objective) == (Status.OPTIMAL, 3.0)
    assert empty.duals is not None
    assert empty.duals.tolist() == [0.0]


def test_time_limit_without_incumbent():
    rng = np.random.default_rng(0)  # market split: finding any point is the difficulty
    A = rng.integers(0, 100, (5, 40)).astype(float)
    b = A.sum(axis=1) // 2
    r = solve_matrix(np.zeros(40), A, b, b, 0, 1, integrality=np.ones(40), time_limit=0.2)
    assert r.status == Status.NO_INCUMBENT
    assert r.objective is None
    assert r.x is None


def test_time_limit_with_incumbent():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 100, (8, 60)).astype(float)
    c = -A.sum(axis=0) / 100
    b = A.sum(axis=1) // 2
    r = solve_matrix(c, A, -np.inf, b, 0, 1, integrality=np.ones(60), time_limit=0.3,
                     hint=np.zeros(60))  # fmt: skip
    assert r.status == Status.FEASIBLE
    assert r.bound < r.objective
    assert np.all(A @ r.x <= b + 1e-6)


def test_hint_may_be_partial():
    hint = np.array([1.0, np.nan])
    r = solve_matrix([1.0, 2.0], [[1.0, 1.0]], 2.0, np.inf, 0, 5, integrality=[1, 1], hint=hint)
    assert r.objective == pytest.approx(2.0)


def test_columns_rows_costs_and_bounds_change_in_place():
    lp = HighsLP(np.ones(3), np.eye(3), 1.0, np.inf)
    assert lp.solve().objective == pytest.approx(3)
    lp.add_columns([1.0], [[1.0], [1.0], [0.0]])
    assert lp.solve().objective == pytest.approx(2)
    lp.add_columns(np.ones(1), sparse.csc_matrix([[0.0], [1.0], [1.0]]))
    r = lp.solve()
    assert r.objective == pytest.approx(2)
    assert lp.shape == (3, 5)
    lp.set_costs([1.0, 1.0, 1.0, 0.5, 1.0])
    assert lp.solve().objective == pytest.approx(1.5)
    lp.add_rows([[0.0, 0.0, 0.0, 1.0, 0.0]], -np.inf, 0.0)
    assert lp.solve().objective == pytest.approx(2)
    lp.set_bounds(0.0, [1.0, 1.0, 1.0, 1.0, 0.0])
    assert lp.solve().objective == pytest.approx(3)
    lp.set_sides([3.0, 1.0, 1.0, -np.inf], np.inf)
    assert lp.solve().status == Status.INFEASIBLE


def test_a_time_limit_counts_for_one_call_only():
    lp = HighsLP([1.0], [[1.0]], 1.0, np.inf)
    for lower in range(1, 60):
        lp.set_sides(float(lower), np.inf)
        assert lp.solve(time_limit=5.0).status == Status.OPTIMAL


def test_threads_may_change_between_solves():
    for threads in (1, 2, 1):
        r = solve_matrix([1.0, 1.0], [[1.0, 2.0]], 3.0, np.inf, integrality=[1, 1], threads=threads)
        assert r.objective == pytest.approx(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[1.0, 2.0]], 0, 1), "c has shape"),
        (([1.0, np.nan], [[1.0, 2.0]], 0, 1), "c is NaN at position 1"),
        (([1.0, 1.0], [[1.0, np.nan]], 0, 1), "A is NaN"),
        (([1.0, 1.0], [[1.0, 1.0]], [0, 0], 1), "row_lower has shape"),
    ],
)
def test_bad_arrays_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        solve_matrix(*arguments)


def test_nothing_is_printed():
    code = (
        "from groupcf.solvers.highs import solve_matrix\n"
        "solve_matrix([1.0], [[1.0]], 1.0, 2.0, integrality=[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout + run.stderr == b""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_agrees_with_scipy(seed, integer):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6, 2)
    A = rng.integers(-5, 6, (m, n)) * (rng.random((m, n)) < 0.7)
    c = rng.integers(-5, 6, n).astype(float)
    upper = rng.integers(0, 10, m).astype(float)
    r = solve_matrix(c, A, -np.inf, upper, -3, 3, integrality=np.full(n, integer))
    if integer:
        peer = milp(c, constraints=(A, -np.inf, upper), bounds=(-3, 3), integrality=np.ones(n))
    else:
        peer = linprog(c, A_ub=A, b_ub=upper, bounds=(-3, 3))
    assert (r.status == Status.OPTIMAL) == peer.success
    if not peer.success:
        assert r.status == Status.INFEASIBLE
        return
    assert r.objective == pytest.approx(peer.fun, abs=1e-7)
    assert r.bound == pytest.approx(peer.fun, abs=1e-6)
    if not integer:
        assert r.reduced_costs == pytest.approx(c - A.T @ r.duals, abs=1e-7)
