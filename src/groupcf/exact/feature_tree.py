"""Depth-first search over the sets of features that the group changes.

Costs fall as more features may change, so the cost of everything not decided out, plus
``lam_glob`` for what is decided in, bounds a node from below. When that alone does not finish
quickly, features are priced (:mod:`groupcf.exact.feature_bounds`), which bounds joint problems
almost to the optimum and decides most features at the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.feature_bounds import priced_bound
from groupcf.exact.feature_costs import GroupCosts, Mask, SetCosts
from groupcf.exact.projection import OutOfTime
from groupcf.solution import Progress

PROOF_TOLERANCE = 1e-10
"""Relative improvement below which a node is not worth exploring."""

STAGES = ((20, 1000), (150, 4000))
"""Steps of pricing at the root, and how many nodes are then explored with the simple bound,
before the next stage starts over with what is decided by then. After the last one, features
are priced in every node."""

QUICK_NODES = 10
"""Nodes explored before any pricing, and one more for every two instances: a step of pricing
solves all instances anew, a node only some."""

NODE_STEPS = 12


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A set of features decided in, and those not decided out.

    `costs` belong to `allowed`, or to a larger set when `fresh` is False; `fewest` is a lower
    bound on the number of features that a solution below this node changes.
    """

    inside: Mask
    allowed: Mask
    bound: float
    fewest: int
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
    found : object or None
        The incumbent itself where the time limit struck before its features were evaluated.
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
        self.best = self._cut = np.inf
        self.features: Mask | None = None
        self.bound, self.nodes, self.complete = lower, 0, False
        self.found: Any = None
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
        allowed, nothing = self.group.helpful, np.zeros_like(self.group.helpful)
        try:
            costs = self.group.evaluate(allowed)
        except OutOfTime as stop:
            self._salvage(stop)
            raise
        root = Node(nothing, allowed, 0.0, 0, costs)
        self._consider(costs)
        if not self._first and np.isfinite(costs.value):
            self._eliminate(costs)
        quick = QUICK_NODES + len(self.group.rows) // 2
        if self._explore(root, quick if budget is None else budget) or budget is not None:
            return
        for steps, nodes in STAGES:
            root = self._price(root, steps)
            if self._explore(root, nodes):
                return
        self._explore(root, None, priced=True)

    def _explore(self, root: Node, budget: int | None, *, priced: bool = False) -> bool:
        """Explore depth first; return whether nothing is left to explore."""
        stack = [root]
        nodes = 0
        while stack:
            if self._first and self.features is not None:
                return True
            self._raise_bound(min(node.bound for node in stack))
            if self.bound >= self._cut:
                break
            if budget is not None and nodes >= budget:
                return False
            if self._until is not None and time.perf_counter() > self._until:
                raise OutOfTime
            node = stack[-1]
            if node.bound < self._cut:
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
        node = self._bound(node)
        if priced and node.bound < self._cut and (node.costs.features & ~node.inside).any():
            node = self._price(node, NODE_STEPS)
        inside, allowed, costs = node.inside, node.allowed, node.costs
        wanted = costs.features & ~inside
        if node.bound >= self._cut or not wanted.any():
            return []
        size = int(inside.sum())
        if size == self.f_max:
            return [replace(node, allowed=inside, fresh=False)]
        j = int(np.argmax(np.where(wanted, costs.users, -1)))
        without, within = allowed.copy(), inside.copy()
        without[j], within[j] = False, True
        return [
            replace(node, allowed=without, fresh=False),
            replace(node, inside=within),
        ]

    def _bound(self, node: Node) -> Node:
        """Evaluate a node and bound it by the cost of all that it allows."""
        costs = node.costs
        if not node.fresh:
            costs = self.group.evaluate(node.allowed, costs)
            self._consider(costs)
        fewest = max(node.fewest, int(node.inside.sum()))
        bound = costs.value + self.lam_glob * fewest
        counts = self.lam_glob > 0 or self.f_max < self.group.projection.n_features
        if counts and bound < self._cut:
            least = self.group.fewest(node.inside, node.allowed)
            fewest = self.f_max + 1 if least is None else max(fewest, least)
            bound = costs.value + self.lam_glob * fewest
        if fewest > self.f_max:
            bound = np.inf
        return replace(node, costs=costs, fewest=fewest, bound=max(bound, node.bound), fresh=True)

    def _price(self, node: Node, steps: int) -> Node:
        """Bound a node by pricing, and decide what the prices decide."""
        strong = priced_bound(
            self.group,
            node.costs,
            node.inside,
            node.allowed,
            f_max=self.f_max,
            lam_glob=self.lam_glob,
            upper=self._cut,
            prices=node.prices,
            iterations=steps,
        )
        node = replace(node, bound=max(node.bound, strong.value), prices=strong.prices)
        if node.bound >= self._cut:
            return node
        self._consider(self.group.evaluate(strong.proposal, node.costs))
        inside, allowed = node.inside | strong.must, node.allowed & ~strong.never
        return self._bound(replace(node, inside=inside, allowed=allowed, fresh=False))

    def _eliminate(self, costs: SetCosts) -> None:
        """Drop features one by one, those first that are missed least by themselves."""

        def drop(j: int, costs: SetCosts, allowed: Mask) -> tuple[SetCosts, Mask]:
            smaller = allowed.copy()
            smaller[j] = False
            return self.group.evaluate(smaller, costs), smaller

        allowed = costs.features
        used = np.flatnonzero(allowed)
        missed = [drop(int(j), costs, allowed)[0].value for j in used]
        for k in np.argsort(missed, kind="stable"):
            trial, smaller = drop(int(used[k]), costs, allowed)
            if np.isfinite(trial.value):
                costs, allowed = trial, smaller
                self._consider(costs)

    def _salvage(self, stop: OutOfTime) -> None:
        """Keep what instances solved before the time limit, and bounds of all, amount to."""
        if stop.bounds is None:
            return
        self._raise_bound(self.group.choose(stop.bounds)[0])
        value, chosen = self.group.choose(stop.found.cost)
        if np.isfinite(value):
            self._offer(np.asarray(stop.found.used[chosen].any(axis=0)), value)
            if self.features is not None:
                self.found = stop.found

    def _consider(self, costs: SetCosts) -> None:
        if np.isfinite(costs.value):
            self.group.remember(costs)
            self._offer(costs.features, costs.value)

    def _offer(self, features: Mask, value: float) -> None:
        size = int(features.sum())
        total = value + self.lam_glob * size
        if size <= self.f_max and total < self._cut:
            self.best, self.features = total, features
            # at or above this value nothing is of interest any more
            self._cut = total - PROOF_TOLERANCE * max(1.0, abs(total))
            self._report()

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
