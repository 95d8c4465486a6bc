"""The problem of models.md section 5 and its answer, free of any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.checks import instance_of, number, whole
from groupcf.classifiers import LinearScore, TreeEnsembleScore
from groupcf.errors import ConfigError, DataError, UnsupportedProblemError
from groupcf.functional.curves import as_curves
from groupcf.solution import Outcome

SCORE_MARGIN = 1e-9
"""What a counterfactual's score exceeds the threshold by. At a tie an estimator names its
first class, which need not be the wanted one."""
WEIGHT = 1e-12
"""Convex weights at or below this are zero."""


@dataclass(frozen=True, eq=False)
class FunctionalProblem:
    """Least-cost convex combination of a curve and at most `b_max` prototypes.

    ``x_j = x0_j + sum_b a_bj (x^b_j - x0_j)`` with ``a >= 0``, ``sum_b a_bj <= 1``, at most
    `b_max` prototypes b with a positive weight in any functional feature j, and
    ``f(x) >= threshold``. Cost: ``lam0`` for each functional feature that changes and ``lam2``
    times the squared distance, ``sum_j sum_t (x_j(t) - x0_j(t))^2 * dt``.

    Attributes
    ----------
    x0 : ndarray of shape (J, T)
        The curve to be explained.
    prototypes : ndarray of shape (m, J, T)
        Curves that the classifier puts into the wanted class.
    score : TreeEnsembleScore or LinearScore
        On the J * T values, feature by feature.
    threshold : float
        Score to reach, phi^-1(nu).
    b_max : int
    lam0, lam2, dt : float
        Prices of a changed feature and of squared distance; step of the grid (1 as published).
    names : tuple of str
        Names of the functional features.

    Raises
    ------
    DataError
        For curves of unequal length, missing values, or another J or T than the score's.
    ConfigError
        For a price or a number of prototypes out of range.
    UnsupportedProblemError
        For another kind of score.
    """

    x0: NDArray[np.float64]
    prototypes: NDArray[np.float64]
    score: TreeEnsembleScore | LinearScore
    threshold: float
    b_max: int = 1
    lam0: float = 0.0
    lam2: float = 1.0
    dt: float = 1.0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "x0", as_curves("x0", self.x0, ndim=2))
        put(self, "prototypes", as_curves("prototypes", self.prototypes))
        J, T = self.x0.shape
        if self.prototypes.shape[1:] != (J, T):
            raise DataError(
                f"prototypes: {self.prototypes.shape[1]} functional features of length "
                f"{self.prototypes.shape[2]}, but x0 has {J} of length {T}"
            )
        if not isinstance(self.score, (TreeEnsembleScore, LinearScore)):
            raise UnsupportedProblemError(
                f"functional data: a {type(self.score).__name__} is not supported; take a forest, "
                "XGBoost or a linear classifier"
            )
        if self.score.n_columns != J * T:
            raise DataError(
                f"x0: {J} functional features of length {T} make {J * T} values, but the "
                f"classifier takes {self.score.n_columns}"
            )
        put(self, "b_max", whole("b_max", self.b_max, 1))
        put(self, "threshold", number("threshold", self.threshold))
        for name in ("lam0", "lam2", "dt"):
            put(self, name, number(name, getattr(self, name)))
        if self.lam0 < 0:
            raise ConfigError(f"lam0: {self.lam0!r} must not be negative")
        for name in ("lam2", "dt"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name}: {getattr(self, name)!r} must be positive")
        put(self, "names", tuple(self.names) or tuple(f"f{j + 1}" for j in range(J)))
        if len(self.names) != J:
            raise DataError(f"names: {J} expected, {len(self.names)} given")

    @classmethod
    def of(
        cls, classifier: Any, x0: ArrayLike, curves: ArrayLike, *, nu: float = 0.5, **options: Any
    ) -> FunctionalProblem:
        """State the problem of a classifier; prototypes are the `curves` that it accepts.

        Parameters
        ----------
        classifier : CurveClassifier
        x0 : array of shape (J, T)
        curves : array of shape (n, J, T)
        nu : float
            Required probability of the wanted class.
        **options
            Further attributes of this class.

        Raises
        ------
        DataError
            When the classifier accepts none of the curves with probability `nu`.
        """
        from groupcf.functional.curves import CurveClassifier

        instance_of("classifier", classifier, CurveClassifier)
        X = as_curves("curves", curves)
        score = classifier.score
        threshold = options.pop("threshold", None)
        if threshold is None:
            threshold = score.link.threshold(nu)
        accepted = score.decision(X.reshape(len(X), -1)) >= threshold + SCORE_MARGIN
        if not accepted.any():
            raise DataError(
                f"curves: the classifier puts none of the {len(X)} curves into the wanted class, "
                "so there is no prototype; give more curves or lower nu"
            )
        return cls(
            x0=np.asarray(x0, dtype=float),
            prototypes=X[accepted],
            score=score,
            threshold=threshold,
            names=classifier.names,
            **options,
        )

    @property
    def target(self) -> float:
        """Score that the methods aim at: the threshold, a margin, and what rounding may take."""
        rounding = self.score.rounding if isinstance(self.score, TreeEnsembleScore) else 0.0
        return self.threshold + SCORE_MARGIN * max(1.0, abs(self.threshold)) + 2 * rounding

    def combine(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the curve (J, T) of weights (J, m)."""
        moved = np.einsum("jb,bjt->jt", weights, self.prototypes - self.x0)
        return np.asarray(self.x0 + moved)

    def cost(self, weights: NDArray[np.float64]) -> float:
        """Return the Euclidean cost of weights (J, m)."""
        moved = self.combine(weights) - self.x0
        changed = (weights > WEIGHT).any(axis=1).sum()
        return float(self.lam0 * changed + self.lam2 * self.dt * (moved**2).sum())

    def accepts(self, x: NDArray[np.float64]) -> bool:
        """Return whether the score model accepts a curve (J, T)."""
        return bool(self.score.decision(x.reshape(1, -1))[0] >= self.threshold)


@dataclass(frozen=True, kw_only=True)
class FunctionalSolution(Outcome):
    """A counterfactual curve with its proof.

    Attributes
    ----------
    curve : ndarray of shape (J, T) or None
        The counterfactual; None without an incumbent.
    weights : ndarray of shape (J, m) or None
        Weight of each prototype in each functional feature; the rest to 1 is the original's.
    used : tuple of int
        Prototypes with a positive weight.
    changed : tuple of int
        Functional features that change.
    details : mapping
        Facts of the method: nodes, iterations, ...
    """

    curve: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    used: Sequence[int] = ()
    changed: Sequence[int] = ()
    details: dict[str, Any] = field(default_factory=dict)


def values_of(problem: FunctionalProblem, weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return the fields of a solution that follow from its weights."""
    if weights is None:
        return {}
    weights = np.where(weights > WEIGHT, weights, 0.0)
    return {
        "curve": problem.combine(weights),
        "weights": weights,
        "used": tuple(int(b) for b in np.flatnonzero(weights.any(axis=0))),
        "changed": tuple(int(j) for j in np.flatnonzero(weights.any(axis=1))),
    }
