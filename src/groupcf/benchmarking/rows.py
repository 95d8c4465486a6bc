"""The cheapest way into a half-space when further rows have to be respected as well.

Needed for changed outputs only: beyond what any unit can make, no efficiency exists. The rows
are few and rarely binding, so this is plain Python around exact solvers of tiny convex
programs: least distance by non-negative least squares, or the dual simplex method.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking import simplex
from groupcf.benchmarking.moves import Move

Floats = NDArray[np.float64]
_NODES = 2000


def solve_with_rows(
    move: Move, c: Floats, need: float, P: Floats, q: Floats
) -> tuple[float, float, Floats]:
    """Minimise the cost of d over ``c.d >= need, P d <= q, 0 <= d <= cap``.

    Parameters
    ----------
    move : Move
    c, need : ndarray of shape (n,), float
    P, q : ndarray of shape (rows, n), (rows,)

    Returns
    -------
    value, bound, d
        The value is infinite if there is no such d.
    """
    n, value, best = len(c), np.inf, np.zeros(len(c))
    root = (np.zeros(n), move.cap.copy(), move.charge == 0.0)
    heap: list[tuple[float, int, tuple[Floats, Floats, NDArray[np.bool_]]]] = [(-np.inf, 0, root)]
    count = 0
    while heap and heap[0][0] < value * (1.0 - 1e-13) and count < _NODES:
        _, _, (lo, hi, paid) = heapq.heappop(heap)
        open_charge = ~paid & (hi > 0)
        slant = move.linear + np.where(open_charge, move.charge / np.where(hi > 0, hi, 1.0), 0.0)
        d = _relax(slant, move.quadratic, c, need, P, q, lo, hi)
        if d is None:
            continue
        fixed = float(move.charge[paid].sum())
        bound = fixed + float(slant @ d + move.quadratic @ d**2)
        short = np.where(open_charge & (d > 0), move.charge - (slant - move.linear) * d, 0.0)
        steps = (d - move.first) / np.where(move.unit > 0, move.unit, 1.0)
        off = (move.unit > 0) & (d > 0) & ((steps < 0) | (np.abs(steps - np.round(steps)) > 1e-9))
        if not off.any():
            cost = bound + float(short.sum())
            if cost < value:
                value, best = cost, d
        children = []
        if short.max(initial=0.0) > 0:
            i = int(np.argmax(short))
            no, yes = hi.copy(), paid.copy()
            no[i], yes[i] = 0.0, True
            children = [(lo, no, paid), (lo, hi, yes)]
        elif off.any():
            i = int(np.argmax(off))
            below, above, yes = hi.copy(), lo.copy(), paid.copy()
            down = np.floor(steps[i])
            below[i] = 0.0 if down < 0 else move.first[i] + down * move.unit[i]
            above[i] = move.first[i] + max(0.0, np.ceil(steps[i])) * move.unit[i]
            yes[i] = True
            children = [(lo, below, paid), (above, hi, yes)]
        for child in children:
            if (child[0] <= child[1]).all():
                count += 1
                heapq.heappush(heap, (bound, count, child))
    bound = min([value, *(entry[0] for entry in heap)])
    return value, bound, best


def _relax(
    linear: Floats, quadratic: Floats, c: Floats, need: float, P: Floats, q: Floats,
    lo: Floats, hi: Floats,
) -> Floats | None:  # fmt: skip
    """Minimise ``linear.d + quadratic.d^2`` over rows and bounds; None if there is no point."""
    free = hi > lo
    d = lo.copy()
    need, q = need - float(c @ lo), q - P @ lo
    c, P, room = c[free], P[:, free], (hi - lo)[free]
    linear = (linear + 2.0 * quadratic * lo)[free]
    quadratic = quadratic[free]
    size = np.abs(q) + np.abs(P) @ room
    if (q < -1e-11 * np.where(size > 0, size, 1.0)).any():
        return None
    q = np.maximum(q, 0.0)
    if need <= 0 or not free.any():
        return d if need <= 0 else None
    solver = _least_distance if (quadratic > 0).all() else _linear_program
    move = solver(linear, quadratic, c, need, P, q, room)
    if move is None:
        return None
    d[free] += np.clip(move, 0.0, room)
    return d


def _linear_program(
    linear: Floats, _quadratic: Floats, c: Floats, need: float, P: Floats, q: Floats, room: Floats
) -> Floats | None:
    n = len(c)
    bounded = np.flatnonzero(np.isfinite(room))
    A = np.vstack([linear, -c, P, np.eye(n)[bounded]])
    b = np.concatenate([[0.0, -need], q, room[bounded]])
    m = len(b)
    slack = np.ones(m, dtype=bool)
    slack[0] = False  # the step is minus the cost
    direction = np.zeros(m)
    direction[0] = 1.0
    basis = -2 - np.arange(m)
    basis[0] = simplex.STEP
    inverse = np.empty((m, m))
    outcome, _ = simplex.optimise(
        np.ascontiguousarray(A), n, np.arange(n), -1, slack, b, direction, basis, inverse,
        np.empty(n), np.empty(n), np.empty((m, m)),
    )  # fmt: skip
    if outcome != simplex.OPTIMAL:
        return None
    d = np.zeros(n)
    used = basis >= 0
    d[basis[used]] = (inverse @ b)[used]
    return d


def _least_distance(
    linear: Floats, quadratic: Floats, c: Floats, need: float, P: Floats, q: Floats, room: Floats
) -> Floats | None:
    """Solve by least distance programming (Lawson and Hanson, chapter 23)."""
    from scipy.optimize import nnls

    n = len(c)
    root = np.sqrt(quadratic)
    centre = -linear / (2.0 * quadratic)
    bounded = np.flatnonzero(np.isfinite(room))
    G = np.vstack([c, -P, np.eye(n), -np.eye(n)[bounded]])
    h = np.concatenate([[need], -q, np.zeros(n), -room[bounded]])
    h, G = h - G @ centre, G / root
    length = np.linalg.norm(G, axis=1)
    use = length > 0
    G, h = G[use] / length[use, None], h[use] / length[use]
    reach = np.abs(h).max()
    E = np.vstack([G.T, h / reach])
    goal = np.zeros(n + 1)
    goal[n] = 1.0
    multipliers, _ = nnls(E, goal, maxiter=50 * len(h))
    residual = E @ multipliers - goal
    if residual[n] > -1e-13:
        return None
    z = -residual[:n] / residual[n] * reach
    if (G @ z < h - 1e-9 * reach).any():
        return None
    return np.asarray(centre + z / root)
