"""Clusters of a group: the heaviest ones, all above a weight, and who can be reached at all."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from groupcf.exact.pattern_models import Flags, Floats, LinearModel, compile_score, value
from groupcf.exact.pattern_oracle import (
    FOUND,
    NODES,
    OVERFLOW,
    TOP,
    Known,
    complete,
    matches,
)
from groupcf.exact.pattern_search import Board, Found, Frontier, search
from groupcf.exact.pattern_table import PatternTable
from groupcf.problems import Problem

Bits = NDArray[np.bool_]

_WORK = 100_000
_INNER = 200_000
_KNOWN = 128
_TABLE = 4096
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters (x, F, T), one a row.

    Attributes
    ----------
    members : ndarray of shape (N, n) of bool
        T.
    points : ndarray of shape (N, J) of int
        x, in value numbers.
    features : ndarray of shape (N, J) of bool
        F.
    """

    members: Bits
    points: NDArray[np.int32]
    features: Bits

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, which: NDArray[np.int64] | Bits | slice) -> Clusters:
        return Clusters(self.members[which], self.points[which], self.features[which])

    def joined(self, other: Clusters) -> Clusters:
        """Return these clusters and others after them."""
        return Clusters(
            np.concatenate([self.members, other.members]),
            np.concatenate([self.points, other.points]),
            np.concatenate([self.features, other.features]),
        )


@dataclass(frozen=True, eq=False)
class Duals:
    """Prices of rows, and of triples of rows: what a cluster must be worth to be of use.

    A triple R stands for the cut ``sum_c ceil(|T_c & R| / 2) lambda_c >= 2``, which every
    integer cover satisfies.

    Attributes
    ----------
    rows : ndarray of shape (n,)
    triples : ndarray of shape (C, 3) of int
    prices : ndarray of shape (C,)
    """

    rows: Floats
    triples: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 3), np.int32))
    prices: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def total(self) -> float:
        """Value of the dual solution, the bound that it proves if no cluster is worth over 1."""
        return float(self.rows.sum() + 2.0 * self.prices.sum())

    @cached_property
    def by_row(self) -> Floats:
        """Weight of each row alone: its own price and those of its triples."""
        weight = self.rows.copy()
        np.add.at(weight, self.triples.ravel(), np.repeat(self.prices, 3))
        return weight

    def worth(self, members: Bits) -> Floats:
        """Return what clusters with these members are worth, shape (N,)."""
        return np.asarray(members @ self.rows + rounded_up(members, self.triples) @ self.prices)

    def mixed(self, other: Floats, share: float) -> Duals:
        """Return these duals without triples, moved towards other prices of rows."""
        return Duals(share * other + (1.0 - share) * self.rows)


