"""Pipelines on the user's own columns: preprocessing is folded in, rounding included."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from groupcf.classifiers import Classifier, LinearScore, NetworkScore, as_score
from groupcf.errors import ClassifierError
from groupcf.features import FeatureSpace

quick = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SIZES = ["low", "medium", "high"]
NUMBERS, NAMES, ORDERED = ["income", "age"], ["colour", "member"], ["size", "grade"]

scalers = st.sampled_from(
    [
        lambda: MinMaxScaler(),
        lambda: MinMaxScaler(feature_range=(-1, 3)),
        lambda: StandardScaler(),
        lambda: StandardScaler(with_mean=False),
        lambda: StandardScaler(with_std=False),
        lambda: MaxAbsScaler(),
        lambda: make_pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler()),
        lambda: FunctionTransformer(),
        lambda: "passthrough",
    ]
)
encoders = st.sampled_from(
    [
        lambda: OneHotEncoder(),
        lambda: OneHotEncoder(drop="first", sparse_output=False),
        lambda: OneHotEncoder(drop="if_binary"),
        lambda: OneHotEncoder(handle_unknown="ignore", dtype=np.int64),
        lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.26),
        lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
        lambda: make_pipeline(OneHotEncoder(), MaxAbsScaler()),
        lambda: make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
        lambda: make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False)),
    ]
)


def ordered():
    return OrdinalEncoder(categories=[SIZES, [1, 2, 5]])


def preprocessing(scaler, encoder, ordinal, **options):
    return ColumnTransformer(
        [
            ("numbers", scaler(), NUMBERS),
            ("names", encoder(), NAMES),
            ("ordered", ordinal(), ORDERED),
        ],
        **options,
    )


def refuse(model, space, match, positive="yes"):
    with pytest.raises(ClassifierError, match=match):
        as_score(model, space, positive=positive)


SMOOTH = {
    "logistic": lambda: LogisticRegression(C=3),
    "margin": lambda: LinearSVC(dual=False, max_iter=50),
    "network": lambda: MLPClassifier((5, 4), max_iter=20, random_state=1),
}
TREES = {
    "forest": lambda s: RandomForestClassifier(8, max_depth=5, random_state=s),
    "gradient": lambda s: GradientBoostingClassifier(n_estimators=8, random_state=s),
    "histogram": lambda s: HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5),
    "xgboost": lambda s: XGBClassifier(n_estimators=12, max_depth=4, n_jobs=1),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("kind", sorted(SMOOTH))
@quick
@given(
    seed=st.integers(0, 10**6),
    unit=st.sampled_from([1e-6, 1.0, 1e6]),
    scaler=scalers,
    encoder=encoders,
    wanted=st.sampled_from(["yes", "no"]),
)
def test_linear_and_network_models_take_in_their_preprocessing(
    mixed, mixed_space, valid_rows, kind, seed, unit, scaler, encoder, wanted
):
    rng = np.random.default_rng(seed)
    frame, y = mixed(rng, 90, unit)
    ct = ColumnTransformer(
        [
            ("numbers", scaler(), NUMBERS),
            ("names", encoder(), NAMES),
            ("size", OrdinalEncoder(categories=[SIZES]), ["size"]),
        ],
        remainder="passthrough",  # grade, whose codes 1, 2, 5 the feature shares
    )
    model = make_pipeline(ct, StandardScaler(with_mean=False), SMOOTH[kind]()).fit(frame, y)
    space = mixed_space(frame)
    classifier = Classifier(model, space, wanted)
    expected = NetworkScore if kind == "network" else LinearScore
    assert isinstance(classifier.score, expected)
    rows = valid_rows(rng, space, 100)
    own = np.abs(classifier.decision_original(rows))
    assert classifier.score_error(rows) <= 1e-9 * max(1.0, own.max())
    assert classifier.score_error(frame) <= 1e-9 * max(1.0, own.max())


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("kind", sorted(TREES))
@quick
@given(
    seed=st.integers(0, 10**6),
    unit=st.sampled_from([1e-6, 1.0, 1e6]),
    scaler=scalers,
    encoder=encoders,
    ordinal=st.sampled_from(["in order", "alphabetical", "one-hot"]),
    wanted=st.sampled_from(["yes", "no", 0, 1]),
)
def test_tree_models_take_in_their_preprocessing(
    mixed, mixed_space, valid_rows, check_trees, kind, seed, unit, scaler, encoder, ordinal, wanted
):
    """Also encoders that reverse, shuffle or split up an ordered feature."""
    rng = np.random.default_rng(seed)
    frame, y = mixed(rng, 90, unit)
    if kind == "xgboost":
        y = (y == "yes").astype(int)
        wanted = {"yes": 1, "no": 0}.get(wanted, wanted)
    else:
        wanted = {1: "yes", 0: "no"}.get(wanted, wanted)
    make = {"in order": ordered, "alphabetical": OrdinalEncoder, "one-hot": OneHotEncoder}[ordinal]
    dense = kind == "histogram"
    ct = preprocessing(scaler, encoder, make, sparse_threshold=0.0 if dense else 0.9)
    model = make_pipeline(ct, TREES[kind](seed % 100)).fit(frame, y)
    space = mixed_space(frame)
    classifier = Classifier(model, space, wanted)
    check_trees(classifier, valid_rows(rng, space, 100), rng)
    assert classifier.score_error(frame) <= 1e-9


@quick
@given(seed=st.integers(0, 10**6), scaler=st.sampled_from([MaxAbsScaler, MinMaxScaler]))
def test_xgboost_takes_zeros_of_a_sparse_matrix_for_missing(
    mixed, mixed_space, valid_rows, check_trees, seed, scaler
):
    rng = np.random.default_rng(seed)
    frame, _ = mixed(rng, 120, 1.0)
    frame["income"] = np.round(frame["income"] - 3, 0)  # many exact zeros, inside the range
    # income 0 belongs with large incomes, so that the default direction is not where 0 lies
    income, rest = frame["income"], rng.random(120) < 0.15
    y = (((income == 0) | (income > 1) | (frame["colour"] == "red")) ^ rest).astype(int)
    ct = ColumnTransformer(
        [("n", scaler(), ["income"]), ("c", OneHotEncoder(), ["colour", "size"])],
        sparse_threshold=1.0,
    )
    model = make_pipeline(ct, XGBClassifier(n_estimators=15, max_depth=4, n_jobs=1)).fit(frame, y)
    assert ct.sparse_output_
    space = mixed_space(frame)
    rows = valid_rows(rng, space, 60)
    zeros = rows.copy()
    zeros[:, 0] = space.encode(frame.assign(income=0.0))[0, 0]
    check_trees(Classifier(model, space, 1), np.concatenate([rows, zeros]), rng)


@quick
@given(seed=st.integers(0, 10**6), scaler=st.sampled_from(["abs", "standard"]))
def test_scalers_multiply_sparse_columns_by_the_reciprocal(
    mixed, mixed_space, valid_rows, check_trees, seed, scaler
):
    """One unit in the last place apart from a division: seen only right at thresholds."""
    rng = np.random.default_rng(seed)
    frame, y = mixed(rng, 90, 1.0)
    ct = ColumnTransformer(
        [("n", "passthrough", ["income", "age"]), ("c", OneHotEncoder(), ["colour", "size"])],
        sparse_threshold=1.0,
    )
    scale = MaxAbsScaler() if scaler == "abs" else StandardScaler(with_mean=False)
    model = make_pipeline(ct, scale, TREES["forest"](seed % 100)).fit(frame, y)
    assert ct.sparse_output_
    space = mixed_space(frame)
    check_trees(Classifier(model, space, "yes"), valid_rows(rng, space, 60), rng)


@pytest.mark.parametrize("clip", [False, True])
def test_clipping_is_followed_by_trees_and_refused_by_linear_models(
    mixed, mixed_space, check_trees, clip
):
    rng = np.random.default_rng(0)
    frame, y = mixed(rng, 90, 1.0)
    half = frame[frame["age"] < 40]
    columns = ["income", "age"]
    space = mixed_space(frame)
    forest = make_pipeline(MinMaxScaler(clip=clip), TREES["forest"](0))
    forest.fit(half[columns], y[half.index])
    check_trees(Classifier(forest, space, "yes"), space.encode(frame), rng)
    linear = make_pipeline(MinMaxScaler(clip=clip), LogisticRegression())
    linear.fit(half[columns], y[half.index])
    if clip:
        with pytest.raises(ClassifierError, match=r"'income'.*clip"):
            as_score(linear, space, positive="yes")
    else:
        assert Classifier(linear, space, "yes").score_error(frame) <= 1e-9


def test_estimator_fitted_directly_on_the_users_numbers(mixed, mixed_space, check_trees):
    rng = np.random.default_rng(1)
    frame, y = mixed(rng, 90, 1.0)
    columns = ["grade", "member", "age", "income"]  # another order than the space's, and fewer
    space = mixed_space(frame)
    for model in (TREES["forest"](0), TREES["xgboost"](0)):
        labels = (y == "yes").astype(int)
        classifier = Classifier(model.fit(frame[columns], labels), space, 1)
        check_trees(classifier, space.encode(frame), rng)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(frame[columns], y)
    # grades 1, 2, 5 are encoded with their numbers, so the model is linear in them
    assert Classifier(model, space, "yes").score_error(frame) <= 1e-9
    evenly = space.with_feature("grade", codes=(0.0, 1.0, 2.0), offset=0.0, scale=2.0)
    refuse(model, evenly, "'grade'.*not linear")


def test_pipeline_on_the_encoded_array(mixed, mixed_space, valid_rows, check_trees):
    rng = np.random.default_rng(2)
    frame, y = mixed(rng, 90, 1.0)
    space = mixed_space(frame)
    X = space.encode(frame)
    rows = valid_rows(rng, space, 60)
    for final in (LogisticRegression(), SMOOTH["margin"](), TREES["gradient"](0)):
        model = Pipeline([("none", "passthrough"), ("s", StandardScaler()), ("m", final)])
        classifier = Classifier(model.fit(X, y), space, "no")
        assert classifier.score_error(rows) <= 1e-9
        assert classifier.score_error(frame) <= 1e-9
    check_trees(classifier, rows, rng)


@pytest.mark.parametrize(
    "selection",
    [
        [0, 1],
        slice(0, 2),
        slice("income", "age"),
        [True, True, False, False, False, False],
        make_column_selector(pattern="income|age"),
        ["income", "age"],
    ],
)
def test_every_way_to_select_columns(mixed, mixed_space, selection):
    frame, y = mixed(np.random.default_rng(3), 90, 1.0)
    ct = ColumnTransformer(
        [("n", StandardScaler(), selection), ("d", "drop", ["colour", "size"])],
        remainder="passthrough",
    )
    model = make_pipeline(ct, LogisticRegression()).fit(frame, y)
    assert Classifier(model, mixed_space(frame), "yes").score_error(frame) <= 1e-9


def test_nested_pipelines(mixed, mixed_space):
    frame, y = mixed(np.random.default_rng(3), 90, 1.0)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = make_pipeline(make_pipeline(MinMaxScaler()), inner).fit(frame[NUMBERS], y)
    assert Classifier(model, mixed_space(frame), "yes").score_error(frame) <= 1e-9


def test_hard_vote_behind_a_pipeline(mixed, mixed_space, check_trees):
    rng = np.random.default_rng(4)
    frame, y = mixed(rng, 90, 1.0)
    space = mixed_space(frame)
    ct = preprocessing(StandardScaler, OneHotEncoder, ordered)
    model = make_pipeline(ct, TREES["forest"](0)).fit(frame, y)
    check_trees(Classifier(model, space, "yes", vote="hard"), space.encode(frame), rng)


def test_what_cannot_be_followed_is_named(mixed, mixed_space):
    frame, y = mixed(np.random.default_rng(5), 90, 1.0)
    space, logistic = mixed_space(frame), LogisticRegression
    numbers = frame[NUMBERS]
    refuse(make_pipeline(PCA(), logistic()).fit(numbers, y), space, "PCA.*supported")
    indicator = SimpleImputer(add_indicator=True)
    refuse(make_pipeline(indicator, logistic()).fit(numbers, y), space, "add_indicator")
    filler = SimpleImputer(missing_values=0)
    refuse(make_pipeline(filler, logistic()).fit(numbers, y), space, "missing_values=0")
    log = FunctionTransformer(np.exp)
    refuse(make_pipeline(log, logistic()).fit(numbers / 99, y), space, "FunctionTransformer")
    ages = make_pipeline(OneHotEncoder(), logistic()).fit(frame[["age"]], y)
    refuse(ages, space, "'age'.*declare it nominal")
    single = make_pipeline(OneHotEncoder(dtype=np.float32), logistic()).fit(frame[["colour"]], y)
    refuse(single, space, "float64")
    shuffled = make_pipeline(OrdinalEncoder(), logistic()).fit(frame[["size"]], y)
    refuse(shuffled, space, "'size'.*not linear.*nominal")


def test_a_category_that_the_encoder_never_saw(mixed, mixed_space):
    frame, y = mixed(np.random.default_rng(6), 90, 1.0)
    space = mixed_space(frame)
    some = frame["colour"] != "grey"
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.fit(frame.loc[some, ["colour"]], y[some])
    refuse(model, space, r"'colour'.*never saw.*'grey'")
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(frame.loc[some, ["colour"]], y[some])
    assert Classifier(model, space, "yes").score_error(frame) <= 1e-9


def test_columns_that_the_space_does_not_have(mixed, mixed_space):
    frame, y = mixed(np.random.default_rng(7), 90, 1.0)
    model = LogisticRegression().fit(frame[NUMBERS], y)
    space = FeatureSpace.from_frame(frame[["age"]])
    refuse(model, space, r"\['income'\]")
    model = LogisticRegression().fit(frame[NUMBERS].to_numpy(), y)
    refuse(model, mixed_space(frame), "2 columns, the feature space encodes to")
    text = LogisticRegression().fit(pd.DataFrame({"colour": np.arange(90.0)}), y)
    refuse(text, mixed_space(frame), "'colour'.*OneHotEncoder")
