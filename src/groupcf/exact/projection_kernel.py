"""Compiled core of the projection: branch and bound, one instance after another.

Everything is expressed in *gain*, the rise of the linear score that a change brings. A
feature offers gain in one of three ways:

continuous
    any gain up to a cap, at distance cost ``price * gain ** power``;
stepped
    the same, but only multiples of a step (an integer feature with a long range);
listed
    a short list of options, gain and cost both increasing.

On top, every used feature costs a fixed charge. Relaxing each feature to the convex hull of
its (gain, cost) points leaves a separable convex problem with one coupling row, solved
exactly by sweeping the multiplier of that row over the sorted slopes of the hulls. What the
hulls leave undecided is branched on.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

CONTINUOUS, STEPPED, LISTED = 1, 2, 3
PRICE, CAP, STEP, CHARGE = 0, 1, 2, 3
_JUMP, _RAMP_ON, _RAMP_OFF = 0, 1, 2
_ROUNDING = 1e-12
"""Relative slack that absorbs rounding; far below the margin of a problem's target."""

_TIE = 1e-11
"""Relative difference in cost below which another point is not looked for."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _hull(
    base: int, lo: int, hi: int, charge: float, gains: Floats, costs: Floats, stack: Integers
) -> int:
    """Write the levels on the lower convex hull of options lo..hi; return how many."""
    top = 0
    for level in range(lo, hi + 1):
        g, c = 0.0, 0.0
        if level > 0:
            g, c = gains[base + level - 1], costs[base + level - 1] + charge
        while top >= 2:
            a, b = stack[top - 2], stack[top - 1]
            ga, ca = 0.0, 0.0
            if a > 0:
                ga, ca = gains[base + a - 1], costs[base + a - 1] + charge
            gb, cb = gains[base + b - 1], costs[base + b - 1] + charge
            if (cb - ca) * (g - ga) < (c - ca) * (gb - ga):
                break  # b lies strictly below the chord from a to the new point
            top -= 1
        stack[top] = level
        top += 1
    return top


@njit(cache=True, nogil=True)
def _relax(
    n: int,
    kind: Integers,
    base: Integers,
    item: Floats,
    gains: Floats,
    costs: Floats,
    power: int,
    deficit: float,
    lo: Integers,
    hi: Integers,
    gain: Floats,
    level: Integers,
    ramp: Floats,
    slope: Floats,
    delta: Floats,
    event: Integers,
    order: Integers,
    stack: Integers,
) -> tuple[float, int, int]:
    """Solve the relaxation of one node.

    Returns its value (inf when infeasible), the feature to branch on (-1 when the point
    found is one that the features allow) and the level at which the upper branch starts.
    `gain` and `level` are filled in.
    """
    need, value, reach, m = deficit, 0.0, 0.0, 0
    for i in range(n):
        gain[i], level[i] = 0.0, lo[i]
        ramp[i, 0] = ramp[i, 1] = 0.0
        if hi[i] == 0:
            continue
        charge = item[i, CHARGE]
        if kind[i] == LISTED:
            g, c = 0.0, 0.0
            if lo[i] > 0:
                g, c = gains[base[i] + lo[i] - 1], costs[base[i] + lo[i] - 1] + charge
            gain[i] = g
            need -= g
            value += c
            reach += gains[base[i] + hi[i] - 1] - g
            for k in range(1, _hull(base[i], lo[i], hi[i], charge, gains, costs, stack)):
                at = base[i] + stack[k] - 1
                slope[m] = (costs[at] + charge - c) / (gains[at] - g)
                delta[m] = gains[at] - g
                event[m, 0], event[m, 1], event[m, 2] = _JUMP, i, stack[k]
                m += 1
                g, c = gains[at], costs[at] + charge
            continue
        price, start, stop = item[i, PRICE], 0.0, item[i, CAP]
        if kind[i] == STEPPED:
            start, stop = lo[i] * item[i, STEP], hi[i] * item[i, STEP]
        reach += stop - start
        if lo[i] > 0:
            gain[i] = start
            need -= start
            value += price * start**power + charge
        elif charge > 0.0:
            # envelope of nothing and charge + price g^power: a chord to the tangent point
            touch = stop if power == 1 else min(stop, np.sqrt(charge / price))
            slope[m], delta[m] = (price * touch**power + charge) / touch, touch
            event[m, 0], event[m, 1], event[m, 2] = _JUMP, i, 1
            m += 1
            start = touch
        if start < stop:
            if power == 1:
                slope[m], delta[m] = price, stop - start
                event[m, 0], event[m, 1], event[m, 2] = _JUMP, i, 0
                m += 1
            else:
                ramp[i, 0], ramp[i, 1] = start, stop
                for end in range(2):
                    slope[m], delta[m] = 2.0 * price * ramp[i, end], 0.5 / price
                    event[m, 0], event[m, 1] = _RAMP_ON + end, i
                    m += 1
    slack = _ROUNDING * max(1.0, deficit)
    if reach < need - slack:
        return np.inf, -1, 0
    if need <= 0.0:
        return value, -1, 0

    for a in range(m):  # insertion sort: short and stable, hence deterministic
        b = a
        while b > 0 and slope[order[b - 1]] > slope[a]:
            order[b] = order[b - 1]
            b -= 1
        order[b] = a

    got, jumped, rate, active, multiplier, critical = 0.0, 0.0, 0.0, 0, 0.0, -1
    for a in range(m):
        e = order[a]
        if active > 0:
            more = rate * (slope[e] - multiplier)
            if got + more >= need:
                multiplier += (need - got) / rate
                break
            got += more
        multiplier = slope[e]
        if event[e, 0] == _RAMP_ON:
            rate += delta[e]
            active += 1
        elif event[e, 0] == _RAMP_OFF:
            rate -= delta[e]
            active -= 1
        else:
            taken = delta[e]
            if need - got < taken - slack:
                critical, taken = e, need - got
            elif event[e, 2] > 0:
                level[event[e, 1]] = event[e, 2]
            got += taken
            jumped += taken
            gain[event[e, 1]] += taken
            value += slope[e] * taken
            if critical >= 0 or got >= need:
                break

    # ramps strictly inside their range share what is left, in closed form
    if critical < 0:
        rest, width = need - jumped, 0.0
        for i in range(n):
            if ramp[i, 1] > 0.0:
                g = 0.5 * multiplier / item[i, PRICE]
                if g >= ramp[i, 1]:
                    rest -= ramp[i, 1] - ramp[i, 0]
                elif g > ramp[i, 0]:
                    rest += ramp[i, 0]
                    width += 0.5 / item[i, PRICE]
        if width > 0.0:
            multiplier = rest / width
    for i in range(n):
        if ramp[i, 1] > 0.0:
            g = min(max(0.5 * multiplier / item[i, PRICE], ramp[i, 0]), ramp[i, 1])
            gain[i] += g - ramp[i, 0]
            value += item[i, PRICE] * (g * g - ramp[i, 0] * ramp[i, 0])

    if critical >= 0:
        i = event[critical, 1]
        if event[critical, 2] > 0:
            return value, i, event[critical, 2]
    for i in range(n):
        if kind[i] == STEPPED and gain[i] > 0.0:
            steps = gain[i] / item[i, STEP]
            if abs(steps - np.rint(steps)) > 1e-11 * max(1.0, steps):
                return value, i, max(1, int(np.ceil(steps)))
            level[i] = int(np.rint(steps))
    return value, -1, 0


@njit(cache=True, nogil=True)
def _restrict(
    n: int,
    limit: int,
    deficit: float,
    kind: Integers,
    base: Integers,
    item: Floats,
    gains: Floats,
    lo: Integers,
    hi: Integers,
    most: Floats,
) -> bool:
    """Apply the limit on used features; return False when it cannot be kept."""
    left, reach = limit, 0.0
    for i in range(n):
        top = item[i, CAP]
        if kind[i] == LISTED:
            top = gains[base[i] + hi[i] - 1] if hi[i] > 0 else 0.0
        elif kind[i] == STEPPED:
            top = hi[i] * item[i, STEP]
        most[i] = 0.0
        if lo[i] > 0:
            left -= 1
            reach += top
        elif hi[i] > 0:
            most[i] = top
    if left < 0:
        return False
    for _ in range(left):
        best = 0
        for i in range(n):
            if most[i] > most[best]:
                best = i
        if most[best] <= 0.0:
            break
        reach += most[best]
        most[best] = 0.0
    if left == 0:
        for i in range(n):
            if lo[i] == 0:
                hi[i] = 0
    return reach >= deficit - _ROUNDING * max(1.0, deficit)


@njit(cache=True, nogil=True)
def _quantum(
    n: int, kind: Integers, base: Integers, item: Floats, costs: Floats, hi: Integers
) -> float:
    """Return a value of which every possible cost is a multiple; 0 if there is none."""
    least = np.inf
    for i in range(n):
        if kind[i] != LISTED:
            return 0.0
        least = min(least, costs[base[i]] + item[i, CHARGE])
    for i in range(n):
        for k in range(hi[i]):
            ratio = (costs[base[i] + k] + item[i, CHARGE]) / least
            if abs(ratio - np.rint(ratio)) > 1e-10 * ratio:
                return 0.0
    return least if n > 0 else 0.0


@njit(cache=True, nogil=True)
def project_rows(
    rows: Integers,
    features: Integers,
    deficit: Floats,
    kind: Integers,
    price: Floats,
    step: Floats,
    cap: Floats,
    first: Integers,
    count: Integers,
    gains: Floats,
    costs: Floats,
    charge: Floats,
    power: int,
    limit: int,
    floor: Floats,
    effort: int,
    stop: NDArray[np.uint8],
    out_cost: Floats,
    out_gain: Floats,
    out_level: Integers,
) -> int:
    """Find the cheapest change of each row that makes up its deficit.

    Parameters
    ----------
    rows : (n,) instances; features : (g,) features that may change
    deficit : (S,) score that is missing
    kind, price, step : (J,) how each feature offers gain
    cap : (S, J) largest gain; first, count : (S, J) place of the options in gains, costs
    charge : (1, J) or (n, J) fixed charge of a used feature
    power : 1 or 2; limit : most features used by a row
    floor : (n,) known lower bound of each row's cost; a row stops when it is reached
    effort : most nodes of a row; beyond them its cost is only a lower bound
    stop : (1,) set to 1 from another thread to give up
    out_cost, out_gain, out_level : (n,), (n, J), (n, J), filled in; cost is inf if the
        deficit cannot be made up

    Returns
    -------
    int
        Nodes explored, or -1 when `stop` was seen (the output is then incomplete).
    """
    g = len(features)
    longest = 1
    for r in rows:
        for j in features:
            longest = max(longest, count[r, j])
    ids = np.empty(g, np.int64)
    kinds, base = np.empty(g, np.int64), np.empty(g, np.int64)
    item, ramp = np.empty((g, 4)), np.empty((g, 2))
    gain, best_gain, most = np.empty(g), np.empty(g), np.empty(g)
    level, best_level = np.empty(g, np.int64), np.empty(g, np.int64)
    events = g * max(3, longest)
    slope, delta = np.empty(events), np.empty(events)
    event, order = np.empty((events, 3), np.int64), np.empty(events, np.int64)
    stack = np.empty(longest + 2, np.int64)
    depth = 64
    lows, highs = np.empty((depth, g), np.int64), np.empty((depth, g), np.int64)
    bounds = np.empty(depth)
    lo, hi = np.empty(g, np.int64), np.empty(g, np.int64)
    nodes = 0

    for at in range(len(rows)):
        r = rows[at]
        out_cost[at] = 0.0
        for j in range(len(kind)):
            out_gain[at, j], out_level[at, j] = 0.0, 0
        if deficit[r] <= 0.0:
            continue
        n = 0
        for j in features:
            if cap[r, j] > 0.0:
                ids[n], kinds[n], base[n] = j, kind[j], first[r, j]
                item[n, PRICE], item[n, CAP], item[n, STEP] = price[j], cap[r, j], step[j]
                item[n, CHARGE] = charge[at if len(charge) > 1 else 0, j]
                lows[0, n] = 0
                highs[0, n] = 1 if kind[j] == CONTINUOUS else count[r, j]
                n += 1
        best, cut, top, before = np.inf, np.inf, 1, nodes
        bounds[0] = 0.0
        quantum = _quantum(n, kinds, base, item, costs, highs[0])
        while top > 0:
            if stop[0] != 0:
                return -1
            if nodes - before >= effort:
                break
            top -= 1
            if bounds[top] >= cut or floor[at] >= cut:
                continue
            for i in range(n):
                lo[i], hi[i] = lows[top, i], highs[top, i]
            nodes += 1
            if limit < n and not _restrict(
                n, limit, deficit[r], kinds, base, item, gains, lo, hi, most
            ):
                continue
            value, branch, split = _relax(
                n, kinds, base, item, gains, costs, power, deficit[r], lo, hi,
                gain, level, ramp, slope, delta, event, order, stack,
            )  # fmt: skip
            if quantum > 0.0 and value < np.inf:
                value = max(value, quantum * np.ceil(value / quantum - 1e-6))
            if value >= cut:
                continue
            if branch < 0:
                used, widest = 0, -1
                for i in range(n):
                    if gain[i] > 0.0 or lo[i] > 0:
                        used += 1
                        if lo[i] == 0 and (widest < 0 or gain[i] > gain[widest]):
                            widest = i
                if used <= limit:
                    best = value
                    cut = best - _TIE * max(1.0, best)
                    for i in range(n):
                        best_gain[i], best_level[i] = gain[i], level[i]
                    continue
                branch, split = widest, 1
            if top + 2 > depth:
                depth *= 2
                lows, highs, bounds = _grow(lows, depth), _grow(highs, depth), _stretch(bounds)
            for i in range(n):
                lows[top, i] = lows[top + 1, i] = lo[i]
                highs[top, i] = highs[top + 1, i] = hi[i]
            bounds[top] = bounds[top + 1] = value
            highs[top, branch] = split - 1
            lows[top + 1, branch] = split  # the upper branch first: it soon gives a point
            top += 2
        out_cost[at] = best
        for d in range(top):  # what is left open when the effort is spent
            out_cost[at] = min(out_cost[at], bounds[d])
        if best < np.inf:
            for i in range(n):
                if best_gain[i] > 0.0:
                    out_gain[at, ids[i]] = best_gain[i]
                    out_level[at, ids[i]] = best_level[i]
    return nodes


@njit(cache=True, nogil=True)
def _grow(array: Integers, depth: int) -> Integers:
    larger = np.empty((depth, array.shape[1]), np.int64)
    for d in range(array.shape[0]):
        for i in range(array.shape[1]):
            larger[d, i] = array[d, i]
    return larger


@njit(cache=True, nogil=True)
def _stretch(array: Floats) -> Floats:
    larger = np.empty(2 * len(array))
    for d in range(len(array)):
        larger[d] = array[d]
    return larger