def rounded_up(members: Bits, triples: NDArray[np.int32]) -> Floats:
    """Return ceil(|T & R| / 2) by cluster and triple, shape (N, C)."""
    inside = members[:, triples.ravel()].reshape(len(members), len(triples), 3)
    return np.asarray((inside.sum(axis=2) + 1) // 2, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Priced:
    """Answer of a pricing call.

    Attributes
    ----------
    clusters : Clusters
        Heaviest first.
    bound : float
        No cluster weighs more.
    finished : bool
        Whether the search ended by itself, with every set of rows decided.
    """

    clusters: Clusters
    bound: float
    finished: bool


class PatternSearch:
    """Searches over the clusters of one group.

    Parameters
    ----------
    problem : Problem
        Sparse one-for-many, all features discrete.
    table : PatternTable
        Its rows; unreachable ones must be left out before anything is priced.

    Attributes
    ----------
    tally : ndarray
        Nodes, completions and inner nodes so far; see `pattern_oracle`.
    """

    def __init__(self, problem: Problem, table: PatternTable) -> None:
        self.table = table
        self.target = problem.target
        self.model = compile_score(problem.score, table)
        self.known = self._known(problem, table)
        self.tally = np.zeros(7, dtype=np.int64)
        self.board = self._board(table.codes)
        random = np.random.default_rng(0)
        self._keys = random.integers(0, 2**63, size=table.n_rows, dtype=np.int64).astype(np.uint64)

    def _known(self, problem: Problem, table: PatternTable) -> Known:
        """Start the list of points of the wanted class; few points are all listed at once."""
        if isinstance(self.model, LinearModel):
            return Known(np.empty((0, table.n_features), np.int32), np.zeros(1, int), False, False)
        if table.domain <= _TABLE:
            grids = np.meshgrid(*[np.arange(len(v)) for v in table.values], indexing="ij")
            codes = np.stack([g.ravel() for g in grids], axis=1).astype(np.int32)
            wanted = problem.score.decision(table.points(codes)) >= problem.target
            points = np.ascontiguousarray(codes[wanted])
            return Known(points, np.array([len(points)]), True, False)
        return Known(np.zeros((_KNOWN, table.n_features), np.int32), np.zeros(1, int), False, True)

    def _board(self, codes: NDArray[np.int32]) -> Board:
        t = self.table
        return Board(np.ascontiguousarray(codes), t.start, t.permitted, t.block, t.restricted)

    def restrict(self, rows: Bits) -> None:
        """Leave out rows for good."""
        self.board = self._board(self.board.codes[rows])
        self._keys = self._keys[rows]

    @property
    def n_rows(self) -> int:
        """Number of rows that are left."""
        return len(self.board.codes)

    def reaches(self, row: int, budget: int) -> bool | None:
        """Whether a row gets to the wanted class with so many changes; None if undecided."""
        t, x = self.table, np.zeros(self.table.n_features, np.int32)
        free = np.zeros(t.start[-1], dtype=bool)
        paid = np.zeros(t.start[-1], dtype=bool)
        for j, own in enumerate(self.board.codes[row]):
            paid[t.start[j] : t.start[j + 1]] = t.may_take(j)[own]
            free[t.start[j] + own] = True
        if self.known.complete or self.known.kept:
            if matches(self.known, t.start, free, paid, budget) >= 0:
                return True
            if self.known.complete:
                return False
        found = complete(
            self.model, self.target, t.start, free, paid, budget, _INNER, x, self.tally
        )
        if found == 1 and self.known.kept:
            self.known.points[self.known.met[0] % len(self.known.points)] = x
            self.known.met[0] += 1
        return None if found < 0 else found == 1

    def price(
        self,
        duals: Duals,
        threshold: float,
        count: int,
        until: float = math.inf,
        effort: int | None = None,
        extend: bool = True,
    ) -> Priced:
        """Find the heaviest clusters.

        Parameters
        ----------
        duals : Duals
            Prices of the n rows and of triples of them.
        threshold : float
            Only clusters heavier than this matter.
        count : int
            How many to keep.
        until : float
            Moment (``time.perf_counter``) at which to stop.
        effort : int, optional
            Nodes after which to stop once something is found.
        extend : bool
            Whether to free further features, as far as the budget goes, for more members.

        Returns
        -------
        Priced
        """
        heavy = np.flatnonzero(duals.by_row > 0)
        if not len(heavy):
            return Priced(self._none(), 0.0, True)
        found, bound, finished = self._run(heavy, duals, threshold, count, False, until, effort)
        order = np.argsort(-found.weight, kind="stable")
        members = np.zeros((len(order), self.n_rows), dtype=bool)
        members[:, heavy] = found.member[order]
        clusters = self.extended(members, found.point[order], duals.by_row, grow=extend)
        best = float(found.weight.max(initial=0.0))
        return Priced(clusters, max(best, bound), finished)

    def all_above(
        self, duals: Duals, threshold: float, limit: int, until: float = math.inf
    ) -> tuple[Clusters, bool]:
        """Find every cluster heavier than a threshold that no other one contains.

        Rows of weight zero are carried, so that the answer holds for covers of all rows. Other
        clusters, contained in one of these, may be among them.

        Returns
        -------
        clusters : Clusters
        complete : bool
            False if the limit on their number or the time came first.
        """
        rows = np.arange(self.n_rows)
        found, _, finished = self._run(rows, duals, threshold, limit, True, until, None)
        _, first = np.unique(found.key, return_index=True)
        first = np.sort(first)
        return self.extended(found.member[first], found.point[first], None), finished

    def _run(
        self,
        rows: NDArray[np.int64],
        duals: Duals,
        threshold: float,
        room: int,
        collect: bool,
        until: float,
        effort: int | None,
    ) -> tuple[Found, float, bool]:
        """Run a search to its end or its limits; return findings, bound on others, finished."""
        t, n = self.table, len(rows)
        board = self._board(self.board.codes[rows])
        place = np.full(self.n_rows, -1, dtype=np.int32)
        place[rows] = np.arange(n)
        depth = 2 * int(t.start[-1]) + 2
        frontier = Frontier(
            np.zeros((depth, n), np.int32),
            np.zeros(depth, np.int64),
            np.zeros(depth),
            np.zeros((depth, t.n_features), dtype=bool),
            np.zeros(depth, dtype=bool),
        )
        frontier.rows[0], frontier.size[0] = np.arange(n), n
        frontier.weight[0] = duals.total
        tally, missed = self.tally, np.zeros(1)
        tally[TOP] = 1
        last = None if effort is None else int(tally[NODES]) + effort
        parts: list[Found] = []
        counts: list[int] = []
        size = min(room, _CHUNK)
        while True:
            found = self._found(size, n)
            tally[FOUND] = tally[OVERFLOW] = 0
            while tally[TOP] > 0 and not tally[OVERFLOW] and time.perf_counter() < until:
                threshold = search(
                    board,
                    self.model,
                    self.target,
                    t.max_changed,
                    np.ascontiguousarray(duals.by_row[rows]),
                    place[duals.triples],
                    duals.prices,
                    self._keys[rows],
                    threshold,
                    collect,
                    frontier,
                    found,
                    self.known,
                    tally,
                    missed,
                    _WORK if effort is None else effort,
                    _INNER,
                )
                if last is not None and tally[FOUND] and tally[NODES] >= last:
                    break
            k = int(tally[FOUND])
            parts.append(found)
            counts.append(k)
            room -= k
            if not tally[OVERFLOW] or room <= 0:
                break
            size = min(room, _CHUNK)
        top = int(tally[TOP])
        left = float(frontier.weight[:top].max(initial=0.0))
        joined = Found(
            np.concatenate([part.member[:k] for part, k in zip(parts, counts, strict=True)]),
            np.concatenate([part.weight[:k] for part, k in zip(parts, counts, strict=True)]),
            np.concatenate([part.key[:k] for part, k in zip(parts, counts, strict=True)]),
            np.concatenate([part.point[:k] for part, k in zip(parts, counts, strict=True)]),
        )
        return joined, max(left, float(missed[0])), top == 0 and missed[0] == 0.0

    def _found(self, room: int, n: int) -> Found:
        return Found(
            np.zeros((room, n), dtype=bool),
            np.zeros(room),
            np.zeros(room, np.uint64),
            np.zeros((room, self.table.n_features), np.int32),
        )

    def _none(self) -> Clusters:
        n, J = self.n_rows, self.table.n_features
        return Clusters(np.zeros((0, n), bool), np.zeros((0, J), np.int32), np.zeros((0, J), bool))

    def fitting(self, points: NDArray[np.int32], features: Bits) -> Clusters:
        """Return clusters with all rows that agree with the points outside the features."""
        codes = self.board.codes
        fits = np.ones((len(points), self.n_rows), dtype=bool)
        for j in range(self.table.n_features):
            value = points[:, j]
            may = self.table.may_take(j)[codes[:, j]][:, value].T & features[:, j, None]
            fits &= (codes[:, j] == value[:, None]) | may
        return Clusters(fits, points, features)

    def extended(
        self,
        members: Bits,
        points: NDArray[np.int32],
        weight: Floats | None,
        *,
        grow: bool = True,
    ) -> Clusters:
        """Return clusters with these points and at least these members.

        Changes of the points that the score does not need are taken back first; then, to
        `grow`, further features are freed, those first that let in most weight. All rows that
        fit become members.
        """
        members, points = members.copy(), points.copy()
        features = np.zeros(points.shape, dtype=bool)
        gain = np.ones(self.n_rows) if weight is None else weight + 1e-6
        _extend(
            self.board,
            self.model,
            self.target,
            self.table.max_changed,
            gain,
            grow,
            members,
            points,
            features,
        )
        return Clusters(members, points, features)


@njit(cache=True, nogil=True)
def _extend(
    board: Board,
    model: object,
    target: float,
    budget: int,
    weight: Floats,
    grow: bool,
    members: Flags,
    points: NDArray[np.int32],
    features: Flags,
) -> None:
    codes, start = board.codes, board.start
    n, n_features = codes.shape
    missing = np.empty(n, np.int64)
    gain = np.empty(n_features)
    for k in range(len(members)):
        x, inside, changed = points[k], members[k], features[k]
        first = np.argmax(inside)
        for j in range(n_features):
            for s in range(n):
                if inside[s] and codes[s, j] != codes[first, j]:
                    changed[j] = True
                    break
        for j in range(n_features):
            if not changed[j] and x[j] != codes[first, j]:
                taken = x[j]
                x[j] = codes[first, j]
                if value(model, start, x) < target:
                    x[j] = taken
                    changed[j] = True
        left = budget - changed.sum() if grow else 0
        while True:
            gain[:] = 0.0
            nearest, fewest = -1, left + 1
            for s in range(n):
                missing[s] = 0
                where = -1
                for j in range(n_features):
                    if codes[s, j] != x[j]:
                        if not changed[j]:
                            missing[s] += 1
                            where = j
                        width = start[j + 1] - start[j]
                        if not board.permitted[board.block[j] + codes[s, j] * width + x[j]]:
                            missing[s] = n_features + 1
                            break
                if missing[s] == 1:
                    gain[where] += weight[s]
                elif 1 < missing[s] < fewest:
                    nearest, fewest = s, missing[s]
            if left == 0:
                break
            best = np.argmax(gain)
            if gain[best] > 0.0:
                changed[best] = True
                left -= 1
            elif nearest >= 0:
                for j in range(n_features):
                    if codes[nearest, j] != x[j] and not changed[j]:
                        changed[j] = True
                        left -= 1
            else:
                break
        for s in range(n):
            inside[s] = missing[s] == 0
