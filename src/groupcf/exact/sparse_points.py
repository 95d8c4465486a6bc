"""The point of a cluster that changes least: readable counterfactuals, same clusters."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from groupcf.exact.pattern_models import Flags, Floats, Integers, Model, value
from groupcf.exact.pattern_pricing import Clusters
from groupcf.exact.pattern_search import Board


def least_changes(
    board: Board,
    model: Model,
    target: float,
    budget: int,
    clusters: Clusters,
    multiplicity: Integers,
    *,
    pairs: bool = False,
) -> Clusters:
    """Return the same clusters with points that change as little as a local search finds.

    Counted are changed features of all members together. Every point is at least as good as
    the one given, of the wanted class and within the budget.

    Parameters
    ----------
    board, model, target, budget
        Of a pattern search.
    clusters : Clusters
    multiplicity : ndarray of shape (n,) of int
        Instances that a row stands for.
    pairs : bool
        Also try two changes at once.
    """
    points = clusters.points.copy()
    features = np.zeros_like(clusters.features)
    _least_changes(
        board,
        model,
        target,
        budget,
        clusters.members,
        multiplicity,
        points,
        features,
        pairs,
    )
    return Clusters(clusters.members, points, features)


@njit(cache=True, nogil=True)
def _least_changes(
    board: Board,
    model: Model,
    target: float,
    budget: int,
    members: Flags,
    multiplicity: Integers,
    points: NDArray[np.int32],
    features: Flags,
    pairs: bool,
) -> None:
    codes, start = board.codes, board.start
    n, n_features = codes.shape
    cost = np.empty(start[n_features])
    extra = np.zeros(start[n_features], np.int64)
    fresh = np.empty(n_features, np.int32)
    for k in range(len(members)):
        x = points[k]
        common = 0  # features in which the members differ
        for j in range(n_features):
            width = start[j + 1] - start[j]
            first, differs = -1, False
            for v in range(width):
                cost[start[j] + v] = 0.0
            for s in range(n):
                if not members[k, s]:
                    continue
                own = codes[s, j]
                first = own if first < 0 else first
                differs = differs or own != first
                for v in range(width):
                    if not board.permitted[board.block[j] + own * width + v]:
                        cost[start[j] + v] = np.inf
                    elif own != v:
                        cost[start[j] + v] += multiplicity[s]
            common += differs
            features[k, j] = differs
            for v in range(width):
                extra[start[j] + v] = not differs and v != first
        left = budget - common
        for j in range(n_features):  # from the cheapest values, as fast as the score allows
            best = start[j]
            for at in range(start[j], start[j + 1]):
                if cost[at] < cost[best]:
                    best = at
            fresh[j] = best - start[j]
        if _rise(model, target, start, cost, extra, left, fresh):
            _fall(model, target, start, cost, extra, left, fresh, pairs)
            _fall(model, target, start, cost, extra, left, x, pairs)
            now, other = 0.0, 0.0
            for j in range(n_features):
                now += cost[start[j] + x[j]]
                other += cost[start[j] + fresh[j]]
            if other < now:
                for j in range(n_features):
                    x[j] = fresh[j]
        else:
            _fall(model, target, start, cost, extra, left, x, pairs)
        for j in range(n_features):
            if extra[start[j] + x[j]]:
                features[k, j] = True


@njit(cache=True, nogil=True)
def _rise(
    model: Model,
    target: float,
    start: Integers,
    cost: Floats,
    extra: Integers,
    left: int,
    x: NDArray[np.int32],
) -> bool:
    """Change values until the score is reached, most score per change first."""
    n_features = len(start) - 1
    now = value(model, start, x)
    for j in range(n_features):
        left -= extra[start[j] + x[j]]
    for _ in range(2 * n_features):
        if now >= target:
            return left >= 0
        best, where, which = 0.0, -1, -1
        for j in range(n_features):
            own = x[j]
            for v in range(start[j + 1] - start[j]):
                at = start[j] + v
                if cost[at] == np.inf or extra[at] - extra[start[j] + own] > left:
                    continue
                x[j] = v
                gain = value(model, start, x) - now
                dearer = max(cost[at] - cost[start[j] + own], 1e-3)
                if gain / dearer > best:
                    best, where, which = gain / dearer, j, v
            x[j] = own
        if where < 0:
            return False
        left -= extra[start[where] + which] - extra[start[where] + x[where]]
        x[where] = which
        now = value(model, start, x)
    return False


@njit(cache=True, nogil=True)
def _fall(
    model: Model,
    target: float,
    start: Integers,
    cost: Floats,
    extra: Integers,
    left: int,
    x: NDArray[np.int32],
    pairs: bool,
) -> None:
    """Take changes back while the score stays reached, the dearest first."""
    n_features = len(start) - 1
    for j in range(n_features):
        left -= extra[start[j] + x[j]]
    while True:
        most, j1, v1, j2, v2 = 0.0, -1, -1, -1, -1
        for j in range(n_features):
            own = x[j]
            for v in range(start[j + 1] - start[j]):
                at = start[j] + v
                saved = cost[start[j] + own] - cost[at]
                spare = left - extra[at] + extra[start[j] + own]
                if saved <= most:
                    continue
                x[j] = v
                if spare >= 0 and value(model, start, x) >= target:
                    most, j1, v1, j2 = saved, j, v, -1
                elif pairs:
                    for i in range(n_features):
                        held = x[i]
                        for u in range(start[i + 1] - start[i]):
                            to = start[i] + u
                            both = saved + cost[start[i] + held] - cost[to]
                            if i == j or u == held or both <= most:
                                continue
                            if spare - extra[to] + extra[start[i] + held] < 0:
                                continue
                            x[i] = u
                            if value(model, start, x) >= target:
                                most, j1, v1, j2, v2 = both, j, v, i, u
                        x[i] = held
            x[j] = own
        if j1 < 0:
            return
        left -= extra[start[j1] + v1] - extra[start[j1] + x[j1]]
        x[j1] = v1
        if j2 >= 0:
            left -= extra[start[j2] + v2] - extra[start[j2] + x[j2]]
            x[j2] = v2
