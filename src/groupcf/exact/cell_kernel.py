# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# numba infers the types
"""Branch and bound over boxes of threshold cells; see :mod:`groupcf.exact.cells`.

A box holds an interval of levels for an ordered feature (``low``, ``high``) and a bit set of
levels for a nominal one (``low`` alone). A leaf of a tree is a list of entries in the same
form, one for each feature that it restricts.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit

ORDERED, NOMINAL = 0, 1
DONE, EFFORT, STOPPED = 0, 1, 2


@njit(cache=True, error_model="numpy")
def best_level(f, low, high, offset, kind, home, price, up, down, order):
    """Return the cheapest level of a feature in a set of levels; -1 if there is none."""
    if kind[f] == NOMINAL:
        for k in range(offset[f], offset[f + 1]):
            v = order[k]
            if (low >> v) & 1:
                return v if price[offset[f] + v] < np.inf else -1
        return -1
    if low > home[f]:
        k = up[offset[f] + low]
        return k if k <= high else -1
    if high < home[f]:
        k = down[offset[f] + high]
        return k if k >= low else -1
    return home[f]


@njit(cache=True, error_model="numpy")
def prepare_row(home, price, offset, kind, up, down, order):
    """Fill the tables of the next level that can be taken, and of nominal levels by price."""
    for f in range(len(home)):
        a, b = offset[f], offset[f + 1]
        if kind[f] == NOMINAL:
            order[a:b] = np.argsort(price[a:b], kind="mergesort")
            continue
        nearest = 1 << 40
        for k in range(b - a - 1, -1, -1):
            if price[a + k] < np.inf:
                nearest = k
            up[a + k] = nearest
        nearest = -1
        for k in range(b - a):
            if price[a + k] < np.inf:
                nearest = k
            down[a + k] = nearest


@njit(cache=True, error_model="numpy")
def shrink(low, high, level, slack, offset, kind, home, price, charge):
    """Drop levels that cost `slack` or more above the cheapest of the box."""
    for f in range(len(low)):
        a = offset[f]
        at = price[a + level[f]] + (charge[f] if level[f] != home[f] else 0.0)
        if kind[f] == NOMINAL:
            mask = low[f]
            for v in range(offset[f + 1] - a):
                if (mask >> v) & 1:
                    c = price[a + v] + (charge[f] if v != home[f] else 0.0)
                    if c - at >= slack:
                        mask &= ~(np.int64(1) << v)
            low[f] = mask
            continue
        while high[f] > level[f]:
            c = price[a + high[f]] + (charge[f] if high[f] != home[f] else 0.0)
            if c - at < slack:
                break
            high[f] -= 1
        while low[f] < level[f]:
            c = price[a + low[f]] + (charge[f] if low[f] != home[f] else 0.0)
            if c - at < slack:
                break
            low[f] += 1


@njit(cache=True, error_model="numpy")
def look(low, high, level, slack, leaves, offset, kind, home, price, charge, up, down, order, gain):
    """Look at the trees over a box.

    Returns
    -------
    float
        Highest score, every tree for itself and within `slack` above the cheapest point.
    float
        Score at the cheapest point.
    int
        Feature to split at, -1 for none.
    int
        Level it is split at.
    """
    tree, value, first, feature, least, most = leaves
    top_score, here = 0.0, 0.0
    which, at, top = -1, -1, 0.0
    gain[:] = 0.0
    for t in range(len(tree) - 1):
        best, own, found, split_f, split_v = -np.inf, np.nan, False, -1, -1
        for leaf in range(tree[t], tree[t + 1]):
            extra, inside, alive = 0.0, True, True
            cross_f, cross_v, cross_c = -1, -1, -1.0
            for e in range(first[leaf], first[leaf + 1]):
                f = feature[e]
                b = level[f]
                if kind[f] == NOMINAL:
                    if (least[e] >> b) & 1:
                        continue
                    lo, hi = low[f] & least[e], 0
                    if lo == 0:
                        alive = False
                        break
                    v = b
                    if least[e] & (least[e] - 1) == 0:
                        v = 0
                        while not (least[e] >> v) & 1:
                            v += 1
                else:
                    if least[e] <= b <= most[e]:
                        continue
                    lo, hi = max(low[f], least[e]), min(high[f], most[e])
                    if lo > hi:
                        alive = False
                        break
                    v = least[e] - 1 if b < least[e] else most[e]
                inside = False
                k = best_level(f, lo, hi, offset, kind, home, price, up, down, order)
                if k < 0:
                    alive = False
                    break
                c = price[offset[f] + k] - price[offset[f] + b]
                if b == home[f]:
                    c += charge[f]
                extra += c
                if extra >= slack:
                    alive = False
                    break
                if c > cross_c:
                    cross_c, cross_f, cross_v = c, f, v
            if not alive:
                continue
            if not found:
                best, found = value[leaf], True
                split_f, split_v = cross_f, cross_v
            if inside:
                own = value[leaf]
                break
        top_score += best
        here += own
        if split_f >= 0:
            k = offset[split_f] + split_v
            gain[k] += best - own
            if gain[k] > top:
                top, which, at = gain[k], split_f, split_v
    return top_score, here, which, at


@njit(cache=True, error_model="numpy")
def _grown(x):
    out = np.empty((2 * len(x), *x.shape[1:]), x.dtype)
    out[: len(x)] = x
    return out


@njit(cache=True, error_model="numpy")
def single_moves(level, leaves, kind, offset, gain):
    """Fill `gain` with what each level would add to the score if it alone were taken.

    Returns
    -------
    float
        Score at `level`.
    """
    tree, value, first, feature, least, most = leaves
    gain[:] = 0.0
    score = 0.0
    for t in range(len(tree) - 1):
        own = 0.0
        for leaf in range(tree[t], tree[t + 1]):
            out = 0
            for e in range(first[leaf], first[leaf + 1]):
                b = level[feature[e]]
                if kind[feature[e]] == NOMINAL:
                    out += not (least[e] >> b) & 1
                else:
                    out += not least[e] <= b <= most[e]
            if out == 0:
                own = value[leaf]
        score += own
        for leaf in range(tree[t], tree[t + 1]):
            out, which = 0, -1
            for e in range(first[leaf], first[leaf + 1]):
                b = level[feature[e]]
                if kind[feature[e]] == NOMINAL:
                    inside = (least[e] >> b) & 1
                else:
                    inside = least[e] <= b <= most[e]
                if not inside:
                    out += 1
                    which = e
                    if out > 1:
                        break
            if out > 1:
                continue
            rise = value[leaf] - own
            if rise == 0.0:
                continue
            for e in range(first[leaf], first[leaf + 1]):
                # where all others hold, the levels of this feature that lead to the leaf
                if out == 1 and e != which:
                    continue
                f = feature[e]
                if kind[f] == NOMINAL:
                    for v in range(offset[f + 1] - offset[f]):
                        if (least[e] >> v) & 1:
                            gain[offset[f] + v] += rise
                else:
                    for v in range(least[e], most[e] + 1):
                        gain[offset[f] + v] += rise
    return score


@njit(cache=True, error_model="numpy")
def greedy(free, home, price, charge, offset, kind, leaves, needed, limit, upper, gain, point):
    """Find a point of the wanted class: most score for the money, then back where possible.

    Returns the cost and fills `point`, or returns `upper` where that is not undercut.
    """
    F = len(home)
    level = home.copy()
    for _ in range(6 * F + 6):
        score = single_moves(level, leaves, kind, offset, gain)
        moved = 0
        for f in range(F):
            moved += level[f] != home[f]
        reached = score >= needed
        top, which, at = 0.0, -1, -1
        for f in range(F):
            if not free[f]:
                continue
            a, b = offset[f], level[f]
            own = price[a + b] + (charge[f] if b != home[f] else 0.0)
            for v in range(offset[f + 1] - a):
                if v == b or price[a + v] == np.inf:
                    continue
                if b == home[f] and moved == limit:
                    continue
                c = price[a + v] + (charge[f] if v != home[f] else 0.0) - own
                rise = gain[a + v]
                if reached:
                    # go back as far as the score allows
                    worth = -c if score + rise >= needed else 0.0
                elif rise <= 1e-12:
                    continue
                elif score + rise >= needed:
                    worth = 1e12 / max(c, 1e-12)
                else:
                    worth = rise / max(c, 1e-12)
                if worth > top:
                    top, which, at = worth, f, v
        if which < 0 or (reached and top <= 1e-12):
            if not reached:
                return upper
            break
        level[which] = at
    total = 0.0
    for f in range(F):
        if level[f] != home[f]:
            total += price[offset[f] + level[f]] + charge[f]
    if single_moves(level, leaves, kind, offset, gain) >= needed and total < upper:
        point[:] = level
        return total
    return upper


@njit(cache=True, error_model="numpy")
def search_row(
    free,
    home,
    price,
    charge,
    offset,
    kind,
    leaves,
    needed,
    limit,
    upper,
    floor,
    effort,
    stop,
    point,
):
    """Find the cheapest levels at which the trees reach a score.

    Parameters
    ----------
    free : ndarray of bool, shape (F,)
    home : ndarray of int, shape (F,)
        The instance's own levels.
    price : ndarray of shape (n_levels,)
        Distance of each level; inf where it cannot be taken, 0 at home.
    charge : ndarray of shape (F,)
        Added where a feature leaves its home.
    limit : int
        At most so many features leave home.
    upper : float
        Only answers below it are of interest.
    floor : float
        Known lower bound; an answer at it ends the search.
    effort : int
        Most nodes.
    stop : ndarray of shape (1,)
        Not 0 when time is over.
    point : ndarray of int, shape (F,)
        Filled with the answer, if there is one.

    Returns
    -------
    float
        Cost of the answer; `upper` if none was found.
    float
        Lower bound.
    int
        Nodes.
    int
        DONE, EFFORT or STOPPED.
    """
    F = len(home)
    n_levels = offset[F]
    up, down = np.empty(n_levels, np.int64), np.empty(n_levels, np.int64)
    order, gain = np.empty(n_levels, np.int64), np.empty(n_levels)
    prepare_row(home, price, offset, kind, up, down, order)
    lows, highs = np.empty((256, F), np.int64), np.empty((256, F), np.int64)
    spare = np.empty(256, np.int64)
    n_spare, n_store, nodes = 0, 1, 0
    for f in range(F):
        if kind[f] == NOMINAL:
            lows[0, f] = (
                ((np.int64(1) << (offset[f + 1] - offset[f])) - 1)
                if free[f]
                else (np.int64(1) << home[f])
            )
            highs[0, f] = 0
        else:
            lows[0, f] = 0 if free[f] else home[f]
            highs[0, f] = offset[f + 1] - offset[f] - 1 if free[f] else home[f]
    heap = [(0.0, 0.0, 0)]
    level = np.empty(F, np.int64)
    low, high = np.empty(F, np.int64), np.empty(F, np.int64)
    best = greedy(
        free, home, price, charge, offset, kind, leaves, needed, limit, upper, gain, point
    )
    while heap:
        cost, _, slot = heapq.heappop(heap)
        if cost >= best or best <= floor:
            return best, min(best, max(cost, floor)), nodes, DONE
        if nodes >= effort:
            return best, cost, nodes, EFFORT
        if stop[0]:
            return best, cost, nodes, STOPPED
        nodes += 1
        low[:], high[:] = lows[slot], highs[slot]
        if n_spare == len(spare):
            spare = _grown(spare)
        spare[n_spare] = slot
        n_spare += 1
        moved, alive, total = 0, True, 0.0
        for f in range(F):
            level[f] = best_level(f, low[f], high[f], offset, kind, home, price, up, down, order)
            if level[f] < 0:
                alive = False
                break
            if level[f] != home[f]:
                moved += 1
                total += price[offset[f] + level[f]] + charge[f]
        if not alive or total >= best or moved > limit:
            continue
        if moved == limit:
            for f in range(F):
                if level[f] == home[f]:
                    if kind[f] == NOMINAL:
                        low[f] = np.int64(1) << home[f]
                    else:
                        low[f] = high[f] = home[f]
        slack = best - total
        if slack < np.inf:
            shrink(low, high, level, slack, offset, kind, home, price, charge)
        score, here, which, at = look(
            low,
            high,
            level,
            slack,
            leaves,
            offset,
            kind,
            home,
            price,
            charge,
            up,
            down,
            order,
            gain,
        )
        if here >= needed:
            best = total
            point[:] = level
            continue
        if score < needed or which < 0:
            continue
        for child in range(2):
            if n_spare:
                n_spare -= 1
                slot = spare[n_spare]
            else:
                if n_store == len(lows):
                    lows, highs = _grown(lows), _grown(highs)
                slot = n_store
                n_store += 1
            lows[slot], highs[slot] = low, high
            c = total
            if kind[which] == NOMINAL:
                bit = np.int64(1) << at
                lows[slot, which] = low[which] & bit if child == 0 else low[which] & ~bit
            elif child == 0:
                highs[slot, which] = at
            else:
                lows[slot, which] = at + 1
            k = best_level(
                which,
                lows[slot, which],
                highs[slot, which],
                offset,
                kind,
                home,
                price,
                up,
                down,
                order,
            )
            dead = k < 0
            if not dead:
                if k != level[which]:
                    c += price[offset[which] + k] - price[offset[which] + level[which]]
                    if level[which] == home[which]:
                        c += charge[which]
                dead = c >= best
            if dead:
                if n_spare == len(spare):
                    spare = _grown(spare)
                spare[n_spare] = slot
                n_spare += 1
            else:
                heapq.heappush(heap, (c, -float(nodes), slot))
    return best, best, nodes, DONE


@njit(cache=True, nogil=True, error_model="numpy")
def search_rows(
    rows,
    free,
    homes,
    prices,
    charge,
    offset,
    kind,
    leaves,
    needed,
    limit,
    upper,
    floor,
    effort,
    stop,
    cost,
    bound,
    points,
    reasons,
):
    """Search several instances; return the number of nodes.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        Which rows of `homes` and `prices`.
    charge : ndarray of shape (1 or n, F)
    floor : ndarray of shape (n,)
    cost, bound, points, reasons : ndarray
        Filled, one entry or row for each instance; a cost of inf means no answer.
    """
    nodes = 0
    for i in range(len(rows)):
        s = rows[i]
        found, low, spent, reason = search_row(
            free,
            homes[s],
            prices[s],
            charge[min(i, len(charge) - 1)],
            offset,
            kind,
            leaves,
            needed,
            limit,
            upper,
            floor[i],
            effort,
            stop,
            points[i],
        )
        cost[i], bound[i], reasons[i] = found, low, reason
        nodes += spent
    return nodes
