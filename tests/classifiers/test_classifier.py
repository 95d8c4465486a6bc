"""The original estimator beside its score model: labels, checksums, files, training."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from groupcf.classifiers import Classifier, as_score, load, save, train
from groupcf.classifiers import conversion as conversion_module
from groupcf.errors import ChecksumError, ClassifierError

NAMES = ["logistic", "linear_svm", "random_forest", "xgboost", "network"]
FAST = {"random_forest": {"n_estimators": 10}, "network": {"max_iter": 100}}


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(120, 4, n_informative=3, n_redundant=0, random_state=0)
    return X, y


def fit(name, X, y, **options):
    return train(name, X, y, **(FAST.get(name, {}) | options))


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- the wanted class -----------------------------------------------------------------------


def test_an_unknown_label_is_answered_with_the_classes(plain_space, table):
    X, y = table
    model = LogisticRegression().fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(ClassifierError, match=r"'maybe'.*\['no', 'yes'\]"):
        Classifier(model, plain_space(4), "maybe")
    with pytest.raises(ClassifierError, match=r"1 is no class"):
        as_score(model, plain_space(4), positive=1)


def test_more_than_two_classes_are_refused(plain_space, table):
    X, _ = table
    model = LogisticRegression().fit(X, np.arange(120) % 3)
    with pytest.raises(ClassifierError, match=r"3 classes.*y == wanted"):
        Classifier(model, plain_space(4), 1)
    several = RandomForestClassifier(2).fit(X, np.stack([np.arange(120) % 2] * 2, axis=1))
    with pytest.raises(ClassifierError, match="several targets"):
        Classifier(several, plain_space(4), 1)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (LogisticRegression(), "not fitted|no fitted"),
        (Ridge(), "no fitted classifier"),
        (object(), "no fitted classifier"),
    ],
)
def test_what_is_no_fitted_classifier(plain_space, model, match):
    with pytest.raises(ClassifierError, match=match):
        Classifier(model, plain_space(4), 1)


@pytest.mark.parametrize("model", [GaussianNB(), KNeighborsClassifier()])
def test_unsupported_estimators_are_named_with_what_is_supported(plain_space, table, model):
    with pytest.raises(ClassifierError, match=f"{type(model).__name__}.*XGBClassifier"):
        _ = Classifier(model.fit(*table), plain_space(4), 1).score


def test_a_namesake_of_a_supported_class_is_not_taken_for_it(plain_space, table):
    class LogisticRegression(GaussianNB):
        pass

    model = LogisticRegression().fit(*table)
    with pytest.raises(ClassifierError, match="has no score model"):
        as_score(model, plain_space(4), positive=1)


def test_an_unknown_vote(plain_space, table):
    model = fit("random_forest", *table)
    with pytest.raises(ClassifierError, match="'loud'"):
        as_score(model, plain_space(4), positive=1, vote="loud")


@pytest.mark.parametrize("name", NAMES)
def test_the_two_classes_are_mirror_images(plain_space, table, name):
    X, y = table
    model = fit(name, X, y)
    up, down = (Classifier(model, plain_space(4), c) for c in (1, 0))
    share = np.corrcoef(up.score.decision(X), y)[0, 1]
    assert share > 0.5  # a higher score means the wanted class
    assert (up.predict_wanted(X) != down.predict_wanted(X)).all()
    if name != "linear_svm":
        np.testing.assert_allclose(up.probability(X) + down.probability(X), 1, atol=1e-6)
    mirrored = 1.0 if name == "random_forest" else 0.0
    total = up.score.decision(X) + down.score.decision(X)
    np.testing.assert_allclose(total, mirrored, atol=1e-9)


def test_the_verifying_members_never_ask_the_score_model(plain_space, table, monkeypatch):
    X, y = table

    def fail(*args, **kwargs):
        raise AssertionError("the score model was asked")

    monkeypatch.setattr("groupcf.classifiers.classifier.as_score", fail)
    monkeypatch.setattr("groupcf.classifiers.classifier.native_model", fail)
    for name in NAMES:
        for vote in ("soft", "hard") if name == "random_forest" else ("soft",):
            classifier = Classifier(fit(name, X, y), plain_space(4), 1, vote=vote)
            assert classifier.decision_original(X).shape == (120,)
            assert classifier.predict_wanted(X).shape == (120,)
            if name != "linear_svm":
                own = classifier.probability(X)
                assert ((own >= 0) & (own <= 1)).all()


def test_score_error_sees_a_wrong_score(plain_space, table, monkeypatch):
    X, y = table
    classifier = Classifier(fit("logistic", X, y), plain_space(4), 1)
    wrong = conversion_module.LinearScore(classifier.score.weights, classifier.score.intercept + 1)
    monkeypatch.setitem(classifier.__dict__, "score", wrong)
    assert classifier.score_error(X) == pytest.approx(1.0)


def test_frame_and_encoded_rows_give_the_same(mixed, mixed_space):
    frame, y = mixed(np.random.default_rng(0), 80, 1.0)
    space = mixed_space(frame)
    on_array = Classifier(LogisticRegression().fit(space.encode(frame), y), space, "yes")
    on_frame = Classifier(LogisticRegression().fit(frame[["age", "income"]], y), space, "yes")
    for classifier in (on_array, on_frame):
        np.testing.assert_allclose(
            classifier.probability(frame), classifier.probability(space.encode(frame)), atol=1e-12
        )


# -- checksums ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_checksum_is_stable_and_tells_models_apart(plain_space, table, name):
    X, y = table
    space = plain_space(4)
    first, again = (Classifier(fit(name, X, y), space, 1).checksum() for _ in range(2))
    assert first == again
    assert len(first) == 64
    others = {
        Classifier(fit(name, X, y), space, 0).checksum(),
        Classifier(fit(name, X[:-9], y[:-9]), space, 1).checksum(),
        Classifier(fit(name, X * [2, 1, 1, 1], y), space, 1).checksum(),
    }
    assert first not in others
    assert len(others) == 3


def test_checksum_depends_on_vote_and_on_preprocessing(plain_space, table):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = table
    model, space = fit("random_forest", X, y), plain_space(4)
    soft, hard = (Classifier(model, space, 1, vote=v).checksum() for v in ("soft", "hard"))
    assert soft != hard
    scaled = [StandardScaler().fit(X), StandardScaler().fit(X * 2)]
    sums = set()
    for scaler in scaled:
        pipeline = make_pipeline(scaler, model)
        sums.add(Classifier(pipeline, space, 1).checksum())
    assert len(sums | {soft}) == 3


def test_the_checksum_of_a_known_model(plain_space):
    """Pinned, so that a change of what is hashed does not pass unseen."""
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[1.5, -2.0]]), np.array([0.25])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    checksum = Classifier(model, plain_space(2), 1).checksum()
    assert checksum == "0e53d22a32aec7b2649cc64875e556401b1edbe7bc297400bd3aab558a0fd59a"


# -- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_classifier_comes_back_the_same(plain_space, table, tmp_path, name):
    X, y = table
    classifier = Classifier(fit(name, X, y), plain_space(4), 1)
    classifier.score.decision(X)
    path = tmp_path / "model.joblib"
    digest = save(classifier, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.joblib"]
    back = load(path, sha256=digest)
    assert back.checksum() == classifier.checksum()
    assert back.space == classifier.space
    np.testing.assert_array_equal(back.score.decision(X), classifier.score.decision(X))


def test_foreign_files_are_not_executed(plain_space, table, tmp_path):
    import joblib

    path = tmp_path / "foreign.joblib"
    joblib.dump({"not": "a classifier"}, path)
    with pytest.raises(ClassifierError, match=r"executes code.*trusted=True"):
        load(path)
    with pytest.raises(ChecksumError, match="SHA-256"):
        load(path, sha256="0" * 64)
    with pytest.raises(ChecksumError):
        load(path, sha256="0" * 64, trusted=True)
    with pytest.raises(ClassifierError, match="holds a dict"):
        load(path, trusted=True)
    with pytest.raises(ClassifierError, match="cannot be read"):
        load(tmp_path / "absent.joblib", trusted=True)
    save(Classifier(fit("logistic", *table), plain_space(4), 1), path)
    assert load(path, trusted=True).positive == 1


# -- training -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_training_is_deterministic_and_follows_the_seed(table, name):
    X, y = table
    first, again, other = (fit(name, X, y, seed=s) for s in (0, 0, 1))
    decide = "decision_function" if name == "linear_svm" else "predict_proba"
    np.testing.assert_array_equal(getattr(first, decide)(X), getattr(again, decide)(X))
    if name in ("random_forest", "network"):
        assert (getattr(first, decide)(X) != getattr(other, decide)(X)).any()


def test_the_studies_configurations(table):
    logistic = train("logistic", *table)
    assert (logistic.solver, logistic.C, logistic.random_state) == ("liblinear", 10, 0)
    forest = train("random_forest", *table)
    assert (len(forest.estimators_), forest.max_depth, forest.random_state) == (100, 3, 0)
    assert train("xgboost", *table).n_jobs == 1
    wide = train("network", *table, hidden_layer_sizes=(20,) * 5, max_iter=5)
    assert [W.shape[1] for W in wide.coefs_] == [20] * 5 + [1]


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.zeros((3, 2)), [1, 1, 1], "every row has the label 1"),
        (np.zeros((3, 2)), ["a", "b", "c"], "3 classes"),
        (np.zeros((3, 2)), [0, 1], r"\(2,\) does not match the 3 rows"),
        (np.zeros((2, 2)), [[0, 1], [0, 1]], "does not match"),
        (np.zeros(3), [0, 1, 0], "not \\(rows, columns\\)"),
        (np.zeros((0, 2)), [], "at least one"),
        ([[0, 1], [np.nan, 1]], [0, 1], "row 1, column 0"),
        ([[0, np.inf], [0, 1]], [0, 1], "row 0, column 1"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}), [0, 1], "row 1, column 'b'"),
        (pd.DataFrame({"a": ["x", "y"]}), [0, 1], "no numbers"),
        (np.zeros((2, 2)), [0.0, np.nan], "row 1 has no label"),
        (np.zeros((2, 2)), pd.Series(["a", None]), "row 1 has no label"),
    ],
)
def test_data_that_cannot_be_trained_on(X, y, match):
    with pytest.raises(ClassifierError, match=match):
        train("logistic", X, y)


def test_unknown_names_parameters_and_labels(table):
    X, y = table
    with pytest.raises(ClassifierError, match="'lasso' is none of logistic"):
        train("lasso", X, y)
    with pytest.raises(ClassifierError, match="depth"):
        train("random_forest", X, y, depth=3)
    with pytest.raises(ClassifierError, match="n_estimators"):
        train("random_forest", X, y, n_estimators=-3)
    with pytest.raises(ClassifierError, match="labels 0 and 1"):
        train("xgboost", X, np.where(y == 1, "yes", "no"))


def test_a_frame_keeps_its_column_names(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert train("logistic", frame, y).feature_names_in_.tolist() == list("abcd")


# -- imports --------------------------------------------------------------------------------


def test_importing_the_package_imports_no_learning_library():
    code = (
        "import sys, groupcf.classifiers; "
        "print([m for m in ('sklearn', 'xgboost', 'torch', 'joblib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_scikit_learn_models_need_no_xgboost(plain_space, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", types.ModuleType("xgboost"))
    model = fit("random_forest", *table)
    assert Classifier(model, plain_space(4), 1).score_error(table[0]) <= 1e-9
