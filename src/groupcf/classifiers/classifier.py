"""A fitted classifier together with the feature space it is explained in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from groupcf.classifiers.conversion import Vote, adopt, as_score, class_index, native_model
from groupcf.classifiers.inputs import feature_names
from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.preprocessing import split_pipeline
from groupcf.classifiers.scores import LinearScore
from groupcf.classifiers.trees import TreeEnsembleScore
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
        As :func:`groupcf.classifiers.as_score` takes it.
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
        object.__setattr__(self, "estimator", adopt(self.estimator))
        class_index(self.estimator, self.positive)

    @cached_property
    def score(self) -> LinearScore | NetworkScore | TreeEnsembleScore:
        """Score model on the encoded columns."""
        return as_score(self.estimator, self.space, positive=self.positive, vote=self.vote)

    @property
    def _wanted(self) -> int:
        return class_index(self.estimator, self.positive)

    @property
    def _final(self) -> Any:
        return split_pipeline(self.estimator)[1]

    def _given(self, X: Rows) -> Any:
        """Return rows in the form that the estimator was fitted on."""
        names = feature_names(self.estimator)
        if names is None:
            if isinstance(X, pd.DataFrame):
                return self.space.encode(X)
            return np.atleast_2d(np.asarray(X, dtype=float))
        frame = X if isinstance(X, pd.DataFrame) else self.space.decode(X)
        return frame[names]

    def _votes(self, X: Rows) -> NDArray[np.float64]:
        """Return the share of the trees that predict the wanted class by themselves."""
        members = getattr(self._final, "estimators_", [self._final])
        if not hasattr(members[0], "tree_") or type(members[0]).__name__.endswith("Regressor"):
            raise ClassifierError(
                f"vote: the parts of a {type(self._final).__name__} do not vote; vote='hard' is "
                "for forests"
            )
        table = self._given(X)
        estimator = self.estimator
        while type(estimator).__name__ == "Pipeline":
            for _, step in estimator.steps[:-1]:
                table = table if step in (None, "passthrough") else step.transform(table)
            estimator = estimator.steps[-1][1]
        if isinstance(table, pd.DataFrame):
            table = table.to_numpy(dtype=float)
        wanted = members[0].classes_[self._wanted]
        votes = [np.asarray(member.predict(table)) == wanted for member in members]
        return np.asarray(np.mean(votes, axis=0))

    def probability(self, X: Rows) -> NDArray[np.float64]:
        """Return the estimator's own probability of the wanted class, shape (S,).

        For a hard vote, the share of the trees whose own prediction is this class.

        Raises
        ------
        ClassifierError
            For an estimator without predict_proba.
        """
        if self.vote == "hard":
            return self._votes(X)
        if not hasattr(self.estimator, "predict_proba"):
            raise ClassifierError(
                f"{type(self._final).__name__} gives a margin, not a probability; use "
                "decision_original"
            )
        table = np.asarray(self.estimator.predict_proba(self._given(X)), dtype=float)
        return np.asarray(table[:, self._wanted])

    def decision_original(self, X: Rows) -> NDArray[np.float64]:
        """Return the estimator's own score, higher towards the wanted class, shape (S,).

        Its decision function or margin where it has one; else its probability, on the logit
        scale for a network.
        """
        own = self._own_margin(X)
        if own is not None:
            return own
        probability = self.probability(X)
        if type(self._final).__name__ != "MLPClassifier":
            return probability
        with np.errstate(divide="ignore"):
            return np.asarray(logit(probability))

    def _own_margin(self, X: Rows) -> NDArray[np.float64] | None:
        if self.vote == "hard":
            return None
        if hasattr(self.estimator, "decision_function"):
            margin = self.estimator.decision_function(self._given(X))
        elif type(self._final).__module__.split(".")[0] == "xgboost":
            margin = self.estimator.predict(self._given(X), output_margin=True)
        else:
            return None
        return np.asarray(margin, dtype=float) * (1.0 if self._wanted == 1 else -1.0)

    def predict_wanted(self, X: Rows) -> NDArray[np.bool_]:
        """Return for each row whether the estimator predicts the wanted class.

        For a hard vote, whether most trees do.
        """
        if self.vote == "hard":
            return np.asarray(self._votes(X) > 0.5)
        label = np.asarray(self.estimator.classes_)[self._wanted]
        return np.asarray(np.asarray(self.estimator.predict(self._given(X))) == label)

    def score_error(self, X: Rows) -> float:
        """Return the largest difference between score model and estimator over some rows.

        Measured on the estimator's own score where it shows one, else on the probability.
        """
        encoded = self.space.encode(X) if isinstance(X, pd.DataFrame) else X
        score, own = self.score.decision(encoded), self._own_margin(X)
        if own is None:
            score, own = self.score.link.probability(score), self.probability(X)
        return float(np.abs(score - own).max())

    def checksum(self) -> str:
        """Return a SHA-256 of the fitted model's parameters and of what it reads.

        It does not depend on pickling, file formats or library versions, only on numbers.
        """
        digest = hashlib.sha256()
        _hash(native_model(self.estimator, self.space, self.positive, self.vote), digest.update)
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # without the cached score


def _hash(value: Any, update: Any) -> None:
    """Feed a value's type and content to a hash."""
    update(f"{type(value).__name__}:".encode())
    if isinstance(value, np.ndarray):
        kind = "<i8" if value.dtype.kind in "iub" else "<f8"
        update(f"{value.shape}".encode() + np.ascontiguousarray(value, dtype=kind).tobytes())
    elif isinstance(value, Enum):
        update(str(value.value).encode())
    elif hasattr(value, "__dataclass_fields__"):
        for field in fields(value):
            update(field.name.encode())
            _hash(getattr(value, field.name), update)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for item in value:
            _hash(item, update)
    else:
        update(f"{value!r};".encode())
