"""Train the classifiers of the studies, deterministically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from groupcf.classifiers.conversion import Vote
from groupcf.errors import ClassifierError

Options = dict[str, Any]


def _logistic(options: Options) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**{"solver": "liblinear", "C": 10} | options)


def _linear_svm(options: Options) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(**{"C": 1.0, "dual": "auto", "max_iter": 100_000} | options)


def _random_forest(options: Options) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**{"n_estimators": 100, "max_depth": 3, "n_jobs": 1} | options)


def _xgboost(options: Options) -> Any:
    from xgboost import XGBClassifier

    fixed = {"n_estimators": 100, "max_depth": 3, "tree_method": "hist", "n_jobs": 1}
    return XGBClassifier(**fixed | options)


def _network(options: Options) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(**{"hidden_layer_sizes": (7, 7), "max_iter": 5000} | options)


def _deep_network(options: Options) -> Any:
    return _network({"hidden_layer_sizes": (20,) * 5} | options)


CONFIGURATIONS: dict[str, Callable[[Options], Any]] = {
    "logistic": _logistic,
    "linear_svm": _linear_svm,
    "random_forest": _random_forest,
    "hard_forest": _random_forest,
    "xgboost": _xgboost,
    "network": _network,
    "deep_network": _deep_network,
}
"""Classifiers of the studies: logistic regression with liblinear and C = 10, forests of 100
trees of depth 3, networks with two hidden layers of 7 or, deep, with five of 20."""

VOTES: dict[str, Vote] = {"hard_forest": "hard"}
"""Configurations whose trees have one vote each, as in the figures of the dissertation."""


def train(
    name: str, X: ArrayLike | pd.DataFrame, y: ArrayLike, *, seed: int = 0, **overrides: Any
) -> Any:
    """Fit one of the classifiers of the studies.

    Parameters
    ----------
    name : str
        One of `CONFIGURATIONS`.
    X : array or DataFrame of shape (S, D)
        Encoded rows, ``space.encode(frame)``, or a table of numbers in the user's columns.
    y : array of shape (S,)
        Labels of two classes; 0 and 1 for xgboost.
    seed : int
        Same data, seed and versions give the same classifier, on any number of cores.
    **overrides
        Parameters of the estimator that replace the configured ones, such as
        ``hidden_layer_sizes`` of a network.

    Returns
    -------
    estimator
        The fitted scikit-learn or XGBoost classifier.

    Raises
    ------
    ClassifierError
        For an unknown name or parameter, or data that no classifier can be trained on.
    """
    if name not in CONFIGURATIONS:
        raise ClassifierError(f"classifier: {name!r} is none of {', '.join(CONFIGURATIONS)}")
    rows, labels = _checked(X, y)
    if name == "xgboost" and not set(labels.tolist()) <= {0, 1}:
        raise ClassifierError(
            f"y: xgboost takes the labels 0 and 1, not {sorted(set(labels.tolist()))}; pass "
            "(y == wanted).astype(int)"
        )
    try:
        estimator = CONFIGURATIONS[name]({"random_state": seed} | overrides)
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        with threadpool_limits(limits=1):  # sums in an order that hangs on no core count
            return estimator.fit(rows, labels)
    except (TypeError, ValueError) as error:
        raise ClassifierError(f"{name} with {overrides or 'its defaults'}: {error}") from error


def _checked(X: ArrayLike | pd.DataFrame, y: ArrayLike) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return rows and labels that a classifier can be trained on."""
    try:
        numbers = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        raise ClassifierError(
            "X: holds values that are no numbers; encode the table with space.encode(frame)"
        ) from None
    if numbers.ndim != 2 or 0 in numbers.shape:
        raise ClassifierError(
            f"X: shape {numbers.shape} is not (rows, columns) with at least one of each"
        )
    bad = ~np.isfinite(numbers)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        where: Any = X.columns[column] if isinstance(X, pd.DataFrame) else column
        raise ClassifierError(
            f"X: row {row}, column {where!r} is not a finite number; fill or drop it"
        )
    labels = np.asarray(y)
    if labels.shape != (len(numbers),):
        raise ClassifierError(
            f"y: shape {labels.shape} does not match the {len(numbers)} rows of X; give one "
            "label for each row"
        )
    missing = pd.isna(labels)
    if missing.any():
        raise ClassifierError(
            f"y: row {int(np.argmax(missing))} has no label; fill it or drop the row"
        )
    classes = pd.unique(labels).tolist()
    if len(classes) == 1:
        raise ClassifierError(
            f"y: every row has the label {classes[0]!r}; a classifier needs rows of both classes "
            "(look at the split and at how the target is defined)"
        )
    if len(classes) > 2:
        raise ClassifierError(
            f"y: {len(classes)} classes {classes[:10]}; two are supported, pass y == wanted"
        )
    return X if isinstance(X, pd.DataFrame) else numbers, labels
