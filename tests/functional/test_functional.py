"""Counterfactual curves: exactness, re-check, typed errors, warping."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupcf.errors import ConfigError, DataError, UnsupportedProblemError
from groupcf.functional import (
    FunctionalProblem,
    classify_curves,
    dtw_cost,
    solve_dtw,
    solve_euclidean,
    verify_curves,
)
from groupcf.functional.reference import solve_functional_reference
from groupcf.solution import Status

QUICK = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def data(seed, n=40, J=1, T=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, J, T)).cumsum(axis=2) + 0.8 * y[:, None, None]
    return X, y


def forest(X, y, vote="soft", trees=15, depth=3, seed=0):
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(trees, max_depth=depth, random_state=seed, n_jobs=1)
    model.fit(X.reshape(len(X), -1), y)
    return classify_curves(model, X, positive=1, vote=vote)


def rejected(classifier, X):
    rows = np.flatnonzero(~classifier.predict_wanted(X))
    return X[rows[0]] if len(rows) else None


def nearest_on_grid(problem, steps=400):
    """Best cost over a fine grid of the segment to each prototype, one feature only."""
    best = np.inf
    for p in problem.prototypes:
        for a in np.linspace(0, 1, steps):
            x = problem.x0 + a * (p - problem.x0)
            if problem.score.decision(x.reshape(1, -1))[0] >= problem.target:
                best = min(best, problem.lam2 * problem.dt * ((x - problem.x0) ** 2).sum())
                break
    return best


@QUICK
@given(seed=st.integers(0, 10_000), vote=st.sampled_from(["soft", "hard"]))
def test_one_prototype_is_the_first_accepted_point_of_a_segment(seed, vote):
    X, y = data(seed)
    classifier = forest(X, y, vote)
    x0 = rejected(classifier, X)
    if x0 is None or not classifier.predict_wanted(X).any():
        return
    problem = FunctionalProblem.of(classifier, x0, X)
    solution = solve_euclidean(problem)
    assert solution.status is Status.OPTIMAL
    assert verify_curves(problem, solution, classifier).ok
    steps = 400
    grid = nearest_on_grid(problem, steps)
    assert solution.objective <= grid * (1 + 1e-9)
    # the grid is coarse by one step of the longest segment at most
    longest = np.sqrt(((problem.prototypes - x0) ** 2).sum(axis=(1, 2)).max())
    assert np.sqrt(grid) <= np.sqrt(solution.objective) + longest / (steps - 1)


@QUICK
@given(seed=st.integers(0, 10_000), b_max=st.integers(1, 3))
def test_bound_and_value_agree_with_the_reference(seed, b_max):
    X, y = data(seed, n=14, T=4)
    classifier = forest(X, y, trees=5, depth=2)
    x0 = rejected(classifier, X)
    if x0 is None or not classifier.predict_wanted(X).any():
        return
    problem = FunctionalProblem.of(classifier, x0, X, b_max=b_max)
    solution = solve_euclidean(problem)
    reference = solve_functional_reference(problem, time_limit=20)
    assert solution.status is Status.OPTIMAL
    assert verify_curves(problem, solution, classifier).ok
    if reference.status is Status.OPTIMAL:  # SCIP may die or stop, and then proves nothing
        assert solution.objective == pytest.approx(reference.objective, rel=1e-3, abs=1e-5)
        assert solution.bound <= reference.objective + 1e-6
    elif reference.bound is not None:
        assert solution.objective >= reference.bound - 1e-5


@QUICK
@given(seed=st.integers(0, 10_000), b_max=st.integers(1, 2), lam0=st.sampled_from([0.0, 0.5, 3.0]))
def test_several_features_agree_with_the_reference(seed, b_max, lam0):
    X, y = data(seed, n=12, J=3, T=3)
    classifier = forest(X, y, trees=5, depth=2)
    x0 = rejected(classifier, X)
    if x0 is None or not classifier.predict_wanted(X).any():
        return
    problem = FunctionalProblem.of(classifier, x0, X, b_max=b_max, lam0=lam0, lam2=0.5)
    solution = solve_euclidean(problem)
    reference = solve_functional_reference(problem, time_limit=20)
    assert solution.status is Status.OPTIMAL
    assert verify_curves(problem, solution, classifier).ok
    if reference.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(reference.objective, rel=1e-3, abs=1e-5)


def test_more_prototypes_never_cost_more():
    X, y = data(3, n=60, T=8)
    classifier = forest(X, y, trees=30, depth=4)
    x0 = rejected(classifier, X)
    last, start = np.inf, None
    for b_max in (1, 2, 3):
        problem = FunctionalProblem.of(classifier, x0, X, b_max=b_max)
        start = solve_euclidean(problem, start=start)
        assert start.objective <= last * (1 + 1e-6)
        assert len(start.used) <= b_max
        last = start.objective


def test_pairs_one_by_one_are_never_better():
    X, y = data(11, n=24, T=5)
    classifier = forest(X, y)
    x0 = rejected(classifier, X)
    problem = FunctionalProblem.of(classifier, x0, X, b_max=2)
    best = solve_euclidean(problem)
    alone = []
    for pair in combinations(range(len(problem.prototypes)), 2):
        part = replace(problem, prototypes=problem.prototypes[list(pair)])
        answer = solve_euclidean(part)
        if answer.objective is not None:
            alone.append(answer.objective)
    assert best.objective == pytest.approx(min(alone), rel=1e-6)


def test_linear_score_of_one_feature():
    from sklearn.linear_model import LogisticRegression

    X, y = data(5)
    model = LogisticRegression().fit(X.reshape(len(X), -1), y)
    classifier = classify_curves(model, X, positive=1)
    x0 = rejected(classifier, X)
    problem = FunctionalProblem.of(classifier, x0, X)
    solution = solve_euclidean(problem)
    assert solution.status is Status.OPTIMAL
    assert verify_curves(problem, solution, classifier).ok
    w = problem.score.weights
    need = problem.target - problem.score.decision(x0.reshape(1, -1))[0]
    d = (problem.prototypes - x0).reshape(len(problem.prototypes), -1)
    a = need / (d @ w)
    cost = np.where((a > 0) & (a <= 1), a**2 * (d**2).sum(axis=1), np.inf)
    assert solution.objective == pytest.approx(cost.min(), rel=1e-5)


def test_xgboost_score():
    from xgboost import XGBClassifier

    X, y = data(8, n=60, J=2)
    model = XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1).fit(X.reshape(len(X), -1), y)
    classifier = classify_curves(model, X, positive=1)
    x0 = rejected(classifier, X)
    problem = FunctionalProblem.of(classifier, x0, X, lam0=0.2, b_max=2)
    solution = solve_euclidean(problem)
    assert solution.status is Status.OPTIMAL
    assert verify_curves(problem, solution, classifier).ok


def test_warping_never_rises_and_never_costs_more_than_the_euclidean_answer():
    X, y = data(2, n=50, J=2, T=10)
    classifier = forest(X, y)
    x0 = rejected(classifier, X)
    for window in (None, 2):
        problem = FunctionalProblem.of(classifier, x0, X, b_max=2)
        euclidean = solve_euclidean(problem)
        warped = solve_dtw(problem, window=window, euclidean=euclidean)
        costs = warped.details["costs"]
        assert all(b < a for a, b in pairwise(costs))
        assert warped.objective <= dtw_cost(problem, euclidean.weights, window=window)
        assert dtw_cost(problem, euclidean.weights, window=window) <= euclidean.objective + 1e-9
        assert verify_curves(problem, warped, classifier, dtw=True, window=window).ok


def test_the_judge_is_tslearn():
    from tslearn.metrics import dtw

    X, y = data(4, J=2)
    classifier = forest(X, y)
    problem = FunctionalProblem.of(classifier, rejected(classifier, X), X, lam2=2.0)
    a = np.zeros((2, len(problem.prototypes)))
    a[:, 0] = 0.7
    expected = 2.0 * dtw(problem.combine(a).T, problem.x0.T) ** 2
    assert dtw_cost(problem, a) == pytest.approx(expected)


def test_a_wrong_curve_does_not_pass():
    X, y = data(6)
    classifier = forest(X, y)
    problem = FunctionalProblem.of(classifier, rejected(classifier, X), X)
    good = solve_euclidean(problem)
    for wrong in (
        replace(good, curve=good.curve + 1e-6),
        replace(good, curve=problem.x0, weights=np.zeros_like(good.weights), objective=0.0),
        replace(good, objective=good.objective * 0.9),
        replace(good, bound=good.objective * 1.1),
    ):
        assert not verify_curves(problem, wrong, classifier).ok


def test_an_accepted_curve_stays():
    X, y = data(6)
    classifier = forest(X, y)
    problem = FunctionalProblem.of(classifier, X[classifier.predict_wanted(X)][0], X)
    solution = solve_euclidean(problem)
    assert solution.objective == 0
    assert solution.used == ()


def test_the_bound_holds_when_time_is_over():
    X, y = data(1, n=200, T=12)
    classifier = forest(X, y, trees=60, depth=4)
    problem = FunctionalProblem.of(classifier, rejected(classifier, X), X, b_max=3)
    solution = solve_euclidean(problem, time_limit=0.5)
    assert solution.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert solution.bound <= solution.objective
    assert verify_curves(problem, solution, classifier).ok


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        ([[1.0, 2.0], [1.0]], "unequal length"),
        (np.full((3, 1, 4), np.nan), "missing"),
        (np.zeros((0, 1, 4)), "shape"),
    ],
)
def test_bad_curves_are_named(curves, words):
    X, y = data(0)
    with pytest.raises(DataError, match=words):
        classify_curves(forest(X, y).classifier.estimator, curves, positive=1)


def test_bad_arguments_are_named():
    X, y = data(0)
    classifier = forest(X, y)
    x0 = rejected(classifier, X)
    problem = FunctionalProblem.of(classifier, x0, X)
    for key, value in (("b_max", 0), ("lam0", -1.0), ("lam2", 0.0), ("dt", np.nan)):
        with pytest.raises(ConfigError, match=key):
            replace(problem, **{key: value})
    with pytest.raises(DataError, match="length"):
        replace(problem, x0=np.zeros((1, 9)))
    with pytest.raises(DataError, match="values"):
        replace(problem, x0=np.zeros((2, 6)), prototypes=np.zeros((1, 2, 6)))
    with pytest.raises(DataError, match="none of the"):
        FunctionalProblem.of(classifier, x0, X[~classifier.predict_wanted(X)])
    with pytest.raises(UnsupportedProblemError):
        replace(problem, score=object())
    with pytest.raises(ConfigError, match="time_limit"):
        solve_euclidean(problem, time_limit=-1)


def test_no_combination_is_infeasible():
    X, y = data(7)
    classifier = forest(X, y)
    x0 = rejected(classifier, X)
    problem = FunctionalProblem.of(classifier, x0, X)
    solution = solve_euclidean(replace(problem, threshold=2.0))
    assert solution.status is Status.INFEASIBLE
    assert "No convex combination" in solution.message
