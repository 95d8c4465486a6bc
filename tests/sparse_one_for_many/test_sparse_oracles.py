"""Sparse one-for-many against plain enumeration, and its methods against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcf.exact.sparse_one_for_many import solve_sparse
from groupcf.solution import Status

KINDS = ("linear", "network", "trees")
SEEDS = st.integers(0, 2**32 - 1)


def check(problem, truth, solution):
    """Check everything a solution claims, from its points alone."""
    if not truth.reachable.any():
        assert solution.status is Status.INFEASIBLE
        assert solution.counterfactuals is None
    else:
        X, assignment = solution.counterfactuals, solution.assignment
        assert solution.objective == len(X) >= truth.optimum >= solution.bound
        assert ((assignment >= 0) == truth.reachable).all()
        assert (problem.score.decision(X) >= problem.target).all()
        total = 0
        for r, facts in enumerate(solution.details["clusters"]):
            rows = problem.instances[assignment == r]
            copies = np.tile(X[r], (len(rows), 1))
            assert len(rows) == facts["size"] > 0
            assert problem.space.violations(rows, copies) == []
            changed = problem.space.changed(rows, copies)
            names = np.array(problem.space.names)[changed.any(axis=0)]
            assert names.tolist() == facts["features"]
            assert len(names) <= problem.allocation.max_changed
            assert facts["changes"] == changed.sum()
            total += changed.sum()
        assert solution.details["changes"] == total
        bounds = [moment.bound for moment in solution.history]
        values = [moment.incumbent for moment in solution.history]
        assert bounds == sorted(bounds)
        assert max(bounds) <= truth.optimum + 1e-6
        assert min(v for v in values if v is not None) == solution.objective
    out = np.flatnonzero(~truth.reachable).tolist()
    assert solution.details["unreachable"] == out
    assert solution.details["least_max_changed"] == [truth.least[s] for s in out]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_exact_is_the_optimum_by_enumeration(kind, small, seed):
    make, enumerated = small
    problem = make(seed, kind)
    truth = enumerated(problem)
    solution = solve_sparse(problem)
    check(problem, truth, solution)
    if truth.reachable.any():
        assert solution.status is Status.OPTIMAL
        assert solution.objective == solution.bound == truth.optimum


@pytest.mark.parametrize("method", ["pattern", "mip_pricing", "milp"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_other_methods_agree_with_enumeration(method, kind, small, seed):
    make, enumerated = small
    problem = make(seed, kind)
    truth = enumerated(problem)
    solution = solve_sparse(problem, method=method, solver="highs")
    check(problem, truth, solution)
    if method == "milp" and truth.reachable.any():
        assert solution.status is Status.OPTIMAL
        assert solution.objective == truth.optimum


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_both_pricings_end_at_the_same_linear_bound(small, seed):
    make, _ = small
    problem = make(seed, "linear", n_features=4)
    values = [
        solve_sparse(problem, method=method).details.get("lp_value")
        for method in ("pattern", "mip_pricing")
    ]
    if None not in values:  # without a gap the incumbent can end a method early
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_one_shared_counterfactual_changes_as_little_as_possible(small, all_points):
    make, _ = small
    compared = 0
    for seed in range(120):
        problem = make(seed, KINDS[seed % 3])
        solution = solve_sparse(problem)
        if solution.objective != 1.0 or solution.details["unreachable"]:
            continue
        X0, space = problem.instances, problem.space
        least = None
        points = all_points(space)
        for x in points[problem.score.decision(points) >= problem.target]:
            copies = np.tile(x, (len(X0), 1))
            changed = space.changed(X0, copies)
            if changed.any(axis=0).sum() > problem.allocation.max_changed:
                continue
            if space.violations(X0, copies) == []:
                total = int(changed.sum())
                least = total if least is None else min(least, total)
        assert solution.details["changes"] == least
        compared += 1
    assert compared > 20
