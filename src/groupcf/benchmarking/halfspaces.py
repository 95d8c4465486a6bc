"""Compiled search for the cheapest way into a union of half-spaces.

Changes d of n goods, ``0 <= d <= cap``, cost ``sum charge [d > 0] + linear d + quadratic d^2``
each for itself, and must satisfy ``c.d >= need`` for at least one of R given (c, need) with
``c >= 0``. For one half-space without charges this is a continuous knapsack, solved by
sweeping its multiplier over sorted breakpoints; charges and goods that come in whole units are
branched on. A closed lower bound for each half-space leaves few of them to be solved.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

NODES = 50_000
"""Nodes after which the search in one half-space stops, with a bound."""
_STACK = 512
_SHORT = 1e-11
"""Relative shortfall of the need that counts as rounding."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _fill(
    c: Floats, need: float, linear: Floats, quadratic: Floats, lo: Floats, hi: Floats, d: Floats,
    level: Floats, event: Integers,
) -> bool:  # fmt: skip
    """Minimise ``linear.d + quadratic.d^2`` over ``c.d >= need, lo <= d <= hi``."""
    n, m, missing = len(c), 0, need
    for i in range(n):
        d[i] = lo[i]
        missing -= c[i] * lo[i]
    if missing <= 0.0:
        return True
    for i in range(n):  # event i: the good begins to rise, n + i: it has reached its end
        if c[i] > 0.0 and hi[i] > lo[i]:
            for k in range(2 if quadratic[i] > 0.0 else 1):
                at = (linear[i] + 2.0 * quadratic[i] * (hi[i] if k == 1 else lo[i])) / c[i]
                p = m
                while p > 0 and level[p - 1] > at:
                    level[p], event[p] = level[p - 1], event[p - 1]
                    p -= 1
                level[p], event[p] = at, k * n + i
                m += 1
    slope, gained, mu, active, done = 0.0, 0.0, 0.0, 0, False
    for p in range(m):
        if active > 0:
            step = (level[p] - mu) * slope
            if gained + step >= missing:
                mu += (missing - gained) / slope
                done = True
                break
            gained += step
        mu = level[p]
        i = event[p] % n
        if quadratic[i] == 0.0:
            rise = c[i] * (hi[i] - lo[i])
            if gained + rise >= missing:
                d[i] = min(hi[i], lo[i] + (missing - gained) / c[i])
                done = True
                break
            gained += rise
            d[i] = hi[i]
        else:
            change = c[i] * c[i] / (2.0 * quadratic[i])
            active += 1 if event[p] < n else -1
            slope = 0.0 if active == 0 else slope + (change if event[p] < n else -change)
    if not done and gained < missing - _SHORT * abs(need):
        return False
    for i in range(n):
        if quadratic[i] > 0.0 and c[i] > 0.0:
            d[i] = hi[i]
            if done:
                rise = (mu * c[i] - linear[i]) / (2.0 * quadratic[i])
                d[i] = min(max(rise, lo[i]), hi[i])
    return True


