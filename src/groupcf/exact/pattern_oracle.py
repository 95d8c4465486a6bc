"""Whether a set of points has one of the wanted class (models.md section 4).

The question that pattern search asks of a classifier, for sets as in `pattern_models`. Points
met before answer it first, then a climb from the point that the bound proposes, then branch and
bound over the values of the features. For a linear score the bound itself is the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from groupcf.exact.pattern_models import Integers, LinearModel, is_model, upper, value

FOUND, TOP, NODES, COMPLETIONS, INNER, UNKNOWN, OVERFLOW = range(7)
"""Places of the counters in `tally`: clusters found, open nodes, nodes, questions asked, nodes
of branch and bound behind them, questions left open, and whether room for clusters ran out."""


class Known(NamedTuple):
    """Points of the wanted class met so far, ``met[0]`` in number.

    `complete` if these are all there are, `kept` if new ones are written down.
    """

    points: NDArray[np.int32]
    met: Integers
    complete: bool
    kept: bool


@njit(cache=True, nogil=True)
def copy(source: Any, to: Any, size: int) -> None:
    """Copy the first entries of an array."""
    # an assignment of arrays takes numba seconds to compile, a loop does not
    for i in range(size):
        to[i] = source[i]


@njit(cache=True, nogil=True)
def fill(to: Any, first: int, last: int, what: Any) -> None:
    """Write one value to entries `first` to `last` - 1."""
    for i in range(first, last):
        to[i] = what


@njit(cache=True, nogil=True)
def matches(known: Any, start: Any, free: Any, paid: Any, budget: int) -> int:
    """Return the place of a known point in a set of points, or -1."""
    for k in range(min(known.met[0], len(known.points))):
        charge = 0
        for j in range(len(start) - 1):
            v = start[j] + known.points[k, j]
            if not free[v]:
                charge += 1
                if not paid[v] or charge > budget:
                    charge = budget + 1
                    break
        if charge <= budget:
            return k
    return -1


@njit(cache=True, nogil=True)
def _climb(
    model: Any, target: float, start: Any, free: Any, paid: Any, budget: int, x: Any
) -> bool:
    """Improve a point of a set, one value at a time, until it is of the wanted class."""
    n = len(start) - 1
    now = value(model, start, x)
    charge = 0
    for j in range(n):
        charge += not free[start[j] + x[j]]
    for _ in range(2 * n):
        if now >= target:
            return True
        best, where, which = now, -1, -1
        for j in range(n):
            own = x[j]
            spare = budget - charge + (not free[start[j] + own])
            for v in range(start[j + 1] - start[j]):
                at = start[j] + v
                if v == own or not (free[at] or (paid[at] and spare > 0)):
                    continue
                x[j] = v
                score = value(model, start, x)
                if score > best:
                    best, where, which = score, j, v
            x[j] = own
        if where < 0:
            return False
        charge += int(free[start[where] + x[where]]) - int(free[start[where] + which])
        x[where] = which
        now = best
    return now >= target


@njit(cache=True, nogil=True)
def _branch(
    model: Any,
    target: float,
    start: Any,
    free: Any,
    paid: Any,
    budget: int,
    limit: int,
    x: Any,
    tally: Any,
) -> int:
    # depth first over the values of the feature that the bound hangs on most
    n = len(start) - 1
    n_values = len(free)
    importance = np.empty(n)
    if upper(model, start, free, paid, budget, x, importance) < target:
        return 0
    if _climb(model, target, start, free, paid, budget, x):
        return 1
    frees = np.empty((n + 1, len(free)), np.bool_)
    paids = np.empty((n + 1, len(free)), np.bool_)
    budgets = np.empty(n + 1, np.int64)
    feature = np.empty(n + 1, np.int64)
    tried = np.empty((n + 1, len(free)), np.bool_)
    copy(free, frees[0], n_values)
    copy(paid, paids[0], n_values)
    budgets[0] = budget
    level = 0
    fresh = True
    for _ in range(limit):
        if fresh:
            tally[INNER] += 1
            if budgets[level] == 0:
                fill(paids[level], 0, n_values, False)
            bound = upper(model, start, frees[level], paids[level], budgets[level], x, importance)
            feature[level] = -1
            if bound >= target:
                if value(model, start, x) >= target:
                    return 1
                for j in range(n):
                    open_values = 0
                    for v in range(start[j], start[j + 1]):
                        open_values += frees[level, v] or paids[level, v]
                    if open_values > 1 and (
                        feature[level] < 0 or importance[j] > importance[feature[level]]
                    ):
                        feature[level] = j
                fill(tried[level], 0, n_values, False)
        j = feature[level]
        pick = -1
        if j >= 0:
            if fresh:
                pick = start[j] + x[j]  # the bound's own choice first
            else:
                for v in range(start[j], start[j + 1]):
                    if (frees[level, v] or paids[level, v]) and not tried[level, v]:
                        pick = v
                        break
        if pick < 0:
            if level == 0:
                return 0
            level -= 1
            fresh = False
            continue
        tried[level, pick] = True
        copy(frees[level], frees[level + 1], n_values)
        copy(paids[level], paids[level + 1], n_values)
        budgets[level + 1] = budgets[level] - (not frees[level, pick])
        fill(frees[level + 1], start[j], start[j + 1], False)
        fill(paids[level + 1], start[j], start[j + 1], False)
        frees[level + 1, pick] = True
        level += 1
        fresh = True
    return -1


def _complete(
    model: Any,
    target: Any,
    start: Any,
    free: Any,
    paid: Any,
    budget: Any,
    limit: Any,
    x: Any,
    tally: Any,
) -> int:
    raise NotImplementedError


def _complete_linear(
    model: Any,
    target: Any,
    start: Any,
    free: Any,
    paid: Any,
    budget: Any,
    limit: Any,
    x: Any,
    tally: Any,
) -> int:
    importance = np.empty(len(start) - 1)  # the bound is the score of its point
    return int(upper(model, start, free, paid, budget, x, importance) >= target)


def _complete_other(
    model: Any,
    target: Any,
    start: Any,
    free: Any,
    paid: Any,
    budget: Any,
    limit: Any,
    x: Any,
    tally: Any,
) -> int:
    return _branch(model, target, start, free, paid, budget, limit, x, tally)


@overload(_complete, inline="never")
def _choose_complete(
    model: Any,
    target: Any,
    start: Any,
    free: Any,
    paid: Any,
    budget: Any,
    limit: Any,
    x: Any,
    tally: Any,
) -> Any:
    return _complete_linear if is_model(model, LinearModel) else _complete_other


@njit(cache=True, nogil=True)
def complete(
    model: Any,
    target: float,
    start: Any,
    free: Any,
    paid: Any,
    budget: int,
    limit: int,
    x: Any,
    tally: Any,
) -> int:
    """Find a point of the wanted class in a set of points: 1 found, 0 there is none, -1 unknown.

    Exact at once for a linear score, by branch and bound with `limit` nodes at most for others.
    Writes the point to `x`.
    """
    return _complete(model, target, start, free, paid, budget, limit, x, tally)
