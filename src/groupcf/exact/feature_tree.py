"""Depth-first search over the sets of features that the group changes.

Costs fall as more features may change, so the cost of everything not decided out, plus
``lam_glob`` for what is decided in, bounds a node from below. When that alone does not finish
quickly, features are priced (:mod:`groupcf.exact.feature_bounds`), which bounds joint problems
almost to the optimum and decides most features at the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.feature_bounds import priced_bound
from groupcf.exact.feature_costs import GroupCosts, Mask, SetCosts
from groupcf.exact.projection import OutOfTime
from groupcf.solution import Progress

PROOF_TOLERANCE = 1e-10
"""Relative improvement below which a node is not worth exploring."""

SIMPLE_NODES = 1000
"""Nodes explored with the simple bound before features are priced at the root."""

REDUCED_NODES = 4000
"""Nodes then explored with the simple bound, before features are priced in every node."""

ROOT_STEPS, NODE_STEPS = 150, 12


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A set of features decided in, and those not decided out.

    `costs` belong to `allowed`, or to a larger set when `fresh` is False.
    """

    inside: Mask
    allowed: Mask
    bound: float
    costs: SetCosts
    fresh: bool = True
    prices: NDArray[np.float64] | None = None


class FeatureTree:
    """One search for the cheapest set of features.

    Parameters
    ----------
    group : GroupCosts
    f_max : int
        Limit on the number of features changed by the group.
    lam_glob : float
    lower : float
        Lower bound known beforehand.
    until : float or None
        Value of ``time.perf_counter()`` at which to stop.
    on_progress : callable, optional
        Called with each new :class:`Progress`.

    Attributes
    ----------
    best : float
        Value of the incumbent, ``lam_glob`` included; inf without one.
    features : ndarray of shape (J,) of bool or None
        Features that the incumbent changes.
    bound : float
        Proven lower bound; inf when the problem is infeasible.
    nodes : int
    complete : bool
        Whether the search ran to proof.
    history : list of Progress
    """

    def __init__(
        self,
        group: GroupCosts,
        f_max: int,
        lam_glob: float,
        *,
        lower: float = 0.0,
        until: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.group, self.f_max, self.lam_glob = group, f_max, lam_glob
        self.best = np.inf
        self.features: Mask | None = None
        self.bound, self.nodes, self.complete = lower, 0, False
        self.history: list[Progress] = []
        self._start = time.perf_counter()
        self._until, self._on_progress = until, on_progress
        self._first = False
        for value, features in group.seen.values():
            self._offer(features, value)

    def run(self, *, first: bool = False, budget: int | None = None) -> None:
        """Search to proof, to the time limit, or (`first`) to the first incumbent.

        `budget` limits the number of nodes.
        """
        self._first = first
        seconds = None if self._until is None else self._until - time.perf_counter()
        try:
            with self.group.projection.deadline(seconds):
                self._search(budget)
        except OutOfTime:
            return

    def _search(self, budget: int | None) -> None:
        allowed = self.group.helpful
        root = Node(np.zeros_like(allowed), allowed, 0.0, self.group.evaluate(allowed))
        self._consider(root.costs)
        if not self._first:
            self._eliminate(root.costs)
        if self._explore(root, SIMPLE_NODES if budget is None else budget) or budget is not None:
            return
        bound, inside, allowed, costs, prices = self._price(root, ROOT_STEPS)
        root = Node(inside, allowed, bound, costs, True, prices)
        if not self._explore(root, REDUCED_NODES):
            self._explore(root, None, priced=True)

    def _explore(self, root: Node, budget: int | None, *, priced: bool = False) -> bool:
        """Explore depth first; return whether nothing is left to explore."""
        stack = [root]
        nodes = 0
        while stack:
            if self._first and self.features is not None:
                return True
            self._raise_bound(min(node.bound for node in stack))
            if self.bound >= self._cut():
                break
            if budget is not None and nodes >= budget:
                return False
            if self._until is not None and time.perf_counter() > self._until:
                raise OutOfTime
            node = stack[-1]
            if node.bound < self._cut():
                nodes += 1
                self.nodes += 1
                children = self._expand(node, priced)
            else:
                children = []
            stack.pop()
            stack += children
        self._raise_bound(self.best)
        self.complete = True
        return True

    def _expand(self, node: Node, priced: bool) -> list[Node]:
        """Bound a node; return its children, the one to be explored next at the end."""
        inside, allowed, costs = node.inside, node.allowed, node.costs
        if not node.fresh:
            costs = self.group.evaluate(allowed, costs)
            self._consider(costs)
        bound = self._simple_bound(inside, allowed, costs)
        prices: NDArray[np.float64] | None = None
        if priced and bound < self._cut() and (costs.features & ~inside).any():
            here = Node(inside, allowed, bound, costs, True, node.prices)
            bound, inside, allowed, costs, prices = self._price(here, NODE_STEPS)
        bound = max(bound, node.bound)
        wanted = costs.features & ~inside
        if bound >= self._cut() or not wanted.any():
            return []
        if int(inside.sum()) == self.f_max:
            return [Node(inside, inside, bound, costs, False, prices)]
        j = int(np.argmax(np.where(wanted, costs.users, -1)))
        one = np.zeros_like(inside)
        one[j] = True
        return [
            Node(inside, allowed & ~one, bound, costs, False, prices),
            Node(inside | one, allowed, bound, costs, True, prices),
        ]

    def _price(
        self, node: Node, steps: int
    ) -> tuple[float, Mask, Mask, SetCosts, NDArray[np.float64]]:
        """Bound a node by pricing, and decide what the prices decide."""
        inside, allowed, costs = node.inside, node.allowed, node.costs
        strong = priced_bound(
            self.group,
            costs,
            inside,
            allowed,
            f_max=self.f_max,
            lam_glob=self.lam_glob,
            upper=self._cut(),
            prices=node.prices,
            iterations=steps,
        )
        bound = strong.value
        if bound < self._cut():
            self._consider(self.group.evaluate(strong.proposal, costs))
            inside = inside | strong.must
            allowed = allowed & ~strong.never
            costs = self.group.evaluate(allowed, costs)
            self._consider(costs)
            bound = max(bound, self._simple_bound(inside, allowed, costs))
        return bound, inside, allowed, costs, strong.prices

    def _simple_bound(self, inside: Mask, allowed: Mask, costs: SetCosts) -> float:
        if self.f_max >= self.group.projection.n_features and self.lam_glob == 0:
            return costs.value
        fewest = self.group.fewest(inside, allowed)
        if fewest is None or fewest > self.f_max:
            return np.inf
        return costs.value + self.lam_glob * fewest

    def _eliminate(self, costs: SetCosts) -> None:
        """Drop features one by one, each time the one that is missed least."""
        while True:
            self._consider(costs)
            current = costs.features
            if not current.any():
                return
            trials = []
            for j in np.flatnonzero(current):
                smaller = current.copy()
                smaller[j] = False
                trials.append(self.group.evaluate(smaller, costs))
            totals = [t.value + self.lam_glob * int(t.features.sum()) for t in trials]
            total = costs.value + self.lam_glob * int(current.sum())
            k = int(np.argmin(totals))
            if not np.isfinite(totals[k]):
                return
            if int(current.sum()) <= self.f_max and totals[k] >= total:
                return
            costs = trials[k]

    def _consider(self, costs: SetCosts) -> None:
        if np.isfinite(costs.value):
            self.group.remember(costs)
            self._offer(costs.features, costs.value)

    def _offer(self, features: Mask, value: float) -> None:
        size = int(features.sum())
        total = value + self.lam_glob * size
        if size <= self.f_max and total < self._cut():
            self.best, self.features = total, features
            self._report()

    def _cut(self) -> float:
        """Value at or above which nothing is of interest any more."""
        if not np.isfinite(self.best):
            return np.inf
        return float(self.best - PROOF_TOLERANCE * max(1.0, abs(self.best)))

    def _raise_bound(self, bound: float) -> None:
        bound = min(bound, self.best)
        if bound > self.bound:
            self.bound = bound
            self._report()

    def _report(self) -> None:
        incumbent = self.best if np.isfinite(self.best) else None
        bound = self.bound if np.isfinite(self.bound) else None
        point = Progress(time.perf_counter() - self._start, incumbent, bound)
        self.history.append(point)
        if self._on_progress is not None:
            self._on_progress(point)
