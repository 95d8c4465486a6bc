"""Cheapest changes of each instance for a tree ensemble, given which features may change.

The score is constant between consecutive thresholds of a feature, over all trees: on a *level*
of the feature, where only the value nearest to the instance's own is of interest. Costs
separate by feature, so the problem of one instance is to choose a level of each feature. The
branch and bound goes over boxes of levels, the cheapest box first. In a box, each tree gives
at most its highest leaf that meets the box and by itself does not cost more than the best
answer allows; a box whose trees do not reach the score together is dropped, and one whose
cheapest point reaches it is done. Everything else is split where the trees would gain most by
crossing. The first answer comes from a greedy ascent and descent. See
:mod:`groupcf.exact.cell_kernel`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.constraints import feasible_box, options
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.cell_kernel import NOMINAL, ORDERED, STOPPED, search_rows
from groupcf.exact.projection import OutOfTime
from groupcf.features import CHANGE_TOLERANCE, Feature, FeatureSpace, Kind
from groupcf.problems import Problem

MOST_CATEGORIES = 62
"""Categories of one nominal feature that trees may test: they are bits of one number."""

PROBE = 20_000
"""Nodes spent on finding out whether an instance can be reached at all."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reached:
    """Cheapest changes of some instances.

    Attributes
    ----------
    cost : ndarray of shape (n,)
        Distance, ``lam_ind`` and any extra charges; inf where the score is out of reach.
        Where the effort was limited, a lower bound.
    used : ndarray of shape (n, J) of bool
        Features that change.
    level : ndarray of shape (n, J) of int
    nodes : int
        Branch-and-bound nodes over all instances.
    """

    cost: Floats
    used: NDArray[np.bool_]
    level: Ints
    nodes: int


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of all features of a tree ensemble.

    Attributes
    ----------
    kind : ndarray of shape (J,)
        ORDERED or NOMINAL.
    offset : ndarray of shape (J + 1,)
        Where the levels of a feature begin in arrays over all levels.
    cuts : list of ndarray
        Thresholds of an ordered feature, ascending; level k is what exceeds k of them.
    tested : list of ndarray of int
        Categories of a nominal feature that some tree tests, one level each. If there are
        others, they share one more level.
    leaves : tuple of ndarray
        Leaves tree by tree, the highest first: first leaf of each tree, value, first entry of
        each leaf; feature and levels of each entry.
    """

    kind: Ints
    offset: Ints
    cuts: list[Floats]
    tested: list[Ints]
    leaves: tuple[NDArray[np.generic], ...]


def levels_of(space: FeatureSpace, score: TreeEnsembleScore) -> Levels:
    """Compile a tree ensemble into levels.

    Raises
    ------
    UnsupportedProblemError
        When trees test more than 62 categories of one feature.
    """
    kind, counts, cuts, tested = [], [], [], []
    for feature, block in zip(space.features, space.blocks, strict=True):
        if feature.kind is not Kind.NOMINAL:
            cut = score.thresholds(block.start)
            kind.append(ORDERED)
            cuts.append(cut)
            tested.append(np.empty(0, np.int64))
            counts.append(len(cut) + 1)
            continue
        known = [
            k for k in range(feature.width) if _splits(score.thresholds(block.start + k)).any()
        ]
        if len(known) > MOST_CATEGORIES:
            raise UnsupportedProblemError(
                f"feature {feature.name!r}: the trees test {len(known)} of its categories, more "
                f"than {MOST_CATEGORIES}; merge rare categories, or use the reference formulation"
            )
        kind.append(NOMINAL)
        cuts.append(np.empty(0))
        tested.append(np.array(known, np.int64))
        counts.append(len(known) + (len(known) < feature.width))
    offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    bare = Levels(np.array(kind, np.int64), offset, cuts, tested, ())
    return replace(bare, leaves=_leaves(space, score, bare))


def _look_up(table: Ints, values: Floats) -> Ints:
    return np.asarray(table[values.astype(int)])


def _place(cuts: Floats, values: Floats) -> Ints:
    return np.asarray(np.searchsorted(cuts, values), dtype=np.int64)


def _splits(thresholds: Floats) -> NDArray[np.bool_]:
    """Return which thresholds tell 0 from 1."""
    return (thresholds >= 0) & (thresholds < 1)


def _leaves(
    space: FeatureSpace, score: TreeEnsembleScore, levels: Levels
) -> tuple[NDArray[np.generic], ...]:
    owner, starts = space.owner, np.array([b.start for b in space.blocks])
    place = [{int(c): k for k, c in enumerate(known)} for known in levels.tested]
    by_tree: list[list[tuple[float, dict[int, tuple[int, int]]]]] = [
        [] for _ in range(score.n_trees)
    ]
    for leaf in score.leaves():
        box: dict[int, tuple[int, int]] = {}
        alive = True
        for tests, above in ((leaf.above, True), (leaf.up_to, False)):
            for column, cut in tests.items():
                if not np.isfinite(cut):
                    alive = alive and (cut < 0) == above
                    continue
                f = int(owner[column])
                whole = int(levels.offset[f + 1] - levels.offset[f])
                if levels.kind[f] == NOMINAL:
                    mask = box.get(f, ((1 << whole) - 1, 0))[0]
                    k = place[f].get(int(column - starts[f]))
                    if k is None:
                        alive = alive and (above if cut < 0 else not above)
                        continue
                    if not 0 <= cut < 1:
                        alive = alive and (above if cut < 0 else not above)
                        continue
                    mask &= (1 << k) if above else ~(1 << k)
                    box[f] = (mask, 0)
                    alive = alive and mask != 0
                else:
                    low, high = box.get(f, (0, whole - 1))
                    at = int(np.searchsorted(levels.cuts[f], cut))
                    box[f] = (max(low, at + 1), high) if above else (low, min(high, at))
        if alive:
            by_tree[leaf.tree].append((leaf.value, box))
    tree, value, first, feature, least, most = [0], [], [0], [], [], []
    for found in by_tree:
        for v, box in sorted(found, key=lambda item: -item[0]):
            value.append(v)
            for f in sorted(box):
                feature.append(f)
                least.append(box[f][0])
                most.append(box[f][1])
            first.append(len(feature))
        tree.append(len(value))
    ints = [np.array(x, np.int64) for x in (tree, first, feature, least, most)]
    return ints[0], np.array(value, float), *ints[1:]


class GroupCells:
    """What every level costs every instance, and the searches for the wanted class.

    The same interface as :class:`groupcf.exact.projection.GroupProjection`, for trees.

    Parameters
    ----------
    problem : Problem
        One-for-one, with a tree ensemble.

    Attributes
    ----------
    deficit : ndarray of shape (S,)
        Score that an instance is missing; not positive where it is wanted already.
    cap : ndarray of shape (S, J)
        The deficit where a feature can take another level, 0 elsewhere: one feature may be
        enough, and more is not known before a search.

    Raises
    ------
    UnsupportedProblemError
        For another score or allocation, or too many categories.
    """

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem.score, TreeEnsembleScore):
            raise UnsupportedProblemError("threshold cells need a tree ensemble")
        self.problem, self.score = problem, problem.score
        self.n_features = problem.space.n_features
        self.deficit = problem.target - problem.score.decision(problem.instances)
        limit = problem.one_for_one.max_changed
        self.limit = self.n_features if limit is None else limit
        self.levels = levels_of(problem.space, problem.score)
        self.needed = problem.target - problem.score.base + problem.score.rounding
        self._tabulate()
        starts = self.levels.offset[:-1]
        other = np.add.reduceat(np.isfinite(self._prices), starts, axis=1) > 1
        self.cap = np.where(other, np.maximum(self.deficit, 0.0)[:, None], 0.0)
        self._stop = np.zeros(1, np.uint8)

    def _tabulate(self) -> None:
        """Fill prices and values of all levels, and the instances' own levels."""
        space, X0, levels = self.problem.space, self.problem.instances, self.levels
        power = 2 if self.problem.cost.gauge == "l2_squared" else 1
        lower, upper = feasible_box(space, X0)
        n = int(levels.offset[-1])
        self._prices, self._values = np.full((len(X0), n), np.inf), np.zeros((len(X0), n))
        self._home = np.zeros((len(X0), self.n_features), np.int64)
        for f, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
            part = slice(int(levels.offset[f]), int(levels.offset[f + 1]))
            if feature.kind is Kind.NOMINAL:
                own = X0[:, block].argmax(axis=1).astype(float)
                at = np.full(feature.width, len(levels.tested[f]), np.int64)
                at[levels.tested[f]] = np.arange(len(levels.tested[f]))
                self._list(feature, f, part, own, partial(_look_up, at), power)
                continue
            own, cut = X0[:, block.start], levels.cuts[f]
            stepped = feature.kind is Kind.INTEGER and feature.allowed is None
            if feature.discrete and not stepped:
                self._list(feature, f, part, own, partial(_place, cut), power)
                continue
            home = np.searchsorted(cut, own)
            self._home[:, f] = home
            left, right = self.score.neighbours(block.start)
            at = np.arange(len(cut) + 1)[None, :]
            down = np.maximum(np.append(left, np.inf)[None, :], lower[:, block.start, None])
            up = np.minimum(np.insert(right, 0, -np.inf)[None, :], upper[:, block.start, None])
            # what is nearer than a change that counts is moved out to where it counts
            apart = 2 * CHANGE_TOLERANCE
            down = np.minimum(down, own[:, None] - apart)
            up = np.maximum(up, own[:, None] + apart)
            value = np.where(at < home[:, None], down, up)
            if stepped:
                raw = np.rint(value * feature.scale + feature.offset)
                value = (raw - feature.offset) / feature.scale
            inside = (value > np.insert(cut, 0, -np.inf)) & (value <= np.append(cut, np.inf))
            inside &= (value >= lower[:, block.start, None]) & (
                value <= upper[:, block.start, None]
            )
            price = feature.weight * np.abs(value - own[:, None]) ** power
            self._prices[:, part] = np.where(inside, price, np.inf)
            self._values[:, part] = value
            rows = np.arange(len(X0))
            self._prices[rows, part.start + home] = 0.0
            self._values[rows, part.start + home] = own

    def _list(
        self,
        feature: Feature,
        f: int,
        part: slice,
        own: Floats,
        level_of: Callable[[Floats], Ints],
        power: int,
    ) -> None:
        """Tabulate a feature of finitely many values."""
        distinct, inverse = np.unique(own, return_inverse=True)
        for k, value in enumerate(distinct):
            choice = options(feature, float(value))
            cost = np.full(len(choice), feature.weight)
            if feature.kind is not Kind.NOMINAL:
                cost = feature.weight * np.abs(choice - value) ** power
            cost[0] = 0.0
            at = level_of(choice)
            price, best = np.full(part.stop - part.start, np.inf), np.zeros(part.stop - part.start)
            for i in np.argsort(-cost, kind="stable"):
                price[at[i]], best[at[i]] = cost[i], choice[i]
            price[at[0]], best[at[0]] = 0.0, value
            rows = np.flatnonzero(inverse == k)
            self._home[rows, f] = at[0]
            self._prices[rows, part], self._values[rows, part] = price, best

    @contextmanager
    def deadline(self, seconds: float | None) -> Iterator[None]:
        """Interrupt searches with :class:`OutOfTime` after some seconds."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(max(0.0, seconds), self._stop.fill, args=(1,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            self._stop[0] = 0

    def project(
        self,
        rows: Ints,
        features: NDArray[np.bool_],
        *,
        extra: Floats | None = None,
        limit: int | None = None,
        floor: Floats | None = None,
        effort: int | None = None,
    ) -> Reached:
        """Find the cheapest change of each given instance.

        Parameters
        ----------
        rows : ndarray of shape (n,) of int
        features : ndarray of shape (J,) of bool
            Features that may change.
        extra : ndarray of shape (n, J), optional
            Further fixed charges of a used feature, on top of ``lam_ind``.
        limit : int, optional
            Further limit on the features that one instance may change.
        floor : ndarray of shape (n,), optional
            Known lower bounds on the costs; reaching one ends an instance's search early.
        effort : int, optional
            Most nodes spent on one instance; beyond them its cost is a lower bound only.

        Raises
        ------
        OutOfTime
            When a :meth:`deadline` strikes.
        """
        n = len(rows)
        charge = np.full((1, self.n_features), self.problem.cost.lam_ind)
        if extra is not None and n > 0:
            charge = charge + extra
        cost, bound = np.empty(n), np.empty(n)
        level = np.ascontiguousarray(self._home[rows])
        reasons = np.empty(n, np.int64)
        nodes = search_rows(
            np.ascontiguousarray(rows, np.int64),
            np.ascontiguousarray(features),
            self._home,
            self._prices,
            charge,
            self.levels.offset,
            self.levels.kind,
            self.levels.leaves,
            self.needed,
            self.limit if limit is None else min(limit, self.limit),
            np.inf,
            np.zeros(n) if floor is None else floor,
            np.iinfo(np.int64).max if effort is None else effort,
            self._stop,
            cost,
            bound,
            level,
            reasons,
        )
        used = level != self._home[rows]
        if (reasons == STOPPED).any():
            raise OutOfTime(bound, Reached(cost, used, level, int(nodes)))
        return Reached(bound, used, level, int(nodes))

    def unreachable(self, rows: Ints) -> tuple[NDArray[np.bool_], Floats | None]:
        """Return which rows are proven to be out of reach of the wanted class."""
        everything = np.ones(self.n_features, dtype=bool)
        found = self.project(rows, everything, effort=PROBE)
        return np.isinf(found.cost), None

    def points(self, rows: Ints, found: Reached) -> Floats:
        """Return the encoded counterfactuals of the instances searched, shape (n, D)."""
        space = self.problem.space
        X = self.problem.instances[rows].copy()
        for f, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
            moved = np.flatnonzero(found.used[:, f])
            value = self._values[rows[moved], self.levels.offset[f] + found.level[moved, f]]
            if feature.kind is Kind.NOMINAL:
                X[moved, block] = 0.0
                X[moved, block.start + value.astype(int)] = 1.0
            else:
                X[moved, block.start] = value
        return X
