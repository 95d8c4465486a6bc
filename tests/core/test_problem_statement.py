"""Costs, feasible sets and the checks at the door of a problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from groupcf.classifiers.scores import LinearScore, Link
from groupcf.constraints import feasible_box, options
from groupcf.costs import Cost
from groupcf.errors import ConfigError, DataError
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.problems import OneForOne, Problem

SPACE = FeatureSpace(
    (
        Feature("x", Kind.NUMERICAL, 0, 10, scale=10.0, weight=2.0),
        Feature("n", Kind.INTEGER, 0, 4, direction="increasing"),
        Feature("c", Kind.NOMINAL, categories=("a", "b", "c"), allowed=("a", "b")),
        Feature("o", Kind.ORDINAL, categories=("s", "m", "l"), direction="decreasing"),
        Feature("f", Kind.BINARY, categories=("no", "yes"), actionable=False),
    )
)
ROWS = SPACE.encode(
    pd.DataFrame(
        {"x": [5.0, 1.0], "n": [1, 4], "c": ["c", "a"], "o": ["m", "s"], "f": ["no", "yes"]}
    )
)
SCORE = LinearScore(np.ones(SPACE.n_columns), -3.0)


def test_cost_adds_distance_individual_and_global_sparsity():
    moved = ROWS.copy()
    moved[0, 0] += 0.3
    moved[1, 0] += 0.1
    moved[0, 2:5] = [1, 0, 0]
    cost = Cost(lam_ind=0.01, lam_glob=10.0)
    expected = 2 * 0.3**2 + 1.0 + 2 * 0.1**2 + 0.01 * 3 + 10.0 * 2
    assert cost.total(SPACE, ROWS, moved) == pytest.approx(expected)
    assert Cost("l1").distances(SPACE, ROWS, moved) == pytest.approx([0.6 + 1.0, 0.2])


@pytest.mark.parametrize(
    "bad", [{"lam_ind": -1}, {"lam_glob": np.nan}, {"lam_ind": "x"}, {"gauge": "l7"}]
)
def test_cost_refuses_nonsense_by_name(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Cost(**bad)


def test_feasible_box_contains_the_instance_and_obeys_actionability():
    lower, upper = feasible_box(SPACE, ROWS)
    assert (lower <= ROWS).all()
    assert (upper >= ROWS).all()
    assert lower[0, 1] == 1.0
    assert upper[0, 1] == 4.0
    # category c is its own value in row 0, and barred as a new value in row 1
    assert upper[:, 4].tolist() == [1.0, 0.0]
    assert upper[:, 5].tolist() == [1.0, 0.0]
    assert (lower[:, 6] == upper[:, 6]).all()


def test_options_start_with_the_own_value():
    n, c, o, f = SPACE.features[1:]
    assert options(n, 1.0).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert options(c, 2).tolist() == [2.0, 0.0, 1.0]
    assert options(o, 1.0).tolist() == [1.0, 0.0]
    assert options(f, 1.0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"instances": ROWS[:, :3]}, DataError, "shape"),
        ({"instances": np.where(np.arange(7) == 0, 2.0, ROWS)}, DataError, "feature 'x'"),
        ({"instances": np.where(np.arange(7) == 2, 1.0, ROWS)}, DataError, "one category"),
        ({"instances": np.where(np.arange(7) == 0, np.nan, ROWS)}, DataError, "column 'x'"),
        ({"instances": ROWS[:0]}, DataError, "empty"),
        ({"threshold": np.inf}, ConfigError, "threshold"),
        ({"score": LinearScore(np.ones(3), 0.0)}, DataError, "3 columns"),
        ({"allocation": OneForOne(s_star=3)}, ConfigError, "s_star"),
    ],
)
def test_a_problem_refuses_parts_that_do_not_fit(change, error, part):
    parts = {"space": SPACE, "score": SCORE, "instances": ROWS, "threshold": 0.0}
    with pytest.raises(error, match=part):
        Problem(**(parts | change))


@pytest.mark.parametrize("nu", [0.0, 1.0, -0.2, 1.5, float("nan")])
def test_nu_must_be_a_probability(nu):
    with pytest.raises(ConfigError, match="nu"):
        Link.LOGISTIC.threshold(nu)


def test_a_margin_has_no_probability():
    with pytest.raises(ConfigError, match="threshold="):
        Link.NONE.threshold(0.5)
