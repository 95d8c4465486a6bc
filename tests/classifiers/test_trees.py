"""Tree ensembles equal their estimators everywhere, at thresholds above all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from groupcf.classifiers import Classifier, Link, TreeEnsembleScore
from groupcf.classifiers.tree_folding import last_where
from groupcf.errors import ClassifierError, DataError
from groupcf.features import Feature, FeatureSpace, Kind

quick = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
seeds = st.integers(0, 10**6)
units = st.sampled_from([1e-6, 1.0, 1e6])

FORESTS = {
    "tree": lambda s: DecisionTreeClassifier(max_depth=4, random_state=s),
    "stump": lambda s: DecisionTreeClassifier(max_depth=1, random_state=s),
    "forest": lambda s: RandomForestClassifier(12, max_depth=4, random_state=s),
    "extra": lambda s: ExtraTreesClassifier(12, max_depth=4, random_state=s),
}
BOOSTED = {
    "gradient": lambda s: GradientBoostingClassifier(n_estimators=12, random_state=s),
    "gradient from zero": lambda s: GradientBoostingClassifier(
        n_estimators=5, init="zero", learning_rate=0.3, random_state=s
    ),
    "histogram": lambda s: HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=5, random_state=s
    ),
    "xgboost": lambda s: XGBClassifier(
        n_estimators=25, max_depth=3, tree_method="hist", n_jobs=1, random_state=s
    ),
    "xgboost base": lambda s: XGBClassifier(
        n_estimators=5, max_depth=4, base_score=0.03 + (s % 90) / 100, n_jobs=1
    ),
    "xgboost forest": lambda s: XGBClassifier(
        n_estimators=3, num_parallel_tree=4, subsample=0.7, n_jobs=1, random_state=s
    ),
}


def data(rng, rows, columns, unit):
    X = rng.normal(size=(rows, columns)) * unit
    if columns > 2:
        X[:, 2] = rng.integers(0, 4, rows) * unit  # repeated values
    y = (X[:, 0] / unit + (X[:, 1] / unit) ** 2 + rng.normal(0, 0.3, rows) > 0.8).astype(int)
    y[:2] = [0, 1]
    return X, y


def around(estimator_thresholds, rng, X):
    """Rows that sit on an estimator's own thresholds and on all their rounding borders."""
    rows = []
    for column, c in estimator_thresholds:
        single = np.float32(c)
        up, down = (np.nextafter(single, np.float32(s * np.inf)) for s in (1, -1))
        borders = [(float(single) + float(v)) / 2 for v in (up, down)]
        values = [c, float(single), float(up), float(down), *borders]
        values += [np.nextafter(v, s * np.inf) for v in values for s in (1, -1)]
        block = X[rng.integers(0, len(X), len(values))].copy()
        block[:, column] = values
        rows.append(block)
    return np.concatenate(rows)


def sklearn_thresholds(model):
    members = np.ravel(getattr(model, "estimators_", [model]))
    for member in members:
        inner = member.tree_.feature >= 0
        yield from zip(
            member.tree_.feature[inner].tolist(), member.tree_.threshold[inner], strict=True
        )


@pytest.mark.parametrize("kind", [*sorted(FORESTS), "gradient", "gradient from zero"])
@quick
@given(seed=seeds, unit=units, wanted=st.sampled_from([0, 1]))
def test_scikit_learn_trees_at_their_thresholds(plain_space, check_trees, kind, seed, unit, wanted):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 80, 4, unit)
    model = (FORESTS | BOOSTED)[kind](seed % 1000).fit(X, y)
    rows = np.concatenate([X, around(sklearn_thresholds(model), rng, X)])
    check_trees(Classifier(model, plain_space(4, unit), wanted), rows, rng)


@pytest.mark.parametrize("kind", ["histogram", "xgboost", "xgboost base", "xgboost forest"])
@quick
@given(seed=seeds, unit=units, wanted=st.sampled_from([0, 1]))
def test_boosted_trees_at_their_thresholds(plain_space, check_trees, kind, seed, unit, wanted):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 80, 4, unit)
    model = BOOSTED[kind](seed % 1000).fit(X, y)
    if kind == "histogram":
        inner = [p.nodes[~p.nodes["is_leaf"].astype(bool)] for (p,) in model._predictors]
        cuts = [(int(n["feature_idx"]), float(n["num_threshold"])) for ns in inner for n in ns]
    else:
        table = model.get_booster().trees_to_dataframe()
        table = table[table["Feature"] != "Leaf"]
        cuts = [
            (int(f[1:]), float(np.float32(c)))
            for f, c in zip(table["Feature"], table["Split"], strict=True)
        ]
    rows = np.concatenate([X, around(cuts, rng, X)])
    check_trees(Classifier(model, plain_space(4, unit), wanted), rows, rng)


