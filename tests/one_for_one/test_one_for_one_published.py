"""One-for-one of a linear score against the numbers of the dissertation, chapter 2."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from groupcf.classifiers import Classifier, train
from groupcf.costs import Cost
from groupcf.datasets import load, train_test_rows
from groupcf.exact.feature_search import pareto_f_max, solve_one_for_one
from groupcf.formulations.one_for_one import solve_reference
from groupcf.problems import OneForOne, Problem
from groupcf.solution import Status
from groupcf.verify import verify

OUTLIERS = [141, 373, 374, 384, 385, 386, 387, 388, 398, 412, 414, 438, 489, 490]
"""Rows that the dissertation reports as left where they are (fig. 2.4)."""


def negatives(name):
    """All rows that the published logistic regression predicts negative."""
    data = load(name)
    rows, _ = train_test_rows(data, 0.33)
    classifier = Classifier(train("logistic", data.X[rows], data.y[rows]), data.space, 1)
    group = np.flatnonzero(~classifier.predict_wanted(data.X))
    return classifier, group, Problem(data.space, classifier.score, data.X[group], 0.0)


@pytest.fixture(scope="module")
def boston():
    return negatives("boston")


def check(problem, solution, classifier):
    assert solution.status is Status.OPTIMAL
    assert solution.gap == 0
    assert verify(problem, solution, classifier).failed == []


def test_boston_front_over_the_number_of_features(boston):
    classifier, group, problem = boston
    assert len(group) == 286
    front = pareto_f_max(problem, range(1, 14))
    assert front[1].status is Status.INFEASIBLE
    assert front[1].details["least_f_max"] == 2
    assert front[2].objective == pytest.approx(37.1479, abs=5e-5)
    assert set(front[2].details["features"]) == {"LSTAT", "RM"}
    assert front[13].objective == pytest.approx(27.0757, abs=5e-5)
    for f_max in range(2, 14):
        limited = replace(problem, allocation=OneForOne(f_max=f_max))
        check(limited, front[f_max], classifier)


@pytest.mark.parametrize(("lam_glob", "value"), [(0.1, 20.7799), (10.0, 47.3204)])
def test_boston_outliers_of_a_soft_group(boston, lam_glob, value):
    classifier, group, problem = boston
    soft = replace(
        problem,
        allocation=OneForOne(s_star=math.ceil(0.95 * len(group))),
        cost=Cost(lam_glob=lam_glob),
    )
    solution = solve_one_for_one(soft)
    check(soft, solution, classifier)
    assert solution.objective == pytest.approx(value, abs=5e-5)
    assert group[solution.details["outliers"]].tolist() == OUTLIERS


def test_both_routes_agree_on_the_ten_published_instances(boston):
    classifier, _, problem = boston
    data = load("boston")
    rows = [9, 49, 60, 154, 312, 373, 386, 398, 426, 496]
    joint = replace(problem, instances=data.X[rows], cost=Cost(lam_glob=0.2))
    exact, reference = solve_one_for_one(joint), solve_reference(joint)
    check(joint, exact, classifier)
    assert reference.status is Status.OPTIMAL
    assert reference.objective == pytest.approx(exact.objective, rel=1e-6)
    assert verify(joint, reference, classifier).failed == []
    assert reference.details["features"] == exact.details["features"]


def test_compas_needs_age_group_and_priors():
    classifier, _, problem = negatives("compas")
    front = pareto_f_max(problem, range(1, 6))
    assert front[1].status is Status.INFEASIBLE
    assert front[2].details["features"] == ["AgeGroup", "PriorsCount"]
    for f_max in range(2, 6):
        check(replace(problem, allocation=OneForOne(f_max=f_max)), front[f_max], classifier)
        # as published: these two are all that is ever changed
        assert front[f_max].objective == pytest.approx(front[2].objective, rel=1e-9)


def test_credit_front_uses_at_most_five_features():
    classifier, group, problem = negatives("credit")
    assert len(group) > 2800
    front = pareto_f_max(problem, [1, 5, 14])
    for f_max, solution in front.items():
        check(replace(problem, allocation=OneForOne(f_max=f_max)), solution, classifier)
    assert len(front[14].details["features"]) == 5
    assert front[5].objective == pytest.approx(front[14].objective, rel=1e-9)
    assert front[1].objective > 2 * front[5].objective


@pytest.mark.mirror
def test_students_need_six_features(mirror):
    classifier, _, problem = negatives("students")
    front = pareto_f_max(problem, [5, 6, 30])
    assert front[5].status is Status.INFEASIBLE
    assert front[5].details["least_f_max"] == 6
    assert len(front[30].details["features"]) <= 14
    for f_max in (6, 30):
        check(replace(problem, allocation=OneForOne(f_max=f_max)), front[f_max], classifier)
