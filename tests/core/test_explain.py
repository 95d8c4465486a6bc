"""The public call on the user's own table, from estimator to counterfactual."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import LinearSVC

from groupcf import Cost, FeatureSpace, OneForMany, OneForOne, Status, explain
from groupcf.errors import ClassifierError, ConfigError, DataError, UnsupportedProblemError

RNG = np.random.default_rng(7)
N = 200
PEOPLE = pd.DataFrame(
    {
        "income": RNG.uniform(800, 5000, N).round(2),
        "years": RNG.integers(0, 20, N),
        "job": RNG.choice(["clerk", "none", "nurse"], N),
        "sex": RNG.choice(["f", "m"], N),
    },
    index=[f"p{i}" for i in range(N)],
)
LABELS = np.where(
    PEOPLE["income"] / 2000
    + PEOPLE["years"] / 8
    - 2.0 * (PEOPLE["job"] == "none")
    + RNG.normal(0, 0.3, N)
    > 2.5,
    "granted",
    "denied",
)


@pytest.fixture(scope="module")
def model():
    pipeline = make_pipeline(
        ColumnTransformer(
            [
                ("scale", MinMaxScaler(), ["income", "years"]),
                ("onehot", OneHotEncoder(), ["job", "sex"]),
            ]
        ),
        LogisticRegression(C=10),
    )
    return pipeline.fit(PEOPLE, LABELS)


@pytest.fixture(scope="module")
def space():
    return FeatureSpace.from_frame(PEOPLE, frozen=["sex"], increasing=["years"])


@pytest.fixture(scope="module")
def denied(model):
    return PEOPLE[model.predict(PEOPLE) == "denied"].head(8)


@pytest.fixture(scope="module")
def result(model, space, denied):
    return explain(model, denied, space, positive="granted", cost=Cost(lam_glob=0.2))


def test_every_counterfactual_is_accepted_by_the_models_own_predict(model, result, denied):
    after = result.counterfactuals()
    assert result.status is Status.OPTIMAL
    assert result.gap == pytest.approx(0, abs=1e-6)
    assert list(after.index) == list(denied.index)
    assert (model.predict(after) == "granted").all()
    assert result.verified, result.verification.failed


def test_actionability_and_column_types_are_kept(result, denied):
    after = result.counterfactuals()
    assert (after["sex"] == denied["sex"]).all()
    assert (after["years"] >= denied["years"]).all()
    assert after.dtypes["years"] == denied.dtypes["years"]
    assert set(after["job"]) <= {"clerk", "none", "nurse"}


def test_unchanged_values_are_the_users_own(result, denied):
    changes = result.changes()
    changed = set(zip(changes["instance"], changes["feature"], strict=True))
    after = result.counterfactuals()
    for label in denied.index:
        for column in denied.columns:
            same = after.loc[label, column] == denied.loc[label, column]
            assert same == ((label, column) not in changed)


def test_frame_shows_original_above_counterfactual(result, denied):
    frame = result.frame()
    assert len(frame) == 2 * len(denied)
    assert list(frame.index[:2]) == [
        (denied.index[0], "original"),
        (denied.index[0], "counterfactual"),
    ]


def test_summary_tells_status_bound_and_verification(result):
    text = result.summary()
    assert "optimal by feature search" in text
    assert "lower bound" in text
    assert "verified against the original classifier" in text


def test_higher_nu_costs_more(model, space, denied):
    costs = [
        explain(model, denied, space, positive="granted", nu=nu).objective for nu in (0.5, 0.9)
    ]
    assert costs[0] < costs[1]


def test_all_frozen_is_an_outcome_with_a_reason(model, denied):
    space = FeatureSpace.from_frame(PEOPLE, frozen=list(PEOPLE.columns))
    result = explain(model, denied, space, positive="granted")
    assert result.status is Status.INFEASIBLE
    assert result.solution.message
    assert result.verified is None
    assert "nothing to verify" in result.summary()
    with pytest.raises(DataError, match="infeasible"):
        result.frame()


def test_a_margin_classifier_needs_no_probability(space, denied):
    svm = make_pipeline(
        ColumnTransformer(
            [
                ("scale", MinMaxScaler(), ["income", "years"]),
                ("onehot", OneHotEncoder(), ["job", "sex"]),
            ]
        ),
        LinearSVC(),
    ).fit(PEOPLE, LABELS)
    rows = PEOPLE[svm.predict(PEOPLE) == "denied"].head(4)
    result = explain(svm, rows, space, positive="granted")
    assert (svm.predict(result.counterfactuals()) == "granted").all()
    with pytest.raises(ConfigError, match="threshold="):
        explain(svm, rows, space, positive="granted", nu=0.7)


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"positive": "maybe"}, ClassifierError, "maybe"),
        ({"positive": None}, ClassifierError, "positive"),
        ({"nu": 0.0}, ConfigError, "nu"),
        ({"nu": 0.5, "threshold": 0.0}, ConfigError, "one of the two"),
        ({"time_limit": 0}, ConfigError, "time_limit"),
        ({"threads": 0}, ConfigError, "threads"),
        ({"threads": "two"}, ConfigError, "threads"),
        ({"time_limit": "x"}, ConfigError, "time_limit"),
        ({"nu": "high"}, ConfigError, "nu"),
        ({"cost": 3}, ConfigError, "cost: expected Cost, not int"),
        ({"allocation": "each"}, ConfigError, "allocation: expected OneForOne"),
        ({"method": "magic"}, ConfigError, "magic"),
        ({"allocation": OneForMany()}, UnsupportedProblemError, "no method solves OneForMany"),
        ({"solver": "magic"}, ConfigError, "magic"),
        ({"allocation": OneForOne(s_star=99)}, ConfigError, "s_star"),
    ],
)
def test_bad_requests_are_refused_by_name(model, space, denied, change, error, part):
    options = {"positive": "granted"} | change
    with pytest.raises(error, match=part):
        explain(model, denied, space, **options)


def test_bad_tables_are_refused_by_column_and_row(model, space, denied):
    with pytest.raises(DataError, match="missing columns"):
        explain(model, denied.drop(columns="job"), space, positive="granted")
    with pytest.raises(DataError, match="'income', row 'p"):
        explain(model, denied.assign(income=np.nan), space, positive="granted")
    with pytest.raises(DataError, match="widen"):
        explain(model, denied.assign(income=1e6), space, positive="granted")
    with pytest.raises(DataError, match="DataFrame"):
        explain(model, denied.to_numpy(), space, positive="granted")