@njit(cache=True, nogil=True)
def solve_one(
    c: Floats, need: float, cap: Floats, charge: Floats, linear: Floats, quadratic: Floats,
    first: Floats, unit: Floats, best: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Solve one half-space exactly by branch and bound; return value and lower bound.

    Parameters
    ----------
    c, need : ndarray of shape (n,), float
        The half-space.
    cap, charge, linear, quadratic : ndarray of shape (n,)
        Largest changes, and their costs.
    first, unit : ndarray of shape (n,)
        A good with ``unit > 0`` changes by 0, first, first + unit, ...; `cap` is one of them.
    best : ndarray of shape (n,)
        Out: the changes.
    """
    n = len(c)
    lows, highs = np.empty((_STACK, n)), np.empty((_STACK, n))
    paid, bounds = np.empty((_STACK, n), np.bool_), np.empty(_STACK)
    d, slant, level = np.empty(n), np.empty(n), np.empty(2 * n)
    lo, hi, settled = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    event = np.empty(2 * n, np.int64)
    for i in range(n):
        lows[0, i], highs[0, i], paid[0, i] = 0.0, cap[i], charge[i] == 0.0
    value, bounds[0], top, nodes = np.inf, -np.inf, 1, 0
    while top > 0:
        top -= 1
        if bounds[top] >= value * (1.0 - 1e-13):
            continue
        nodes += 1
        if nodes > NODES or top + 2 >= _STACK:
            top += 1
            break
        for i in range(n):
            lo[i], hi[i], settled[i] = lows[top, i], highs[top, i], paid[top, i]
            slant[i] = linear[i]
            if not settled[i] and hi[i] > 0.0:
                slant[i] += charge[i] / hi[i]
        if not _fill(c, need, slant, quadratic, lo, hi, d, level, event):
            continue
        bound, cost, worst, at, whole = 0.0, 0.0, 0.0, -1, True
        for i in range(n):
            part = linear[i] * d[i] + quadratic[i] * d[i] * d[i]
            bound += part
            if settled[i]:
                bound += charge[i]
            elif hi[i] > 0.0:
                bound += charge[i] * d[i] / hi[i]
                if d[i] > 0.0 and charge[i] * (1.0 - d[i] / hi[i]) > worst:
                    worst, at = charge[i] * (1.0 - d[i] / hi[i]), i
        if bound >= value * (1.0 - 1e-13):
            continue
        split = at
        for i in range(n):
            if unit[i] > 0.0 and d[i] > 0.0:
                steps = (d[i] - first[i]) / unit[i]
                if steps < 0.0 or abs(steps - np.round(steps)) > 1e-9:
                    whole = False
                    if split < 0:
                        split = i
        feasible = True
        if not whole:  # rounding up keeps the half-space
            for i in range(n):
                if unit[i] > 0.0 and d[i] > 0.0:
                    steps = max(0.0, np.ceil((d[i] - first[i]) / unit[i] - 1e-9))
                    d[i] = first[i] + steps * unit[i]
                    if d[i] > hi[i] * (1.0 + 1e-12):
                        feasible = False
        for i in range(n):
            cost += linear[i] * d[i] + quadratic[i] * d[i] * d[i]
            if d[i] > 0.0:
                cost += charge[i]
        if feasible and cost < value:
            value = cost
            for i in range(n):
                best[i] = d[i]
        if split < 0:
            continue
        for side in range(2):
            for i in range(n):
                lows[top, i], highs[top, i], paid[top, i] = lo[i], hi[i], settled[i]
            bounds[top] = bound
            if at >= 0:  # without the good, or with its charge paid
                if side == 0:
                    highs[top, split] = 0.0
                else:
                    paid[top, split] = True
            else:
                _fill(c, need, slant, quadratic, lo, hi, d, level, event)
                steps = (d[split] - first[split]) / unit[split]
                if side == 0:
                    below = np.floor(steps)
                    highs[top, split] = 0.0 if below < 0 else first[split] + below * unit[split]
                else:
                    above = max(0.0, np.ceil(steps))
                    lows[top, split] = first[split] + above * unit[split]
                    paid[top, split] = True
            if lows[top, split] <= highs[top, split]:
                top += 1
    bound = value
    for k in range(top):
        bound = min(bound, bounds[k])
    return value, bound


@njit(cache=True, nogil=True)
def _lower_bound(
    c: Floats, need: float, cap: Floats, charges: Floats, linear: Floats, quadratic: Floats,
    reach: Floats, power: Floats,
) -> float:  # fmt: skip
    """Bound from below; `charges` are sorted sums. For k goods: the k that reach furthest."""
    n, slant, curved = len(c), np.inf, True
    for i in range(n):
        a = c[i] * cap[i]
        b = np.inf if quadratic[i] == 0.0 else c[i] * c[i] / quadratic[i]
        if cap[i] == 0.0 or c[i] == 0.0:
            a, b = 0.0, 0.0
        else:
            slant = min(slant, linear[i] / c[i])
            curved = curved and quadratic[i] > 0.0
        p = i
        while p > 0 and reach[p - 1] < a:
            reach[p] = reach[p - 1]
            p -= 1
        reach[p] = a
        p = i
        while p > 0 and power[p - 1] < b:
            power[p] = power[p - 1]
            p -= 1
        power[p] = b
    best, furthest, strongest = np.inf, 0.0, 0.0
    for k in range(n):
        furthest += reach[k]
        strongest += power[k]
        if furthest >= need - _SHORT * abs(need):
            price = charges[k] + slant * need
            if curved:
                price += need * need / strongest
            best = min(best, price)
    return best * (1.0 - 1e-12)


UNKNOWN, ROUGH, BOUNDED, SOLVED = -1, 0, 1, 2


@njit(cache=True, nogil=True)
def cheapest(
    C: Floats, need: Floats, cap: Floats, charge: Floats, linear: Floats, quadratic: Floats,
    first: Floats, unit: Floats, values: Floats, bounds: Floats, state: Integers, d: Floats,
) -> int:  # fmt: skip
    """Return the half-space that costs least, -1 if none can be reached.

    Parameters
    ----------
    C, need : ndarray of shape (R, n), (R,)
        The half-spaces.
    cap, charge, linear, quadratic, first, unit
        As for `solve_one`.
    values, bounds : ndarray of shape (R,)
        In and out: value of each half-space and a lower bound of it; infinite if it cannot be
        reached.
    state : ndarray of shape (R,) of int
        In and out: UNKNOWN, ROUGH or BOUNDED if `values` is but a bound, or at least SOLVED.
    d : ndarray of shape (n,)
        Out: the changes, if the half-space returned has state SOLVED.
    """
    n = len(cap)
    reach, power, charges = np.empty(n), np.empty(n), np.sort(charge)
    for k in range(1, n):
        charges[k] += charges[k - 1]
    flat, free, power_of, gain_of = True, False, np.zeros(n), np.zeros(n)
    for i in range(n):
        if cap[i] > 0.0:
            flat = flat and quadratic[i] == 0.0
            free = free or linear[i] == 0.0
            power_of[i] = 1.0 / quadratic[i] if quadratic[i] > 0.0 else 0.0
            gain_of[i] = 1.0 / linear[i] if linear[i] > 0.0 else 0.0
    for r in range(len(need)):
        if state[r] != UNKNOWN:
            continue
        state[r], values[r] = ROUGH, 0.0
        if need[r] > 0.0:
            strongest, steepest = 0.0, 0.0
            for i in range(n):
                strongest += C[r, i] * C[r, i] * power_of[i]
                steepest = max(steepest, C[r, i] * gain_of[i])
            price = 0.0
            if not flat:
                price = need[r] * need[r] / strongest if strongest > 0.0 else np.inf
            if not free:
                price += need[r] / steepest if steepest > 0.0 else np.inf
            values[r] = charges[0] + price * (1.0 - 1e-12)
        bounds[r] = values[r]
    evaluated = -1
    while True:
        at, best = -1, np.inf
        for r in range(len(need)):
            if values[r] < best or (values[r] == best and r == evaluated and best < np.inf):
                at, best = r, values[r]
        if at < 0 or (state[at] >= SOLVED and (at == evaluated or state[at] > SOLVED)):
            return at
        if state[at] == ROUGH and need[at] > 0.0:
            state[at] = BOUNDED
            values[at] = max(
                values[at],
                _lower_bound(C[at], need[at], cap, charges, linear, quadratic, reach, power),
            )
            bounds[at] = values[at]
            continue
        values[at], bounds[at] = solve_one(
            C[at], need[at], cap, charge, linear, quadratic, first, unit, d
        )
        state[at], evaluated = SOLVED, at
