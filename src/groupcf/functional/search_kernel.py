# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# numba infers the types
"""Branch and bound over boxes of threshold cells and tuples of prototype clusters.

A node is a box of cells for the columns that the trees test, and ``B_max`` clusters of
prototypes, one for each prototype that may be used. See :mod:`groupcf.functional.prototypes`
for the argument.
"""

from __future__ import annotations

import heapq
import time

import numpy as np
from numba import njit, objmode

from groupcf.functional.bound_kernel import factor, farthest, feature_bound, forward
from groupcf.functional.trees_kernel import at_cells, highest, split_for

DONE, NODE_LIMIT, TIME_LIMIT = 0, 1, 2
_SLACK = 1e-9


@njit(cache=True, error_model="numpy")
def _grown(array):
    out = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


@njit(cache=True, error_model="numpy")
def is_moved(low, high, home, begin, end):
    """Return whether a box leaves out the original curve's cells of some columns."""
    moved = False
    for c in range(begin, end):
        moved = moved or home[c] < low[c] or home[c] > high[c]
    return moved


@njit(cache=True, error_model="numpy")
def search(
    trees,
    ends,
    data,
    home,
    d,
    tree,
    needed,
    lam0,
    lam2,
    start_tuple,
    free_features,
    incumbent,
    best_weights,
    node_limit,
    thin,
    stop_at,
):
    """Find the least cost; see the module.

    Returns
    -------
    incumbent : float
        Cost of the best solution found (as given when none is better).
    bound : float
        Proven lower bound, at most the incumbent.
    nodes : int
    reason : int
        DONE or the limit that was met.
    """
    used, columns, offset, close, span, reach, pull, rest_cost = data
    start, _, child, order = tree
    n_used, J, T, B = len(columns), d.shape[1], d.shape[2], len(start_tuple)
    capacity = 1024
    lows = np.empty((capacity, n_used), np.int16)
    highs = np.empty((capacity, n_used), np.int16)
    costs = np.empty((capacity, J))
    tuples = np.empty((capacity, B), np.int32)
    free = np.empty(capacity, np.int64)
    n_free, n_store = 0, 1
    for j in range(J):
        for c in range(used[j], used[j + 1]):
            lows[0, c] = 0 if free_features[j] else home[c]
            highs[0, c] = offset[c + 1] - offset[c] - 1 if free_features[j] else home[c]
    for j in range(J):
        costs[0, j] = 0.0
    tuples[0] = start_tuple
    heap = [(0.0, 0.0, 0)]
    low, high = np.empty(n_used, np.int16), np.empty(n_used, np.int16)
    cell = np.empty(n_used, np.int64)
    gain = np.empty(len(ends[0]))
    chol = np.zeros((B, B))
    w, out, r = np.zeros(B), np.zeros(B), np.zeros(B)
    a = np.zeros((J, B))
    point = np.zeros(T)
    cost = np.empty(J)
    moved, forced = np.zeros(J, np.bool_), np.zeros(J, np.bool_)
    good = np.ones(J, np.bool_)
    clusters = np.empty(B, np.int32)
    nodes = 0
    dropped = np.inf
    while len(heap):
        bound, _, at = heapq.heappop(heap)
        low[:], high[:] = lows[at], highs[at]
        cost[:] = costs[at]
        clusters[:] = tuples[at]
        if n_free == len(free):
            free = _grown(free)
        free[n_free] = at
        n_free += 1
        if bound >= incumbent * (1 - _SLACK):
            return incumbent, min(bound, incumbent, dropped), nodes, DONE
        if nodes >= node_limit:
            return incumbent, min(bound, dropped), nodes, NODE_LIMIT
        if nodes % 256 == 255:
            with objmode(now="float64"):
                now = time.time()
            if now >= stop_at:
                return incumbent, min(bound, dropped), nodes, TIME_LIMIT
        nodes += 1
        single, widest, chosen = True, 2.0, -1
        for i in range(B):
            if child[clusters[i], 0] >= 0:
                single = False
                spread = 1.0
                for j in range(J):
                    if free_features[j]:
                        spread = min(spread, close[j, clusters[i], clusters[i]])
                if spread < widest:
                    widest, chosen = spread, i
        # the point of this node and what surrounds it, one functional feature at a time
        dead, all_good = False, True
        for j in range(J):
            forced[j] = is_moved(low, high, home, used[j], used[j + 1])
            moved[j] = forced[j] or rest_cost[j] > 0
            a[j] = 0.0
        for j in range(J):
            if not free_features[j]:
                cost[j] = lam2 * rest_cost[j]
                moved[j] = False
                continue
            definite = factor(close, clusters, j, chol)
            rest = 0.0
            for k in range(J):
                if k != j:
                    rest += cost[k]
            value = 0.0
            room = incumbent - rest - lam0
            if moved[j] and definite:
                value, good[j] = feature_bound(
                    j, low, high, ends, clusters, data, room * (1 - _SLACK) / lam2, chol, w, a[j]
                )
                stay = lam2 * rest_cost[j]
                if not forced[j] and stay <= lam0 + lam2 * value:  # best left where it is
                    moved[j], good[j], a[j] = False, True, 0.0
                    cost[j] = max(cost[j], stay)
                else:
                    cost[j] = max(cost[j], lam0 + lam2 * value)
                if cost[j] + rest >= incumbent * (1 - _SLACK):
                    dead = True
                    break
                all_good = all_good and good[j]
            elif moved[j]:
                all_good = False
            if rest_cost[j] > 0 and not forced[j]:
                continue
            if room < 0:
                for c in range(used[j], used[j + 1]):
                    low[c], high[c] = home[c], home[c]
                continue
            if not definite:
                continue
            # no better solution of this node is farther from its point than this
            radius = np.sqrt((room - lam2 * value) / lam2 + 1e-9)
            ball = np.sqrt(room / lam2 + 1e-9)
            centred = not moved[j] or good[j]
            if not centred:
                if rest_cost[j] > 0:
                    continue
                radius = ball
            for c in range(used[j], used[j + 1]):
                t = columns[c] - j * T
                for side in range(2):
                    sign = 2.0 * side - 1.0
                    middle = 0.0
                    for i in range(B):
                        r[i] = sign * span[side, j, clusters[i], t]
                        middle += sign * a[j, i] * r[i] if centred else 0.0
                    size = np.sqrt(forward(chol, r, out))
                    cone = 0.0
                    for i in range(B):
                        cone = max(cone, reach[j, clusters[i]] * r[i])
                    if rest_cost[j] == 0 and cone > 0:
                        cone = min(cone, ball * farthest(close, clusters, j, chol, r, w, out))
                    cone *= sign
                    if side == 0:
                        least = max(middle - radius * size, cone) - 1e-9
                        while low[c] <= high[c] and ends[1, offset[c] + low[c]] < least:
                            low[c] += 1
                    else:
                        most = min(middle + radius * size, cone) + 1e-9
                        while low[c] <= high[c] and ends[0, offset[c] + high[c]] > most:
                            high[c] -= 1
                if low[c] > high[c]:
                    dead = True
                    break
            if dead:
                break
        if dead:
            continue
        bound = cost.sum()
        if bound >= incumbent * (1 - _SLACK) or highest(trees, low, high) < needed:
            continue
        which = -1
        if single or widest > thin or chosen < 0:
            for j in range(J):
                point[:] = 0.0
                if moved[j]:
                    for i in range(B):
                        for t in range(T):
                            point[t] += (
                                a[j, i]
                                * 0.5
                                * (span[0, j, clusters[i], t] + span[1, j, clusters[i], t])
                            )
                for c in range(used[j], used[j + 1]):
                    t = columns[c] - j * T
                    k = home[c]
                    while ends[0, offset[c] + k] >= point[t]:
                        k -= 1
                    while ends[1, offset[c] + k] < point[t]:
                        k += 1
                    cell[c] = min(max(k, low[c]), high[c])
            accepted = at_cells(trees, cell) >= needed
            if single and accepted:
                if all_good:
                    value = 0.0
                    for j in range(J):
                        value += lam2 * rest_cost[j]
                        if moved[j]:
                            value += lam0
                            for i in range(B):
                                value += lam2 * a[j, i] * 2 * pull[j, clusters[i]]
                                for k in range(B):
                                    inner = 1.0 if i == k else close[j, clusters[i], clusters[k]]
                                    value += lam2 * a[j, i] * a[j, k] * inner
                    if value < incumbent:
                        incumbent = value
                        best_weights[:] = 0.0
                        for j in range(J):
                            for i in range(B):
                                if moved[j]:
                                    best_weights[j, order[start[clusters[i]]]] += (
                                        max(0.0, a[j, i]) / reach[j, clusters[i]]
                                    )
                dropped = min(dropped, bound)
                continue
            if not accepted:
                which = split_for(trees, low, high, cell, gain, offset)
            if which < 0 and single:
                dropped = min(dropped, bound)
                continue
        n_children = 2
        if which < 0:
            mother = clusters[chosen]
            copies = 0
            for k in range(B):
                copies += clusters[k] == mother
            n_children = copies + 1
        for side in range(n_children):
            if n_free:
                n_free -= 1
                slot = free[n_free]
            else:
                if n_store == len(lows):
                    lows, highs = _grown(lows), _grown(highs)
                    costs, tuples = _grown(costs), _grown(tuples)
                slot = n_store
                n_store += 1
            lows[slot], highs[slot], costs[slot], tuples[slot] = low, high, cost, clusters
            alive = True
            if which < 0:
                seen = 0
                for k in range(B):
                    if clusters[k] == mother:
                        tuples[slot, k] = child[mother, 0 if seen < side else 1]
                        seen += 1
                tuples[slot].sort()
            else:
                c, p = trees[0][which], trees[1][which]
                if side == 0:
                    highs[slot, c] = p
                else:
                    lows[slot, c] = p + 1
                alive = highest(trees, lows[slot], highs[slot]) >= needed
                if alive:
                    j = columns[c] // T
                    if is_moved(lows[slot], highs[slot], home, used[j], used[j + 1]):
                        costs[slot, j] = max(costs[slot, j], lam0)
                        rest = costs[slot].sum() - costs[slot, j]
                        cutoff = (incumbent * (1 - _SLACK) - rest - lam0) / lam2
                        if cutoff <= 0:
                            alive = False
                        elif factor(close, clusters, j, chol):
                            value, _ = feature_bound(
                                j,
                                lows[slot],
                                highs[slot],
                                ends,
                                clusters,
                                data,
                                cutoff,
                                chol,
                                w,
                                out,
                            )
                            costs[slot, j] = max(costs[slot, j], lam0 + lam2 * value)
                            alive = value < cutoff
            if alive:
                heapq.heappush(heap, (costs[slot].sum(), -float(nodes), slot))
            else:
                if n_free == len(free):
                    free = _grown(free)
                free[n_free] = slot
                n_free += 1
    return incumbent, min(incumbent, dropped), nodes, DONE
