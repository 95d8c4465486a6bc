"""Score models: P(x) = phi(f(x)) with phi non-decreasing (models.md section 0).

A score model works on the encoded columns of a feature space and is oriented so that a
higher score means the wanted class. It reproduces a fitted estimator's own score, and is
what the formulations and exact methods see of a classifier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from groupcf.checks import number
from groupcf.errors import ClassifierError, ConfigError


class Link(StrEnum):
    """phi, the map from score to probability."""

    LOGISTIC = "logistic"  # P = 1 / (1 + exp(-f))
    IDENTITY = "identity"  # the score is the probability
    NONE = "none"  # a margin without a probability (plain support vector machine)

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return phi(f).

        Raises
        ------
        ClassifierError
            For a score without a probability.
        """
        if self is Link.LOGISTIC:
            return np.asarray(expit(score))
        if self is Link.IDENTITY:
            return score
        raise ClassifierError("this classifier gives a margin, not a probability")

    def threshold(self, nu: float) -> float:
        """Return phi^-1(nu), the score that probability nu asks for.

        Raises
        ------
        ConfigError
            When nu is not in (0, 1), or the score has no probability.
        """
        if not 0 < number("nu", nu) < 1:
            raise ConfigError(f"nu: {nu!r} is not a probability strictly between 0 and 1")
        if self is Link.LOGISTIC:
            return math.log(nu / (1 - nu))
        if self is Link.IDENTITY:
            return nu
        raise ConfigError(
            "nu: this classifier gives a margin, not a probability; give threshold= instead"
        )


@runtime_checkable
class Score(Protocol):
    """What every score model offers."""

    @property
    def link(self) -> Link:
        """Map from score to probability."""
        ...

    @property
    def n_columns(self) -> int:
        """Number D of encoded columns."""
        ...

    def decision(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) for rows of shape (S, D)."""
        ...


@dataclass(frozen=True, eq=False)
class LinearScore:
    """f(x) = weights . x + intercept.

    Attributes
    ----------
    weights : ndarray of shape (D,)
    intercept : float
    link : Link
    """

    weights: NDArray[np.float64]
    intercept: float
    link: Link = Link.LOGISTIC

    def __post_init__(self) -> None:
        weights = np.ascontiguousarray(self.weights, dtype=float)
        if weights.ndim != 1 or not np.isfinite(weights).all() or not np.isfinite(self.intercept):
            raise ClassifierError("a linear score needs finite weights, one per encoded column")
        object.__setattr__(self, "weights", weights)

    @property
    def n_columns(self) -> int:
        """Number D of encoded columns."""
        return len(self.weights)

    def decision(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) for rows of shape (S, D)."""
        return np.asarray(np.atleast_2d(np.asarray(X, float)) @ self.weights + self.intercept)