@pytest.mark.parametrize("kind", ["tree", "forest", "extra", "histogram", "xgboost"])
@quick
@given(seed=seeds, holes_in_training=st.booleans(), wanted=st.sampled_from([0, 1]))
def test_missing_values_take_the_models_own_direction(
    plain_space, kind, seed, holes_in_training, wanted
):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 120, 3, 1.0)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.3] = np.nan
    holes[y == 0, 1] = np.nan  # so that splits between missing and present pay
    model = (FORESTS | BOOSTED)[kind](seed % 1000).fit(holes if holes_in_training else X, y)
    classifier = Classifier(model, plain_space(3), wanted)
    assert classifier.score_error(np.concatenate([X, holes])) <= 1e-9


def test_a_missing_value_is_refused_where_the_estimator_takes_none(plain_space):
    X, y = data(np.random.default_rng(0), 60, 3, 1.0)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    score = Classifier(model, plain_space(3), 1).score
    X[4, 2] = np.nan
    with pytest.raises(DataError, match="row 4, encoded column 2"):
        score.decision(X)


@pytest.mark.parametrize("kind", sorted(FORESTS))
@quick
@given(seed=seeds, wanted=st.sampled_from([0, 1]))
def test_hard_vote_is_the_share_of_trees(plain_space, kind, seed, wanted):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 60, 3, 1.0)
    model = FORESTS[kind](seed % 1000).fit(X, y)
    classifier = Classifier(model, plain_space(3), wanted, vote="hard")
    rows = np.concatenate([X, around(sklearn_thresholds(model), rng, X)])
    members = getattr(model, "estimators_", [model])
    share = np.mean([m.predict(rows) == wanted for m in members], axis=0)
    np.testing.assert_allclose(classifier.score.decision(rows), share, rtol=0, atol=1e-12)
    np.testing.assert_allclose(classifier.probability(rows), share, rtol=0, atol=1e-12)
    assert classifier.score.link is Link.IDENTITY


def test_a_tied_tree_votes_as_its_own_predict(plain_space):
    # leaf fractions of exactly one half: predict takes the first class
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    model = DecisionTreeClassifier().fit(X, y)
    for wanted in (0, 1):
        classifier = Classifier(model, plain_space(1), wanted, vote="hard")
        assert classifier.score_error(X) == 0


@pytest.mark.parametrize("kind", ["gradient", "histogram", "xgboost"])
def test_hard_vote_is_refused_for_boosting(plain_space, kind):
    X, y = data(np.random.default_rng(0), 60, 3, 1.0)
    classifier = Classifier(BOOSTED[kind](0).fit(X, y), plain_space(3), 1, vote="hard")
    with pytest.raises(ClassifierError, match="forests"):
        _ = classifier.score
    with pytest.raises(ClassifierError, match="forests"):
        classifier.probability(X)


def test_early_stopping_stops_the_score_too(plain_space):
    rng = np.random.default_rng(3)
    X, y = data(rng, 200, 3, 1.0)
    model = XGBClassifier(n_estimators=300, early_stopping_rounds=3, learning_rate=0.5, n_jobs=1)
    model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False)
    score = Classifier(model, plain_space(3), 1).score
    assert score.n_trees == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert Classifier(model, plain_space(3), 1).score_error(X) <= 1e-9


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"booster": "dart"}, "dart"),
        ({"booster": "gblinear"}, "gblinear"),
        ({"objective": "binary:hinge"}, "hinge"),
        ({"missing": -1.0}, "missing"),
    ],
)
def test_other_xgboost_models_are_refused_by_name(plain_space, options, match):
    X, y = data(np.random.default_rng(0), 60, 3, 1.0)
    model = XGBClassifier(n_estimators=3, n_jobs=1, **options).fit(X, y)
    with pytest.raises(ClassifierError, match=match):
        _ = Classifier(model, plain_space(3), 1).score


def test_xgboost_adds_up_in_single_precision(plain_space):
    """The exact sum of the leaves differs from the booster's margin, within `rounding`."""
    rng = np.random.default_rng(5)
    X, y = data(rng, 300, 4, 1.0)
    model = XGBClassifier(n_estimators=120, max_depth=3, n_jobs=1).fit(X, y)
    classifier = Classifier(model, plain_space(4), 1)
    score = classifier.score
    leaves = score.apply(X)
    exact = score.base + (score.value[leaves] * score.weights).sum(axis=1)
    error = np.abs(exact - model.predict(X, output_margin=True).astype(float))
    assert 1e-9 < error.max() <= score.rounding < 1e-3
    assert classifier.score_error(X) == 0


