"""The published cells of the column generation study, proven and checked."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from groupcf.classifiers import Classifier, train
from groupcf.datasets import load, train_test_rows
from groupcf.problems import OneForMany, Problem
from groupcf.router import solve
from groupcf.solution import Status
from groupcf.verify import verify

GERMAN = {5: (9, 19, 38, 63), 10: (4, 8, 14, 23), 15: (2, 4, 5, 7)}
STUDENTS = {10: (7, 10, 22, 39), 15: (4, 5, 9, 15), 20: (2, 2, 3, 3)}
COMPAS = {2: (4, 6, 9, 9), 3: (2, 3, 4, 4)}
PUBLISHED = {
    ("german_binned", 5): (9, 19, 38, 90),
    ("german_binned", 10): (4, 8, 15, 58),
    ("german_binned", 15): (2, 4, 6, 11),
    ("students_binned", 10): (7, 10, 33, 77),
    ("students_binned", 15): (4, 5, 12, 43),
    ("students_binned", 20): (2, 2, 3, 4),
}
SIZES = (10, 20, 50, 100)


@cache
def fitted(dataset, name="logistic"):
    data = load(dataset)
    fit, held = train_test_rows(data, 0.5)
    estimator = train(name, data.X[fit], (data.y[fit] == 1).astype(int))
    return data, Classifier(estimator, data.space, 1), held


def cell(dataset, limit, size, name="logistic"):
    data, classifier, held = fitted(dataset, name)
    threshold = classifier.score.link.threshold(0.5)
    allocation = OneForMany(max_changed=limit)
    return (
        Problem(data.space, classifier.score, data.X[held[:size]], threshold, allocation),
        classifier,
    )


def proven(dataset, limit, size, name="logistic"):
    problem, classifier = cell(dataset, limit, size, name)
    solution = solve(problem)
    checked = verify(problem, solution, classifier)
    assert checked.ok, checked.failed
    assert solution.status is Status.OPTIMAL
    assert solution.method == "pattern pricing with proof"
    return solution.objective


@pytest.mark.parametrize("limit", GERMAN)
def test_german_cells(limit):
    found = tuple(proven("german_binned", limit, size) for size in SIZES)
    assert found == GERMAN[limit]
    assert all(a <= b for a, b in zip(found, PUBLISHED["german_binned", limit], strict=True))


@pytest.mark.parametrize("limit", COMPAS)
def test_compas_cells(limit):
    assert tuple(proven("compas_binned", limit, size) for size in SIZES) == COMPAS[limit]


@pytest.mark.mirror
@pytest.mark.parametrize("limit", STUDENTS)
def test_students_cells(limit, mirror):
    found = tuple(proven("students_binned", limit, size) for size in SIZES)
    assert found == STUDENTS[limit]
    assert all(a <= b for a, b in zip(found, PUBLISHED["students_binned", limit], strict=True))


@pytest.mark.parametrize("name", ["network", "random_forest", "xgboost"])
def test_other_classifiers_are_proven_and_agree_with_their_own_estimator(name):
    for limit in (5, 15):
        assert proven("german_binned", limit, 50, name) >= 2


@pytest.mark.parametrize("limit", COMPAS)
def test_all_negatives_of_compas_are_proven(limit):
    data, classifier, _ = fitted("compas_binned")
    rows = np.flatnonzero(~classifier.predict_wanted(data.X))
    assert len(rows) > 2500
    problem = Problem(
        data.space, classifier.score, data.X[rows], 0.0, OneForMany(max_changed=limit)
    )
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert verify(problem, solution, classifier).ok
    assert solution.details["distinct"] < 100  # equal instances are one row


def test_the_limits_of_the_limit():
    data, classifier, held = fitted("german_binned")
    rows = data.X[held[:30]]
    rejected = ~classifier.predict_wanted(rows)
    nothing, _ = cell("german_binned", 0, 30)
    solution = solve(nothing)
    # without a change only accepted instances are served, each distinct one by itself
    assert solution.details["unreachable"] == np.flatnonzero(rejected).tolist()
    assert solution.objective == len(np.unique(rows[~rejected], axis=0))
    assert all(k >= 1 for k in solution.details["least_max_changed"])
    assert "raise max_changed" in solution.message
    everything, _ = cell("german_binned", data.space.n_features, 30)
    assert solve(everything).objective == 1.0
    for least, s in zip(
        solution.details["least_max_changed"], solution.details["unreachable"], strict=True
    ):
        one = Problem(data.space, classifier.score, rows[[s]], 0.0, OneForMany(max_changed=least))
        assert solve(one).objective == 1.0
        less = Problem(
            data.space, classifier.score, rows[[s]], 0.0, OneForMany(max_changed=least - 1)
        )
        assert solve(less).status is Status.INFEASIBLE


def test_a_limit_too_short_still_answers_with_a_valid_bound():
    problem, classifier = cell("german_binned", 10, 100)
    solution = solve(problem, time_limit=0.3)
    assert solution.status is Status.FEASIBLE
    assert solution.bound <= 23 <= solution.objective
    assert verify(problem, solution, classifier).ok
    assert "not proven" in solution.message
