"""Least costly changes in the free disposal hull: the cheapest of many boxes.

Efficiency reaches a target when no unit that does better dominates. Such a unit is escaped in
any one of the goods, so the changes that escape all of them form a union of boxes, whose best
corners (local upper bounds) are found by a best-first search. Costs only grow from a box to
those inside it, so the cheapest open box is a lower bound at any time.
"""

from __future__ import annotations

import heapq
import time

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.fdh import FreeDisposalHull
from groupcf.benchmarking.moves import Move
from groupcf.benchmarking.search import Found

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MARGIN = 1e-6
"""How far an output must exceed that of a unit it escapes, in means of the column.

Equal is not enough, and just above has no smallest value.
"""
_EQUAL = 1e-12


class Escapes:
    """The units that a unit has to escape, and what escaping takes.

    Parameters
    ----------
    hull : FreeDisposalHull
    move : Move
    other : ndarray
        The scaled goods that do not change: outputs for changed inputs, inputs for outputs.
    target : float
    skip : int
        A unit that is no part of the technology; -1 for none.
    """

    def __init__(
        self, hull: FreeDisposalHull, move: Move, other: Floats, target: float, skip: int = -1
    ) -> None:
        self._move, self._inputs = move, move.sign < 0
        self._ends: Floats | None = None
        if self._inputs:
            dominates = (other <= hull.Y).all(axis=1)
            goods = hull.X / target
            certain = hull.X == 0  # nothing is below zero: no escape through this input
        else:
            ratio = hull.ratios(other)
            dominates = ratio < target * (1.0 - _EQUAL)
            goods, able = hull.Y, np.isfinite(ratio) & ~dominates
            if skip >= 0:
                able[skip] = False
            self._ends = hull.Y[able]
            certain = np.zeros_like(goods, dtype=bool)
        if skip >= 0:
            dominates[skip] = False
        if self._inputs:
            dominates &= (certain | (goods < move.start * (1.0 - _EQUAL))).all(axis=1)
        else:
            dominates &= (goods >= move.start * (1.0 - _EQUAL)).all(axis=1)
        need = self._escape(goods[dominates], certain[dominates])
        self._need = need[_minimal(-need)]  # who escapes these escapes the others as well

    def _escape(self, goods: Floats, certain: Flags) -> Floats:
        """Return the change of each good with which each unit is escaped; inf if not allowed."""
        move = self._move
        need = move.sign * (goods - move.start)
        if not self._inputs:
            need = np.where(move.unit > 0, need + 1e-9 * move.unit, need + MARGIN)
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.ceil((need - move.first) / move.unit - _EQUAL)
            whole = move.first + np.maximum(steps, 0.0) * move.unit
        need = np.where(move.unit > 0, whole, need)
        need = np.where((need > move.cap) & (need <= move.cap * (1 + _EQUAL)), move.cap, need)
        return np.where(certain | (need > move.cap), np.inf, need)

    def open(self, d: Floats) -> NDArray[np.int64]:
        """Return the units not yet escaped after changes d."""
        return np.flatnonzero((d < self._need * (1.0 - _EQUAL)).all(axis=1))

    def needs(self, units: NDArray[np.int64]) -> Floats:
        """Return the changes with which units are escaped, shape (units, n)."""
        return np.asarray(self._need[units])

    def exists(self, d: Floats) -> bool:
        """Whether any unit makes the outputs after changes d at all."""
        if self._ends is None:
            return True
        return bool((self._ends >= self._move.point(d) * (1.0 - _EQUAL)).all(axis=1).any())


def _minimal(points: Floats) -> NDArray[np.int64]:
    """Return the points below which no other lies, each value once."""
    kept: list[int] = []
    _, unique = np.unique(points, axis=0, return_index=True)
    order = unique[np.argsort(np.where(np.isinf(points), -1e300, points)[unique].sum(axis=1))]
    for p in order:
        if not kept or not (points[kept] <= points[p]).all(axis=1).any():
            kept.append(int(p))
    return np.array(kept, dtype=np.int64)


def least_cost_boxes(escapes: Escapes, move: Move, deadline: float | None = None) -> Found:
    """Find the cheapest changes that escape all units; see `search.least_cost`."""

    def cost(d: Floats) -> float:
        return float(np.sum(move.charge * (d > 0) + move.linear * d + move.quadratic * d**2))

    begin = np.zeros(len(move.cap))
    heap: list[tuple[float, tuple[float, ...]]] = [(0.0, tuple(begin))]
    seen = {tuple(begin)}
    rounds = 0
    while heap:
        value, corner = heapq.heappop(heap)
        rounds += 1
        d = np.array(corner)
        units = escapes.open(d)
        if not len(units):
            return Found(d, value, value, rounds, True)
        if deadline is not None and time.perf_counter() > deadline:
            return Found(None, np.inf, value, rounds, False)
        needs = escapes.needs(units)
        extra = np.where(np.isinf(needs), np.inf, needs - d)
        pick = int(np.argmax(extra.min(axis=1)))  # the unit that is hardest to escape
        for i in np.flatnonzero(np.isfinite(needs[pick])):
            child = d.copy()
            child[i] = needs[pick, i]
            key = tuple(child)
            if key not in seen and escapes.exists(child):
                seen.add(key)
                heapq.heappush(heap, (cost(child), key))
    return Found(None, np.inf, np.inf, rounds, True)
