"""The verifier must catch every way in which a solution can be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupcf.classifiers.scores import LinearScore
from groupcf.costs import Cost
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.problems import OneForOne, Problem
from groupcf.solution import Solution, Status
from groupcf.verify import verify

SPACE = FeatureSpace(
    (
        Feature("x", Kind.NUMERICAL),
        Feature("y", Kind.NUMERICAL),
        Feature("z", Kind.NUMERICAL, actionable=False),
    )
)
SCORE = LinearScore(np.array([1.0, 1.0, 0.0]), -1.0)
X0 = np.array([[0.2, 0.2, 0.5], [0.5, 0.1, 0.5], [0.1, 0.1, 0.5]])
GOOD = np.array([[0.8, 0.2 + 1e-6, 0.5], [0.9 + 1e-6, 0.1, 0.5]])


class Original:
    """Stands for the fitted estimator behind SCORE."""

    def probability(self, X):
        return 1 / (1 + np.exp(-SCORE.decision(X)))

    def decision_original(self, X):
        return SCORE.decision(X)


def problem(**allocation) -> Problem:
    return Problem(
        SPACE, SCORE, X0, 0.0, OneForOne(**({"s_star": 2} | allocation)), Cost(lam_glob=0.1)
    )


def solution(**changes) -> Solution:
    X = X0.copy()
    X[:2] = GOOD
    value = Cost(lam_glob=0.1).total(SPACE, X0, X)
    base = Solution(
        status=Status.OPTIMAL,
        objective=value,
        bound=value,
        counterfactuals=GOOD,
        assignment=np.array([0, 1, -1]),
    )
    return replace(base, **changes)


def failed(p: Problem, s: Solution) -> list[str]:
    return [c.name for c in verify(p, s, Original()).failed]


def test_a_correct_solution_passes():
    assert failed(problem(), solution()) == []


def test_too_low_a_probability_is_caught():
    low = GOOD - np.array([0.1, 0, 0])
    assert "original classifier accepts" in failed(problem(), solution(counterfactuals=low))


def test_exactly_one_half_is_accepted_and_just_below_is_not():
    class Borderline(Original):
        def __init__(self, p):
            self.p = p

        def probability(self, X):
            return np.full(len(X), self.p)

    name = "original classifier accepts"
    at = verify(problem(), solution(), Borderline(0.5))
    below = verify(problem(), solution(), Borderline(np.nextafter(0.5, 0)))
    assert name not in [c.name for c in at.failed]
    assert name in [c.name for c in below.failed]


def test_moved_frozen_feature_is_caught():
    moved = GOOD + np.array([0, 0, 0.1])
    assert "valid points" in failed(problem(), solution(counterfactuals=moved))


def test_too_few_flips_are_caught():
    assert "instances served" in failed(problem(s_star=3), solution())


def test_wrong_objective_is_caught():
    assert "objective recomputed" in failed(problem(), solution(objective=0.1, bound=0.0))


def test_bound_above_objective_is_caught():
    assert failed(problem(), solution(bound=9.0)) == ["lower bound <= objective"]


@pytest.mark.parametrize(
    ("limit", "name"),
    [("f_max", "features changed overall"), ("max_changed", "features changed per instance")],
)
def test_limits_on_changed_features_are_checked(limit, name):
    wide = GOOD.copy()
    wide[1] = [0.8, 0.3, 0.5]
    X = X0.copy()
    X[:2] = wide
    value = Cost(lam_glob=0.1).total(SPACE, X0, X)
    s = solution(counterfactuals=wide, objective=value, bound=value)
    assert failed(problem(**{limit: 2}), s) == []
    assert failed(problem(**{limit: 1}), s) == [name]


def test_promised_but_missing_values_are_caught():
    assert "counterfactuals given" in failed(problem(), solution(counterfactuals=None))


def test_no_incumbent_needs_no_values():
    s = Solution(status=Status.INFEASIBLE, method="m", message="because")
    assert failed(problem(), s) == []
