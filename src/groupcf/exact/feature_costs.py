"""Cost of a group as a function of the set of features that may change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.cells import GroupCells
from groupcf.exact.projection import NEGLIGIBLE, GroupProjection
from groupcf.problems import TIED, Problem

Mask = NDArray[np.bool_]

CACHE_BYTES = 200_000_000
"""Memory that costs of feature sets already seen may take."""


@dataclass(frozen=True, eq=False)
class SetCosts:
    """What a set of features that may change costs.

    Attributes
    ----------
    cost : ndarray of shape (R,)
        Least cost by instance (distance and ``lam_ind``); inf where out of reach.
    used : ndarray of shape (R, J) of bool
        Features that the cheapest change of each instance touches.
    chosen : ndarray of int
        The instances that flip: as many as must, the cheapest, ties by position.
    value : float
        Cost of the chosen ones; inf when too few are within reach.
    """

    cost: NDArray[np.float64]
    used: Mask
    chosen: NDArray[np.int64]
    value: float

    @cached_property
    def features(self) -> Mask:
        """Features that some chosen instance changes, shape (J,)."""
        return np.asarray(self.used[self.chosen].any(axis=0))

    @cached_property
    def users(self) -> NDArray[np.int64]:
        """Number of chosen instances that change each feature, shape (J,)."""
        return np.asarray(self.used[self.chosen].sum(axis=0))


class GroupCosts:
    """Costs of feature sets, each instance solved anew only where it can differ.

    An instance whose cheapest change under a larger set stays within the smaller set costs
    the same there, so shrinking a set touches only the instances that used what is gone.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    projection : GroupProjection or GroupCells
    rows : ndarray of shape (R,) of int
        Instances that are not on the wanted side yet; they alone cost anything.
    need : int
        How many of those must flip.
    helpful : ndarray of shape (J,) of bool
        Features that can raise the score of one of them.
    seen : dict
        Number of changed features -> the least value met so far, and the features.
    """

    def __init__(self, problem: Problem) -> None:
        if problem.tied:
            raise UnsupportedProblemError(f"feature search cannot solve this problem: {TIED}")
        self.projection: GroupProjection | GroupCells
        if isinstance(problem.score, TreeEnsembleScore):
            self.projection = GroupCells(problem)
        else:
            self.projection = GroupProjection(problem)
        self.rows = np.flatnonzero(self.projection.deficit > 0)
        self.need = max(0, problem.flips - (problem.n_instances - len(self.rows)))
        self.deficit = self.projection.deficit[self.rows]
        self.cap = self.projection.cap[self.rows]
        self.helpful: Mask = np.asarray((self.cap > 0).any(axis=0))
        self._everyone = np.arange(len(self.rows))
        self.seen: dict[int, tuple[float, Mask]] = {}
        self._cache: dict[bytes, SetCosts] = {}
        self._cached_bytes = 0

    def choose(self, cost: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
        """Return the sum and the positions of the cheapest `need` costs."""
        if self.need == len(cost):
            return float(cost.sum()), self._everyone
        chosen = np.argsort(cost, kind="stable")[: self.need]
        return float(cost[chosen].sum()), chosen

    def evaluate(self, allowed: Mask, parent: SetCosts | None = None) -> SetCosts:
        """Return the costs of a feature set; `parent` belongs to any larger set."""
        key = np.packbits(allowed).tobytes()
        if key in self._cache:
            return self._cache[key]
        if parent is None:
            found = self.projection.project(self.rows, allowed)
            cost, used = found.cost, found.used
        else:
            stale = np.flatnonzero((parent.used & ~allowed).any(axis=1))
            floor = parent.cost[stale]
            found = self.projection.project(self.rows[stale], allowed, floor=floor)
            cost, used = parent.cost.copy(), parent.used.copy()
            cost[stale], used[stale] = found.cost, found.used
        value, chosen = self.choose(cost)
        costs = SetCosts(cost, used, chosen, value)
        size = cost.nbytes + used.nbytes + chosen.nbytes
        if self._cached_bytes + size <= CACHE_BYTES:
            self._cache[key] = costs
            self._cached_bytes += size
        return costs

    def remember(self, costs: SetCosts) -> None:
        """Keep a result for later searches on the same group."""
        size = int(costs.features.sum())
        if size not in self.seen or costs.value < self.seen[size][0]:
            self.seen[size] = (costs.value, costs.features)

    def fewest(self, inside: Mask, allowed: Mask) -> int | None:
        """Return a lower bound on the size of a working set between `inside` and `allowed`.

        None when not even `allowed` takes enough instances to the wanted side. Each
        instance may count on the features that raise its own score most.
        """
        base = self.cap[:, inside].sum(axis=1)
        rest = -np.sort(-self.cap[:, allowed & ~inside], axis=1)
        reach = np.column_stack([base, base[:, None] + np.cumsum(rest, axis=1)])
        enough = reach >= (self.deficit - NEGLIGIBLE * np.maximum(1.0, self.deficit))[:, None]
        works = enough.sum(axis=0) >= self.need
        return int(inside.sum()) + int(np.argmax(works)) if works.any() else None
