"""Constraints that tie the counterfactuals of a group together (models.md section 0, "Linking").

Distances are those of the cost: Euclidean for ``l2_squared``, weighted sums for ``l1``.
Instances are named by their position in the group, counted from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.checks import instance_of, listed, number, whole
from groupcf.constraints import encoded_bounds
from groupcf.costs import Cost
from groupcf.errors import ConfigError
from groupcf.features import FeatureSpace

Floats = NDArray[np.float64]

SMALLEST_CHANGE = 1e-3
"""Least change of a continuous feature, as a share of its width, where changes are told apart."""


def smallest_changes(space: FeatureSpace) -> Floats:
    """Return that least change by feature, encoded; 0 for discrete features, shape (J,)."""
    return np.array(
        [0.0 if f.discrete else SMALLEST_CHANGE * np.ptp(encoded_bounds(f)) for f in space.features]
    )


@dataclass(frozen=True)
class Lipschitz:
    """Alike instances are given alike counterfactuals: d(x_i, x_j) <= tau d(x0_i, x0_j).

    Attributes
    ----------
    tau : float
        At least 0; holds for all pairs of instances.
    """

    tau: float

    def __post_init__(self) -> None:
        if number("Lipschitz, tau", self.tau) < 0:
            raise ConfigError(f"Lipschitz, tau: {self.tau!r} must not be negative")

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return by how much a distance is too long."""
        i, j = np.triu_indices(len(X), 1)
        over = cost.apart(space, X[i], X[j]) - self.tau * cost.apart(space, X0[i], X0[j])
        return float(max(0.0, over.max(initial=0.0)))


@dataclass(frozen=True)
class SameValues:
    """Must-link: some instances are given the same values.

    Attributes
    ----------
    rows : tuple of int
    features : tuple of str
        Names of the features; none stands for all.
    """

    rows: tuple[int, ...]
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _tidy(self)

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""
        _rows("SameValues, rows", self.rows, n, least=2)
        _features("SameValues, features", self.features, space)

    def which(self, space: FeatureSpace) -> NDArray[np.int64]:
        """Return the positions of the features."""
        names = self.features or space.names
        return np.array([space.index(name) for name in names], dtype=np.int64)

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return the largest difference of two values that should be the same."""
        first, others = X[[self.rows[0]] * (len(self.rows) - 1)], X[list(self.rows[1:])]
        apart = np.abs(space.differences(first, others))[:, self.which(space)]
        return float(apart.max(initial=0.0))


@dataclass(frozen=True)
class Apart:
    """Cannot-link and diversity: d(x_i, x_j) >= delta for all pairs of some instances.

    Attributes
    ----------
    rows : tuple of int
    delta : float
        Greater than 0.
    """

    rows: tuple[int, ...]
    delta: float

    def __post_init__(self) -> None:
        if number("Apart, delta", self.delta) <= 0:
            raise ConfigError(f"Apart, delta: {self.delta!r} must be greater than 0")
        _tidy(self)

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""
        _rows("Apart, rows", self.rows, n, least=2)

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return by how much a distance is too short."""
        i, j = np.triu_indices(len(self.rows), 1)
        at = np.array(self.rows)
        apart = cost.apart(space, X[at[i]], X[at[j]])
        return float(max(0.0, (self.delta - apart).max(initial=0.0)))