@quick
@given(seed=seeds, unit=units)
def test_closest_values_lie_on_their_sides_and_cells_are_not_empty(plain_space, seed, unit):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 80, 3, unit)
    model = FORESTS["forest"](seed % 1000).fit(X, y)
    score = Classifier(model, plain_space(3, unit), 1).score
    for column in range(3):
        cuts = score.thresholds(column)
        lower, upper = score.neighbours(column)
        assert (np.diff(cuts) > 0).all()
        assert (lower <= cuts).all()
        assert (cuts < upper).all()
        assert (upper[:-1] <= lower[1:]).all()
        # as near as single precision can tell
        spacing = np.spacing(np.abs(cuts).astype(np.float32)).astype(float)
        assert (cuts - lower <= spacing).all()
        assert (upper - cuts <= spacing).all()
        for i, cut in enumerate(cuts):
            assert score.value_left_of(column, cut) == lower[i]
            assert score.value_right_of(column, cut) == upper[i]


@quick
@given(seed=seeds)
def test_closest_values_survive_a_round_trip_through_the_users_units(seed):
    """Encode(decode(x)) moves x by rounding, but not across the threshold."""
    rng = np.random.default_rng(seed)
    X, y = data(rng, 80, 3, 1.0)
    space = FeatureSpace(
        tuple(
            Feature(
                f"x{j}",
                Kind.NUMERICAL,
                lower=-1e3,
                upper=1e3,
                offset=float(rng.normal()),
                scale=float(np.exp(rng.normal())),
            )
            for j in range(3)
        )
    )
    model = FORESTS["forest"](0).fit(X, y)
    score = Classifier(model, space, 1).score
    for column in range(3):
        cuts = score.thresholds(column)
        for values, left in zip(score.neighbours(column), (True, False), strict=True):
            rows = np.zeros((len(cuts), 3))
            rows[:, column] = values
            again = space.encode(space.decode(rows))[:, column]
            assert ((again <= cuts) == left).all()


def test_unknown_threshold_is_refused(plain_space):
    X, y = data(np.random.default_rng(0), 60, 3, 1.0)
    score = Classifier(FORESTS["tree"](0).fit(X, y), plain_space(3), 1).score
    with pytest.raises(ClassifierError, match="not split at"):
        score.value_left_of(0, 123.0)
    assert len(score.thresholds(99)) == 0


@quick
@given(seed=seeds)
def test_leaves_partition_the_space(plain_space, seed):
    rng = np.random.default_rng(seed)
    X, y = data(rng, 60, 3, 1.0)
    score = Classifier(FORESTS["forest"](seed % 1000).fit(X, y), plain_space(3), 1).score
    reached = score.apply(X)
    inside = np.zeros((len(X), score.n_trees), dtype=int)
    for leaf in score.leaves():
        member = np.ones(len(X), dtype=bool)
        for column, cut in leaf.above.items():
            member &= X[:, column] > cut
        for column, cut in leaf.up_to.items():
            member &= X[:, column] <= cut
        inside[:, leaf.tree] += member
        assert (reached[member, leaf.tree] == leaf.node).all()
        np.testing.assert_allclose(score.value[leaf.node] * score.weights[leaf.tree], leaf.value)
    assert (inside == 1).all()


def test_a_constant_forest_has_no_thresholds(plain_space):
    X, y = np.zeros((4, 2)), np.array([0, 0, 0, 1])
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    score = Classifier(model, plain_space(2), 1).score
    assert score.depth == 0
    assert len(score.leaves()) == 5
    np.testing.assert_allclose(score.decision(X), model.predict_proba(X)[:, 1])


def test_higher_score_means_the_wanted_class(plain_space):
    X = np.linspace(0, 1, 200)[:, None]
    y = (X[:, 0] > 0.5).astype(int)
    for make in (FORESTS | BOOSTED).values():
        model = make(0).fit(X, y)
        up, down = (Classifier(model, plain_space(1), c).score.decision(X) for c in (1, 0))
        assert up[-1] > up[0]
        assert down[-1] < down[0]


@quick
@given(seed=seeds)
def test_bisection_over_the_doubles(seed):
    rng = np.random.default_rng(seed)
    exponent = rng.uniform(-300, 300, 50)
    at = rng.choice([-1, 1], 50) * 10.0**exponent
    at[:2] = [0.0, np.finfo(float).tiny]
    np.testing.assert_array_equal(last_where(lambda x: x <= at, 50), at)
    np.testing.assert_array_equal(last_where(lambda x: x < at, 50), np.nextafter(at, -np.inf))
    assert last_where(lambda x: x > x, 1)[0] == -np.inf
    assert last_where(lambda x: x == x, 1)[0] == np.inf


def test_arrays_that_do_not_fit_are_refused():
    node = np.zeros(1)
    with pytest.raises(ClassifierError, match="column"):
        TreeEnsembleScore(
            column=np.array([3]),
            threshold=node,
            left=np.array([-1]),
            right=np.array([-1]),
            value=node,
            roots=np.array([0]),
            weights=np.ones(1),
            base=0.0,
            n_columns=2,
            link=Link.IDENTITY,
            closest_left=node,
            closest_right=node,
        )
