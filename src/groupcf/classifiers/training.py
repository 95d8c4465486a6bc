"""Train the classifiers of the studies, deterministically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from groupcf.errors import ClassifierError


def _logistic(seed: int, options: dict[str, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**{"solver": "liblinear", "C": 10, "random_state": seed} | options)


CONFIGURATIONS: dict[str, Callable[[int, dict[str, Any]], Any]] = {
    "logistic": _logistic,
}


def train(name: str, X: ArrayLike, y: ArrayLike, *, seed: int = 0, **overrides: Any) -> Any:
    """Fit one of the classifiers of the studies.

    Parameters
    ----------
    name : {"logistic"}
    X : array of shape (S, D)
        Encoded rows, ``space.encode(frame)``.
    y : array of shape (S,)
        Labels of two classes.
    seed : int
        Same data and seed, same classifier.
    **overrides
        Parameters of the estimator that replace the configured ones.

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
    rows = np.asarray(X, dtype=float)
    labels = np.asarray(y)
    if rows.ndim != 2 or len(rows) == 0:
        raise ClassifierError(f"X: shape {rows.shape} is not (rows, columns) with at least one row")
    if labels.shape != (len(rows),):
        raise ClassifierError(f"y: shape {labels.shape} does not match the {len(rows)} rows of X")
    estimator = CONFIGURATIONS[name](seed, overrides)
    return estimator.fit(rows, labels)
