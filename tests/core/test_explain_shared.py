"""explain() with shared counterfactuals: the fewest, in the user's own categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from groupcf import FeatureSpace, OneForMany, explain
from groupcf.errors import UnsupportedProblemError
from groupcf.solution import Status

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "job": RNG.choice(["none", "part", "full"], 300),
        "home": RNG.choice(["rent", "own"], 300),
        "debt": RNG.choice(["low", "middle", "high"], 300),
        "sex": RNG.choice(["f", "m"], 300),
    },
    index=[f"p{i}" for i in range(300)],
)
SCORE = (
    (PEOPLE["job"] == "full") * 2.0
    + (PEOPLE["home"] == "own") * 1.0
    - (PEOPLE["debt"] == "high") * 1.5
    + RNG.normal(0, 0.3, 300)
)
LABELS = np.where(SCORE > 1.2, "granted", "denied")


@pytest.fixture(scope="module", params=["linear", "network"])
def model(request):
    classifier = (
        LogisticRegression()
        if request.param == "linear"
        else MLPClassifier((6, 4), max_iter=3000, random_state=0)
    )
    return make_pipeline(OneHotEncoder(), classifier).fit(PEOPLE, LABELS)


@pytest.fixture
def denied(model):
    return PEOPLE[model.predict(PEOPLE) == "denied"].head(60)


def test_the_fewest_in_the_users_own_categories(model, denied):
    space = FeatureSpace.from_frame(PEOPLE, frozen=["sex"])
    result = explain(model, denied, space, positive="granted", allocation=OneForMany(max_changed=2))
    assert result.status is Status.OPTIMAL
    assert result.verified
    after = result.counterfactuals()
    assert after.index.tolist() == denied.index.tolist()
    assert (model.predict(after) == "granted").all()
    assert (after["sex"] == denied["sex"]).all()
    clusters = result.clusters()
    assert len(clusters) == result.objective == result.bound
    assert clusters["instances"].sum() == len(denied)
    differ = (after[["job", "home", "debt"]] != denied[["job", "home", "debt"]]).sum().sum()
    assert clusters["changes"].sum() == differ == len(result.changes())
    assert ((clusters.drop(columns=["instances", "changes"]) != "").sum(axis=1) <= 2).all()
    assert "proven the fewest" in result.summary()
    assert result.plot().axes
    # equal counterfactuals are one: at least as many rows as the number proven
    assert len(after.drop_duplicates()) <= result.objective


def test_who_cannot_be_reached_is_told_with_what_would_do(model, denied):
    space = FeatureSpace.from_frame(PEOPLE, frozen=["sex"])
    result = explain(model, denied, space, positive="granted", allocation=OneForMany(max_changed=1))
    details = result.solution.details
    out = details["unreachable"]
    assert out
    assert set(details["least_max_changed"]) <= {2, 3}
    assert len(result.counterfactuals()) == len(denied) - len(out)
    assert "raise max_changed" in result.solution.message
    assert result.verified


def test_a_continuous_feature_is_refused_by_name():
    table = pd.DataFrame({"debt": RNG.random(300)})
    space = FeatureSpace.from_frame(table)
    plain = LogisticRegression().fit(table, LABELS)
    with pytest.raises(UnsupportedProblemError, match=r"'debt' is continuous.*bins"):
        explain(plain, table.head(), space, positive="granted", allocation=OneForMany())
