"""Linear models and ReLU networks on encoded arrays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC

from groupcf.classifiers import Classifier, LinearScore, Link, NetworkScore
from groupcf.errors import ClassifierError, ConfigError, DataError

quick = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
seeds = st.integers(0, 10**6)
units = st.sampled_from([1e-6, 1.0, 1e6])
LABELS = {
    "text": ["denied", "granted"],
    "truth": [False, True],
    "numbers": [1, 2],
    "signs": [-1, 1],
    "numpy text": np.array(["a", "b"]),
}
LINEAR = {
    "liblinear": lambda: LogisticRegression(solver="liblinear", C=10),
    "lbfgs": lambda: LogisticRegression(max_iter=30),
    "newton": lambda: LogisticRegression(solver="newton-cholesky"),
    "linear svc": lambda: LinearSVC(dual=False, max_iter=100),
    "svc": lambda: SVC(kernel="linear", max_iter=2000),
    "sgd logistic": lambda: SGDClassifier(loss="log_loss", max_iter=20, random_state=0),
    "sgd hinge": lambda: SGDClassifier(loss="hinge", max_iter=20, random_state=0),
}


def data(seed, labels, unit):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) * unit
    return X, np.asarray(labels)[(X[:, 0] + X[:, 1] > rng.normal(0, 0.3, 60) * unit).astype(int)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", sorted(LINEAR))
@quick
@given(seed=seeds, unit=units, labels=st.sampled_from(sorted(LABELS)), wanted=st.integers(0, 1))
def test_linear_scores(plain_space, kind, seed, unit, labels, wanted):
    names = LABELS[labels]
    X, y = data(seed, names, unit)
    model = LINEAR[kind]().fit(X, y)
    classifier = Classifier(model, plain_space(4, unit), names[wanted])
    score = classifier.score
    assert isinstance(score, LinearScore)
    own = model.decision_function(X) * (1 if wanted else -1)
    tolerance = 1e-9 * max(1.0, np.abs(own).max())
    np.testing.assert_allclose(score.decision(X), own, rtol=0, atol=tolerance)
    assert classifier.score_error(X) <= tolerance
    assert (classifier.predict_wanted(X) == (model.predict(X) == names[wanted])).all()
    if hasattr(model, "predict_proba"):
        assert score.link is Link.LOGISTIC
        np.testing.assert_allclose(
            score.link.probability(score.decision(X)),
            model.predict_proba(X)[:, wanted],
            rtol=0,
            atol=1e-9,
        )
    else:
        assert score.link is Link.NONE
        with pytest.raises(ClassifierError, match="margin"):
            classifier.probability(X)
        with pytest.raises(ConfigError, match="threshold="):
            score.link.threshold(0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@quick
@given(
    seed=seeds,
    sizes=st.sampled_from([(7, 7), (3,), (20, 5, 4)]),
    labels=st.sampled_from(sorted(LABELS)),
    wanted=st.integers(0, 1),
)
def test_networks(plain_space, seed, sizes, labels, wanted):
    names = LABELS[labels]
    X, y = data(seed, names, 1.0)
    model = MLPClassifier(sizes, max_iter=20, random_state=seed % 100).fit(X, y)
    classifier = Classifier(model, plain_space(4), names[wanted])
    score = classifier.score
    assert isinstance(score, NetworkScore)
    assert score.hidden_sizes == sizes
    np.testing.assert_allclose(
        score.link.probability(score.decision(X)), model.predict_proba(X)[:, wanted], atol=1e-12
    )
    np.testing.assert_allclose(score.decision(X), classifier.decision_original(X), atol=1e-9)
    assert classifier.score_error(X) <= 1e-9


@quick
@given(seed=seeds, sizes=st.sampled_from([(3,), (6, 4), (5, 5, 5)]))
def test_interval_bounds_hold_everywhere_in_the_box(seed, sizes):
    rng = np.random.default_rng(seed)
    widths = (4, *sizes, 1)
    score = NetworkScore(
        tuple(rng.normal(size=s) for s in itertools.pairwise(widths)),
        tuple(rng.normal(size=n) for n in widths[1:]),
    )
    lower = rng.normal(size=4)
    upper = lower + rng.exponential(size=4) * rng.integers(0, 2, 4)
    bounds = score.interval_bounds(lower, upper)
    assert len(bounds) == len(sizes) + 1
    h = rng.uniform(lower, upper, (500, 4))
    corners = np.where(rng.random((500, 4)) < 0.5, lower, upper)
    h = np.concatenate([h, corners])
    for (low, high), W, b in zip(bounds, score.weights, score.biases, strict=True):
        z = h @ W + b
        assert (z >= low).all()
        assert (z <= high).all()
        h = np.maximum(z, 0)
    # over a single point they are that point's values
    exact = score.interval_bounds(lower, lower)[-1]
    np.testing.assert_allclose(exact, [score.decision(lower)] * 2, atol=1e-9)


def test_interval_bounds_refuse_an_empty_box():
    score = NetworkScore((np.ones((2, 1)),), (np.zeros(1),))
    with pytest.raises(DataError, match="column 1"):
        score.interval_bounds([0.0, 1.0], [0.0, 0.5])
    with pytest.raises(DataError, match="2 encoded columns"):
        score.interval_bounds([0.0], [0.0])


@pytest.mark.parametrize(
    ("weights", "biases", "match"),
    [
        ((), (), "one weight matrix"),
        ((np.ones((2, 3)), np.ones((2, 1))), (np.zeros(3), np.zeros(1)), "layer 1"),
        ((np.ones((2, 2)),), (np.zeros(2),), "one output"),
        ((np.full((2, 1), np.nan),), (np.zeros(1),), "finite"),
        ((np.ones((2, 1)),), (np.zeros(2),), "bias"),
    ],
)
def test_layers_that_do_not_fit(weights, biases, match):
    with pytest.raises(ClassifierError, match=match):
        NetworkScore(weights, biases)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "match"),
    [
        (SVC(kernel="rbf"), "rbf"),
        (SGDClassifier(loss="modified_huber"), "modified_huber"),
        (MLPClassifier((2,), activation="tanh", max_iter=5), "tanh"),
    ],
)
def test_other_forms_are_refused_by_name(plain_space, model, match):
    X, y = data(0, [0, 1], 1.0)
    with pytest.raises(ClassifierError, match=match):
        _ = Classifier(model.fit(X, y), plain_space(4), 1).score


def test_a_sparsified_model(plain_space):
    X, y = data(0, [0, 1], 1.0)
    model = LogisticRegression(l1_ratio=1.0, solver="saga", C=0.1, max_iter=500).fit(X, y)
    assert Classifier(model.sparsify(), plain_space(4), 1).score_error(X) <= 1e-9
