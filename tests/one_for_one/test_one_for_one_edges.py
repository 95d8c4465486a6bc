"""One-for-one of a linear score: outcomes, limits, messages, repair of solver tolerances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupcf.classifiers.scores import LinearScore, Link
from groupcf.costs import Cost
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.feature_search import pareto_f_max, solve_one_for_one
from groupcf.exact.projection import GroupProjection, OutOfTime
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.formulations.one_for_one import build, extract, solve_reference
from groupcf.problems import OneForMany, OneForOne, Problem
from groupcf.solution import Status


def unit(name, **options):
    return Feature(name, Kind.NUMERICAL, 0, 1, **options)


SPACE = FeatureSpace((unit("x"), unit("y"), unit("z")))
SCORE = LinearScore(np.array([1.0, 2.0, 0.5]), -2.0)
ROWS = np.array([[0.1, 0.2, 0.3], [0.6, 0.1, 0.2], [0.9, 0.9, 0.9], [0.0, 0.0, 0.0]])
PROBLEM = Problem(SPACE, SCORE, ROWS, 0.0)


def wide(seed=1, n=18, s=40):
    """A joint problem that takes more than a handful of nodes."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace(tuple(unit(f"x{j}") for j in range(n)))
    w = rng.normal(size=n)
    X = rng.random((4 * s, n))
    score = LinearScore(w, -float(np.quantile(X @ w, 0.7)))
    return Problem(
        space, score, X[score.decision(X) < 0][:s], 0.0, OneForOne(f_max=6), Cost(lam_glob=0.05)
    )


def test_projection_on_a_half_space_in_closed_form():
    problem = Problem(SPACE, SCORE, ROWS[:1], 0.0)
    solution = solve_one_for_one(problem)
    short = problem.target - SCORE.decision(ROWS[:1])[0]
    expected = ROWS[0] + short * SCORE.weights / (SCORE.weights @ SCORE.weights)
    assert solution.counterfactuals[0] == pytest.approx(expected, rel=1e-12)
    assert solution.objective == pytest.approx(short**2 / (SCORE.weights @ SCORE.weights))


def test_feature_weights_steer_the_change():
    heavy = replace(PROBLEM, space=SPACE.with_feature("y", weight=1e6))
    assert solve_one_for_one(PROBLEM).counterfactuals[0, 1] > 0.5
    assert solve_one_for_one(heavy).counterfactuals[3, 1] < 0.3


def test_instances_on_the_wanted_side_cost_nothing_and_stay():
    solution = solve_one_for_one(replace(PROBLEM, instances=ROWS[2:3], cost=Cost(lam_ind=1.0)))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0
    assert solution.assignment.tolist() == [0]
    assert (solution.counterfactuals == ROWS[2]).all()
    assert solution.details["features"] == []


@pytest.mark.parametrize("solve", [solve_one_for_one, solve_reference])
def test_nobody_has_to_flip(solve):
    solution = solve(replace(PROBLEM, allocation=OneForOne(s_star=0)))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0


def test_soft_group_leaves_the_dearest():
    solution = solve_one_for_one(replace(PROBLEM, allocation=OneForOne(s_star=3)))
    assert solution.assignment.tolist() == [0, 1, 2, -1]
    assert solution.details["outliers"] == [3]
    assert (solution.counterfactuals[3] == ROWS[3]).all()


