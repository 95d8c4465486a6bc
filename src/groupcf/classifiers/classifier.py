"""A fitted classifier together with the feature space it is explained in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from groupcf.classifiers.conversion import Vote, as_score, class_index
from groupcf.classifiers.inputs import feature_names
from groupcf.classifiers.scores import Link, Score
from groupcf.errors import ClassifierError
from groupcf.features import FeatureSpace

Rows = pd.DataFrame | ArrayLike
"""Rows in the user's own columns (DataFrame), or encoded rows of shape (S, D)."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """The original fitted estimator, and its score model beside it.

    :attr:`score` is what the methods optimise over. All other members ask the original
    estimator and never the score model, so that they can be used to check an answer.

    Attributes
    ----------
    estimator : fitted estimator or Pipeline
    space : FeatureSpace
    positive : label
        The wanted class.
    vote : {"soft", "hard"}
        How the trees of a forest vote.

    Raises
    ------
    ClassifierError
        When the wanted class is none of the estimator's classes.
    """

    estimator: Any
    space: FeatureSpace
    positive: Any
    vote: Vote = "soft"

    def __post_init__(self) -> None:
        class_index(self.estimator, self.positive)

    @cached_property
    def score(self) -> Score:
        """Score model on the encoded columns (:func:`groupcf.classifiers.as_score`)."""
        return as_score(self.estimator, self.space, positive=self.positive, vote=self.vote)

    @property
    def _wanted(self) -> int:
        return class_index(self.estimator, self.positive)

    def _given(self, X: Rows) -> Any:
        """Return rows in the form that the estimator was fitted on."""
        names = feature_names(self.estimator)
        if names is None:
            if isinstance(X, pd.DataFrame):
                return self.space.encode(X)
            return np.atleast_2d(np.asarray(X, dtype=float))
        frame = X if isinstance(X, pd.DataFrame) else self.space.decode(X)
        return frame[names]

    def probability(self, X: Rows) -> NDArray[np.float64]:
        """Return the estimator's own probability of the wanted class, shape (S,).

        Raises
        ------
        ClassifierError
            For an estimator without predict_proba.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ClassifierError(
                f"{type(self.estimator).__name__} gives a margin, not a probability; "
                "use decision_original"
            )
        table = np.asarray(self.estimator.predict_proba(self._given(X)), dtype=float)
        return np.asarray(table[:, self._wanted])

    def decision_original(self, X: Rows) -> NDArray[np.float64]:
        """Return the estimator's own score, higher towards the wanted class, shape (S,).

        Its decision function where it has one, else the probability on the scale of
        :attr:`score`.
        """
        if hasattr(self.estimator, "decision_function"):
            sign = 1.0 if self._wanted == 1 else -1.0
            return np.asarray(
                sign * np.asarray(self.estimator.decision_function(self._given(X)), dtype=float)
            )
        probability = self.probability(X)
        return np.asarray(logit(probability)) if self.score.link is Link.LOGISTIC else probability

    def predict_wanted(self, X: Rows) -> NDArray[np.bool_]:
        """Return for each row whether the estimator predicts the wanted class."""
        label = np.asarray(self.estimator.classes_)[self._wanted]
        return np.asarray(np.asarray(self.estimator.predict(self._given(X))) == label)

    def score_error(self, X: Rows) -> float:
        """Return the largest difference between score model and estimator over some rows."""
        encoded = self.space.encode(X) if isinstance(X, pd.DataFrame) else X
        return float(np.abs(self.score.decision(encoded) - self.decision_original(X)).max())