@dataclass(frozen=True)
class DistinctFeatures:
    """Diversity: no two of some instances change the same set of features.

    A continuous change as small as one likes would tell two sets apart at no cost, so that
    there were no cheapest answer: changes of these instances are none, or at least
    ``SMALLEST_CHANGE`` of the width of the feature's bounds.

    Attributes
    ----------
    rows : tuple of int
    """

    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        _tidy(self)

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""
        _rows("DistinctFeatures, rows", self.rows, n, least=2)

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return how many of the sets are not distinct from an earlier one."""
        at = list(self.rows)
        sets, moves = space.changed(X0, X)[at], np.abs(space.differences(X0, X))[at]
        tiny = (sets & (moves < (1 - 1e-3) * smallest_changes(space))).any(axis=1).sum()
        return float(len(sets) - len(np.unique(sets, axis=0)) + tiny)


@dataclass(frozen=True)
class Moments:
    """The group's mean stays: |mean x - mean x0| <= eps in every encoded column.

    Attributes
    ----------
    eps : float
        At least 0, in encoded units.
    features : tuple of str
        Names of the features; none stands for all.
    rows : tuple of int
        A subgroup; none stands for the whole group.
    """

    eps: float
    features: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if number("Moments, eps", self.eps) < 0:
            raise ConfigError(f"Moments, eps: {self.eps!r} must not be negative")
        _tidy(self)

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""
        _rows("Moments, rows", self.rows, n, least=0)
        _features("Moments, features", self.features, space)

    def columns(self, space: FeatureSpace) -> NDArray[np.int64]:
        """Return the encoded columns."""
        owners = [space.index(name) for name in self.features or space.names]
        return np.flatnonzero(np.isin(space.owner, owners))

    def members(self, n: int) -> list[int]:
        """Return the subgroup."""
        return list(self.rows or range(n))

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return by how much a mean moves too far."""
        at = self.members(len(X))
        drift = np.abs((X[at] - X0[at]).mean(axis=0))[self.columns(space)]
        return float(max(0.0, (drift - self.eps).max(initial=0.0)))


@dataclass(frozen=True)
class FairCost:
    """Mean cost of one group <= (1 + eps) times that of another.

    The cost of an instance is its distance and ``lam_ind`` for each feature it changes; with
    ``lam_ind``, the changes of the others are none or at least ``SMALLEST_CHANGE`` of the width
    of the feature's bounds.

    Attributes
    ----------
    group, others : tuple of int
    eps : float
        At least 0.
    """

    group: tuple[int, ...]
    others: tuple[int, ...]
    eps: float = 0.0

    def __post_init__(self) -> None:
        if number("FairCost, eps", self.eps) < 0:
            raise ConfigError(f"FairCost, eps: {self.eps!r} must not be negative")
        _tidy(self)

    def check(self, space: FeatureSpace, n: int) -> None:
        """Raise ConfigError where the constraint does not fit the group."""
        _rows("FairCost, group", self.group, n, least=1)
        _rows("FairCost, others", self.others, n, least=1)
        both = sorted(set(self.group) & set(self.others))
        if both:
            raise ConfigError(f"FairCost: instances {both} are in group and in others")

    def violation(self, space: FeatureSpace, cost: Cost, X0: Floats, X: Floats) -> float:
        """Return by how much the group's mean cost is too high."""
        costs = cost.distances(space, X0, X) + cost.lam_ind * space.changed(X0, X).sum(axis=1)
        limit = (1 + self.eps) * costs[list(self.others)].mean()
        return float(max(0.0, costs[list(self.group)].mean() - limit))


Linking = Lipschitz | SameValues | Apart | DistinctFeatures | Moments | FairCost


def _tidy(constraint: object) -> None:
    """Turn rows into whole numbers and lists into tuples; names what is neither."""
    kind = type(constraint).__name__
    for name in ("rows", "group", "others"):
        if hasattr(constraint, name):
            rows = listed(f"{kind}, {name}", getattr(constraint, name))
            whole_rows = tuple(whole(f"{kind}, {name}", row) for row in rows)
            object.__setattr__(constraint, name, whole_rows)
    if hasattr(constraint, "features"):
        features = listed(f"{kind}, features", constraint.features)
        for feature in features:
            instance_of(f"{kind}, features", feature, str)
        object.__setattr__(constraint, "features", features)


def _features(name: str, features: tuple[str, ...], space: FeatureSpace) -> None:
    for feature in features:
        if feature not in space.names:
            raise ConfigError(f"{name}: no feature {feature!r}; features are {space.names}")


def _rows(name: str, rows: tuple[int, ...], n: int, least: int) -> None:
    for row in rows:
        if row >= n:
            raise ConfigError(f"{name}: there is no instance {row} among {n} (counted from 0)")
    if len(set(rows)) != len(rows):
        raise ConfigError(f"{name}: an instance is named twice in {list(rows)}")
    if len(rows) < least:
        raise ConfigError(f"{name}: at least {least} instances are needed, {len(rows)} given")