def test_frozen_features_make_it_infeasible_and_the_rows_are_named():
    space = SPACE.with_feature("y", actionable=False)
    problem = Problem(space, SCORE, ROWS, 0.0)
    solution = solve_one_for_one(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.bound is None
    assert solution.details["unreachable_rows"] == [0, 1, 3]
    assert solution.details["best_scores"] == pytest.approx([-0.1, -0.3, -0.5])
    assert "row 0 (at best -0.1)" in solution.message
    assert "row 3 (at best -0.5)" in solution.message
    assert "lower nu or s_star" in solution.message
    assert solve_reference(problem).status is Status.INFEASIBLE
    reachable = replace(problem, allocation=OneForOne(s_star=1))
    assert solve_one_for_one(reachable).objective == 0


def test_too_few_changes_per_instance():
    solution = solve_one_for_one(replace(PROBLEM, allocation=OneForOne(max_changed=1)))
    assert solution.status is Status.INFEASIBLE
    assert "with 1 changed features each" in solution.message
    assert solution.details["unreachable_rows"] == [3]


def test_too_small_f_max_tells_the_least_that_works():
    solution = solve_one_for_one(replace(PROBLEM, allocation=OneForOne(f_max=1)))
    assert solution.status is Status.INFEASIBLE
    assert solution.details["least_f_max"] == 2
    assert "f_max = 1 is too small" in solution.message
    assert "the least f_max that works is 2" in solution.message


def test_two_runs_give_the_same_arrays():
    problem = wide()
    a, b = solve_one_for_one(problem), solve_one_for_one(problem)
    assert (a.counterfactuals == b.counterfactuals).all()
    assert a.details == b.details
    assert a.bound == b.bound


def test_progress_is_monotone_and_ends_at_the_answer():
    seen = []
    solution = solve_one_for_one(wide(), on_progress=seen.append)
    assert tuple(seen) == solution.history
    incumbents = [p.incumbent for p in seen if p.incumbent is not None]
    bounds = [p.bound for p in seen if p.bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    assert incumbents[-1] == pytest.approx(solution.objective)
    assert bounds[-1] == pytest.approx(solution.objective)


@pytest.mark.parametrize(("calls", "found"), [(0, False), (1, False), (300, True), (800, True)])
def test_out_of_time_keeps_a_valid_bound(calls, found, monkeypatch):
    problem = wide()
    best = solve_one_for_one(problem).objective
    project, left = GroupProjection.project, [calls]

    def expiring(self, rows, features, **options):
        left[0] -= 1
        if left[0] == -1:
            raise OutOfTime
        return project(self, rows, features, **options)

    monkeypatch.setattr(GroupProjection, "project", expiring)
    solution = solve_one_for_one(problem)
    assert left[0] <= -1
    assert solution.bound <= best + 1e-9
    if found:
        assert solution.status is Status.FEASIBLE
        assert solution.objective >= best - 1e-9
        assert solution.gap > 0
    else:
        assert solution.status is Status.NO_INCUMBENT
    assert "time limit" in solution.message


def test_a_running_projection_can_be_stopped():
    projection = GroupProjection(PROBLEM)
    everything = np.ones(3, dtype=bool)
    with projection.deadline(60):
        projection._stop[0] = 1
        with pytest.raises(OutOfTime):
            projection.project(np.arange(4), everything)
    assert np.isfinite(projection.project(np.arange(4), everything).cost).all()


def test_many_alike_features_of_equal_cost_need_no_enumeration():
    rng = np.random.default_rng(5)
    n = 40
    space = FeatureSpace(tuple(Feature(f"b{j}", Kind.BINARY, categories=(0, 1)) for j in range(n)))
    w = rng.uniform(0.9, 1.1, n)
    problem = Problem(space, LinearScore(w, 0.0), np.zeros((3, n)), 13.7, cost=Cost(lam_ind=0.5))
    found = GroupProjection(problem).project(np.arange(3), np.ones(n, dtype=bool))
    fewest = int(np.argmax(np.cumsum(-np.sort(-w)) >= problem.target)) + 1
    assert found.cost == pytest.approx(1.5 * fewest)
    assert found.nodes < 1000


def test_limited_effort_gives_a_lower_bound():
    problem = replace(wide(), allocation=OneForOne(max_changed=3), cost=Cost(lam_ind=0.02))
    projection = GroupProjection(problem)
    rows, everything = np.arange(problem.n_instances), np.ones(18, dtype=bool)
    exact = projection.project(rows, everything)
    assert exact.nodes > 10 * len(rows)
    previous = np.zeros(len(rows))
    for effort in (1, 3, 10, 30, 10**9):
        bound = projection.project(rows, everything, effort=effort).cost
        assert (bound <= exact.cost * (1 + 1e-12)).all()
        assert (bound >= previous * (1 - 1e-12)).all()
        previous = bound
    assert previous == pytest.approx(exact.cost)


def test_front_ends_where_more_features_do_not_help():
    problem = replace(wide(), allocation=OneForOne(), cost=Cost())
    front = pareto_f_max(problem, range(problem.space.n_features + 1))
    values = [s.objective for s in front.values() if s.objective is not None]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(solve_one_for_one(problem).objective)
    assert all(s.gap == 0 for s in front.values() if s.objective is not None)


def test_other_problems_are_refused_by_name():
    class Parabola:
        link, n_columns = Link.NONE, 3

        def decision(self, X):
            return (np.atleast_2d(X) ** 2).sum(axis=1) - 2.0

    for solve in (solve_one_for_one, solve_reference):
        with pytest.raises(UnsupportedProblemError, match="linear score"):
            solve(Problem(SPACE, Parabola(), ROWS, 0.0))
        with pytest.raises(UnsupportedProblemError, match="OneForOne"):
            solve(replace(PROBLEM, allocation=OneForMany()))


def test_highs_is_refused_for_squares_with_binaries():
    with pytest.raises(UnsupportedProblemError, match="quadratic objective with integer"):
        solve_reference(replace(PROBLEM, cost=Cost(lam_ind=0.1)), solver="highs")


# -- solver tolerances ---------------------------------------------------------------------


def test_extract_drops_what_binaries_rule_out_and_makes_up_the_score():
    problem = Problem(SPACE, SCORE, ROWS[:1], 0.0, cost=Cost(lam_ind=0.1))
    model = build(problem)
    exact = solve_one_for_one(replace(problem, allocation=OneForOne(max_changed=1)))
    move = exact.counterfactuals[0] - ROWS[0]
    assert (np.flatnonzero(move) == [1]).all()
    for j in range(3):
        model.xi[0, j].set_value(float(move[j] != 0) * (1 - 1e-7) + 1e-7)
        model.u[0, j].set_value(move[j] - 1e-7 if move[j] else 1e-7)
    X, assignment = extract(model, problem)
    assert assignment.tolist() == [0]
    assert X[0] == pytest.approx(exact.counterfactuals[0], rel=1e-12)
    assert SCORE.decision(X)[0] >= problem.target - 1e-15


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_an_option_within_a_solvers_tolerance_of_the_score_is_not_taken(solver):
    space = FeatureSpace(
        (
            Feature("cheap", Kind.BINARY, categories=("no", "yes")),
            Feature("dear", Kind.BINARY, categories=("no", "yes"), weight=5.0),
        )
    )
    problem = Problem(space, LinearScore(np.array([1.0, 2.0]), 0.0), np.zeros((1, 2)), 1 + 1e-7)
    for solution in (solve_one_for_one(problem), solve_reference(problem, solver=solver)):
        assert solution.status is Status.OPTIMAL
        assert solution.objective == 5.0
        assert solution.details["features"] == ["dear"]
