"""Curves as arrays, and a fitted classifier of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.classifiers import Classifier, LinearScore, NetworkScore, TreeEnsembleScore
from groupcf.classifiers.conversion import Vote
from groupcf.errors import DataError
from groupcf.features import Feature, FeatureSpace, Kind


def as_curves(name: str, X: Any, ndim: int = 3) -> NDArray[np.float64]:
    """Return curves as an array of shape (n, J, T), or one curve of shape (J, T).

    A missing axis J is added: (n, T) and (T,) mean one functional feature.

    Raises
    ------
    DataError
        For curves of unequal length, values that are no numbers or missing, or no curve.
    """
    try:
        out = np.asarray(X, dtype=float)
    except (ValueError, TypeError):
        lengths = sorted({len(x) for x in X if hasattr(x, "__len__")})
        raise DataError(
            f"{name}: curves must be numbers on one common grid (lengths found: {lengths}); "
            "resample curves of unequal length first"
        ) from None
    if out.ndim == ndim - 1:
        out = out[..., None, :] if ndim == 3 else out[None, :]
    if out.ndim != ndim or not out.size:
        shape = "(n, J, T)" if ndim == 3 else "(J, T)"
        raise DataError(f"{name}: expected an array of shape {shape}, not {np.shape(X)}")
    if not np.isfinite(out).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
        raise DataError(
            f"{name}: missing or infinite value at {where}; fill it (by interpolation, say) or "
            "leave the curve out"
        )
    return np.ascontiguousarray(out)


@dataclass(frozen=True, eq=False)
class CurveClassifier:
    """A classifier fitted on concatenated curves, rows of J * T values, feature by feature.

    Attributes
    ----------
    classifier : Classifier
        The fitted estimator on one numerical column for each value.
    shape : tuple (J, T)
    names : tuple of str
        Names of the J functional features.
    """

    classifier: Classifier
    shape: tuple[int, int]
    names: tuple[str, ...]

    @property
    def score(self) -> LinearScore | NetworkScore | TreeEnsembleScore:
        """Score model on the concatenated values."""
        return self.classifier.score

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        curves = as_curves("curves", X)
        if curves.shape[1:] != self.shape:
            raise DataError(
                f"curves: {curves.shape[1]} functional features of length {curves.shape[2]}, but "
                f"the classifier takes {self.shape[0]} of length {self.shape[1]}"
            )
        return curves.reshape(len(curves), -1)

    def probability(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the original estimator's probability of the wanted class for curves (n, J, T)."""
        return self.classifier.probability(self._rows(X))

    def decision_original(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the original estimator's own score for curves (n, J, T)."""
        return self.classifier.decision_original(self._rows(X))

    def predict_wanted(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return for each curve whether the estimator predicts the wanted class."""
        return self.classifier.predict_wanted(self._rows(X))


def classify_curves(
    estimator: Any,
    X: ArrayLike,
    *,
    positive: Any,
    vote: Vote = "soft",
    names: Sequence[str] | None = None,
) -> CurveClassifier:
    """Take a fitted estimator as a classifier of curves.

    Parameters
    ----------
    estimator : fitted estimator
        Forest, XGBoost or linear model on ``X.reshape(n, J * T)``.
    X : array of shape (n, J, T)
        Curves that show J and T.
    positive : label
        The wanted class.
    vote : {"soft", "hard"}
        How the trees of a forest vote.
    names : sequence of str, optional
        Names of the functional features.

    Raises
    ------
    DataError
        For curves of unequal length, missing values, or a wrong number of names.
    ClassifierError
        For an estimator without score model.
    """
    curves = as_curves("X", X)
    n_features, n_points = curves.shape[1:]
    labels = tuple(names) if names is not None else tuple(f"f{j + 1}" for j in range(n_features))
    if len(labels) != n_features or len(set(labels)) != n_features:
        raise DataError(f"names: {n_features} different names expected, got {list(labels)}")
    low, high = curves.min(axis=(0, 2)), curves.max(axis=(0, 2))
    columns = [
        Feature(
            f"{name} {t + 1}",
            Kind.NUMERICAL,
            lower=float(low[j]) - 1.0,
            upper=float(high[j]) + 1.0,
            scale=1.0,
        )
        for j, name in enumerate(labels)
        for t in range(n_points)
    ]
    space = FeatureSpace(tuple(columns))
    return CurveClassifier(
        Classifier(estimator, space, positive, vote), (n_features, n_points), labels
    )
