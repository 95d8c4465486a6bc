"""Feature kinds, inference, encoding and decoding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcf.errors import DataError, FeatureError
from groupcf.features import Feature, FeatureSpace, Kind


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income": [1200.0, 3400.5, 800.0],
            "age": [31, 55, 19],
            "married": [True, False, True],
            "job": ["clerk", "none", "nurse"],
            "risk": pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True),
        },
        index=["ann", "bob", "eve"],
    )


def test_inference_by_column_type(people):
    space = FeatureSpace.from_frame(people)
    assert [f.kind for f in space.features] == [
        Kind.NUMERICAL,
        Kind.INTEGER,
        Kind.BINARY,
        Kind.NOMINAL,
        Kind.ORDINAL,
    ]
    assert space.n_features == 5
    assert space.n_columns == 7
    assert space.columns[3:6] == ["job=clerk", "job=none", "job=nurse"]


def test_round_trip_in_the_users_own_values(people):
    space = FeatureSpace.from_frame(people)
    back = space.decode(space.encode(people), people.index)
    for column in people.columns:
        assert (
            list(back[column]) == pytest.approx(list(people[column]), rel=1e-12)
            if column
            in (
                "income",
                "age",
            )
            else list(back[column]) == list(people[column])
        )


def test_a_changed_category_is_one_change_charged_once(people):
    space = FeatureSpace.from_frame(people)
    X = space.encode(people)
    moved = X.copy()
    moved[0, 3:6] = [0, 0, 1]
    assert space.changed(X, moved).sum() == 1
    assert space.differences(X, moved)[0, space.index("job")] == 1.0


@pytest.mark.parametrize(
    ("column", "value", "part"),
    [
        ("income", np.nan, "missing value"),
        ("income", np.inf, "not a finite number"),
        ("age", 20.5, "not an integer"),
        ("job", "pilot", "unknown category"),
    ],
)
def test_bad_values_name_column_and_row(people, column, value, part):
    space = FeatureSpace.from_frame(people)
    broken = people.astype({column: object}) if column != "income" else people.copy()
    broken.loc["bob", column] = value
    with pytest.raises(DataError, match=part) as error:
        space.encode(broken)
    assert repr(column) in str(error.value)
    assert "'bob'" in str(error.value)


def test_missing_column_and_duplicate_index(people):
    space = FeatureSpace.from_frame(people)
    with pytest.raises(DataError, match=r"missing columns \['age'\]"):
        space.encode(people.drop(columns="age"))
    with pytest.raises(DataError, match="more than once"):
        space.encode(people.set_axis(["a", "a", "b"]))


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ({"frozen": ["agee"]}, "no column 'agee'"),
        ({"increasing": ["age"], "decreasing": ["age"]}, "both increasing and decreasing"),
        ({"increasing": ["job"]}, "have no order"),
        ({"kinds": {"age": "weird"}}, "kind 'weird'"),
        ({"kinds": {"job": "numerical"}}, "holds text"),
        ({"bounds": {"job": (0, 1)}}, "bounds are for"),
        ({"bounds": {"age": (5, 1)}}, "exceeds upper bound"),
        ({"weights": {"age": 0.0}}, "weight must be"),
        ({"weights": {"age": "x"}}, "weight: 'x' is not a finite number"),
        ({"bounds": {"age": (1,)}}, "not \\(lower, upper\\)"),
        ({"bounds": {"age": ("a", 2)}}, "bound: 'a'"),
        ({"orders": {"job": ["clerk"]}}, "orders leaves out"),
        ({"allowed": {"age": ["old"]}}, "allowed value: 'old'"),
        ({"scaling": "zz"}, "neither 'minmax' nor 'none'"),
        ({"allowed": {"job": ["pilot"]}}, "not one of its categories"),
    ],
)
def test_contradictory_overrides_are_refused_by_name(people, override, part):
    with pytest.raises(FeatureError, match=part):
        FeatureSpace.from_frame(people, **override)


def test_violations_find_each_kind_of_fault(people):
    space = FeatureSpace.from_frame(
        people, frozen=["married"], increasing=["age"], allowed={"job": ["nurse"]}
    )
    X = space.encode(people)
    cases = {
        "frozen but changed": (2, 1 - X[0, 2]),
        "may only increase": (1, X[0, 1] - 1 / 36),
        "not one of its values": (6, 0.3),
        "outside": (0, 2.0),
        "not exactly one category": (4, 1.0),
        "not a finite number": (0, np.nan),
    }
    assert space.violations(X, X) == []
    for what, (column, value) in cases.items():
        moved = X.copy()
        moved[0, column] = value
        found = space.violations(X, moved)
        assert any(what in f and "row 0" in f for f in found), (what, found)
    barred = X.copy()
    barred[0, 3:6] = [0, 1, 0]
    assert space.violations(X, barred) == ["row 0, feature 'job': category not allowed"]


def test_description_survives_json(people):
    import json

    space = FeatureSpace.from_frame(people, frozen=["job"], allowed={"risk": ["low"]})
    assert FeatureSpace.from_dict(json.loads(json.dumps(space.to_dict()))) == space


@given(
    lower=st.floats(-1e6, 1e6),
    width=st.floats(1e-6, 1e6),
    share=st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_numerical_encoding_is_affine_and_invertible(lower, width, share):
    feature = Feature("x", Kind.NUMERICAL, lower, lower + width, offset=lower, scale=width)
    space = FeatureSpace((feature,))
    values = lower + np.array(share) * width
    X = space.encode(pd.DataFrame({"x": values}))
    assert (X >= -1e-9).all()
    assert space.decode(X)["x"].to_numpy() == pytest.approx(values, rel=1e-9, abs=1e-9 * width)
    assert space.violations(X, X) == []
