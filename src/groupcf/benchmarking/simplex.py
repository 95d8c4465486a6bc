"""Compiled dual simplex method for the linear programs of DEA.

All of them have one form: the longest step from a point in a direction that stays in the
technology, ``max e`` over ``A l + e d + s = b, l >= 0, s >= 0, e free``, where

======  =============  ==========  ==================
row     column of A    b           d
======  =============  ==========  ==================
input   x_j            x           dx (less of it)
output  -y_j           -y          dy (more of it)
size    1 (-1 in IRS)  1 (-1)      0
======  =============  ==========  ==================

and the size row, absent under CRS, has no slack under VRS. Farrell's input efficiency is
``1 - e`` in the direction (x, 0), the output factor ``1 + e`` in (0, y).

There are few rows and many columns: the inverse of the basis is kept, and only a small set of
*members*, which end up as the frontier, is priced in the inner loop. There is no first phase:
a start whose prices are feasible is the best *known* basis of an earlier program, or one
extreme ray of the cone of prices that is known in closed form.

Every comparison with zero is relative to the size of the terms summed, so that units of very
different size and columns in very different units of measurement are treated alike.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

CRS, VRS, DRS, IRS = 0, 1, 2, 3
OPTIMAL, INFEASIBLE, FAILED = 0, 1, 2
NO_SCAN, SCAN, SCAN_OUTSIDE = 0, 1, 2
STEP = -1
"""Basis entry of the step e. Entries 0, 1, ... are members; -2 - i is the slack of row i."""

INSIDE = 1e-11
"""A point whose step into the technology is at least minus this lies in it."""
PRICE = 1e-11
"""Relative tolerance of a price that is not negative."""
_FEASIBLE = 1e-11
_PIVOT = 1e-10
_REFACTOR = 24
_BLAND = 80
_ITERATIONS = 2000

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _invert(A: Floats, d: Floats, basis: Integers, inverse: Floats, work: Floats) -> bool:
    """Write the inverse of the basis; return False if it is singular."""
    m = len(basis)
    for p in range(m):
        j = basis[p]
        for i in range(m):
            if j >= 0:
                work[i, p] = A[i, j]
            elif j == STEP:
                work[i, p] = d[i]
            else:
                work[i, p] = 1.0 if i == -2 - j else 0.0
            inverse[i, p] = 1.0 if i == p else 0.0
    for p in range(m):
        best, at = 0.0, -1
        for i in range(p, m):  # rows are compared by the share that the pivot has in them
            size = 0.0
            for k in range(p, m):
                size += abs(work[i, k])
            if size > 0.0 and abs(work[i, p]) > best * size:
                best, at = abs(work[i, p]) / size, i
        if best < 1e-13:
            return False
        scale = 1.0 / work[at, p]
        for k in range(m):
            work[at, k], work[p, k] = work[p, k], work[at, k] * scale
            inverse[at, k], inverse[p, k] = inverse[p, k], inverse[at, k] * scale
        for i in range(m):
            factor = work[i, p]
            if i != p and factor != 0.0:
                for k in range(m):
                    work[i, k] -= factor * work[p, k]
                    inverse[i, k] -= factor * inverse[p, k]
    return True


@njit(cache=True, nogil=True)
def _start(
    A: Floats, n: int, members: Integers, skip: int, inputs: int, rts: int, d: Floats,
    basis: Integers,
) -> bool:  # fmt: skip
    """Write the basis of an extreme ray of prices under which d is worth something."""
    m = len(d)
    outputs = m - inputs - (0 if rts == CRS else 1)
    for r in range(m):
        basis[r] = -2 - r
    inward, row = -1, -1
    for i in range(inputs):
        if d[i] > 0.0:
            inward = i
            break
    if inward >= 0 and (rts in (VRS, IRS)):
        row = inward
    elif inward < 0 and (rts in (VRS, DRS)):
        for r in range(inputs, inputs + outputs):
            if d[r] > 0.0:
                row = r
                break
    if row >= 0:  # one good and the size row are priced
        best, unit = np.inf, -1
        for j in range(n):
            if members[j] != skip and A[row, j] / abs(A[m - 1, j]) < best:
                best, unit = A[row, j] / abs(A[m - 1, j]), j
        basis[row], basis[m - 1] = STEP, unit
        return unit >= 0
    for i in range(inputs):  # one input and one output are priced: the best ratio is tight
        if inward >= 0 and d[i] <= 0.0:
            continue
        for o in range(inputs, inputs + outputs):
            if inward < 0 and d[o] <= 0.0:
                continue
            best, unit = np.inf, -1
            for j in range(n):
                if members[j] != skip and A[o, j] < 0.0 and A[i, j] < -best * A[o, j]:
                    best, unit = -A[i, j] / A[o, j], j
            if unit >= 0 and (inward >= 0 or best > 0.0):
                basis[i], basis[o] = STEP, unit
                return True
    return False


@njit(cache=True, nogil=True)
def _products(row: Floats, A: Floats, n: int, out: Floats) -> None:
    """Write row.A[:, :n]."""
    for j in range(n):
        out[j] = 0.0
    for i in range(A.shape[0]):
        factor = row[i]
        if factor != 0.0:
            for j in range(n):
                out[j] += factor * A[i, j]


@njit(cache=True, nogil=True)
def _magnitude(row: Floats, A: Floats, j: int) -> float:
    total = 0.0
    for i in range(A.shape[0]):
        total += abs(row[i] * A[i, j])
    return total


@njit(cache=True, nogil=True)
def optimise(
    A: Floats, n: int, members: Integers, skip: int, slack: Flags, b: Floats, d: Floats,
    basis: Integers, inverse: Floats, out: Floats, alpha: Floats, work: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Run the dual simplex method over the members, from a basis with feasible prices.

    Returns the outcome and the row of the inverse that holds the prices: the optimal ones, or
    those that prove the program infeasible.
    """
    m = len(basis)
    refresh, fresh, checks, e = True, 0, 0, 0
    for iteration in range(_ITERATIONS):
        if refresh:
            if not _invert(A, d, basis, inverse, work):
                return FAILED, 0
            refresh, fresh = False, 0
        while basis[e] != STEP:
            e = e + 1 if e + 1 < m else 0
        p, worst = -1, 0.0
        for r in range(m):
            if r == e:
                continue
            value, size, norm = 0.0, 0.0, 0.0
            for i in range(m):
                term = inverse[r, i] * b[i]
                value += term
                size += abs(term)
                norm += inverse[r, i] * inverse[r, i]
            if value < -_FEASIBLE * size:
                score = value * abs(value) / norm
                if iteration > _BLAND:  # by number: ends the cycles of degenerate steps
                    score = basis[r] - 2.0 - A.shape[1]
                if score < worst:
                    worst, p = score, r
        if p < 0:  # an optimum is only believed with a fresh inverse
            if fresh == 0 or checks == 3:
                return OPTIMAL, e
            checks += 1
            refresh = True
            continue
        if fresh >= _REFACTOR:
            refresh = True
            continue
        _products(inverse[p], A, n, alpha)
        _products(inverse[e], A, n, out)
        best, top = np.inf, 0.0
        for i in range(m):
            top = max(top, abs(inverse[p, i]))
        for j in range(n):
            if (
                alpha[j] < 0.0
                and members[j] != skip
                and out[j] <= -best * alpha[j]
                and -alpha[j] > _PIVOT * _magnitude(inverse[p], A, j)
            ):
                best = max(out[j], 0.0) / -alpha[j]
        for i in range(m):
            if slack[i] and inverse[p, i] < -_PIVOT * top:
                best = min(best, max(inverse[e, i], 0.0) / -inverse[p, i])
        if best == np.inf:
            if fresh > 0:  # so grave a verdict is not based on an updated inverse
                refresh = True
                continue
            return INFEASIBLE, p
        limit = best * (1.0 + 1e-9) + 1e-300
        entering, largest = -1, 0.0  # among equals the largest pivot
        for j in range(n):
            if (
                alpha[j] < -largest
                and members[j] != skip
                and out[j] <= -limit * alpha[j]
                and -alpha[j] > _PIVOT * _magnitude(inverse[p], A, j)
            ):
                entering, largest = j, -alpha[j]
        for i in range(m):
            if (
                slack[i]
                and inverse[p, i] < -_PIVOT * top
                and -inverse[p, i] > largest
                and max(inverse[e, i], 0.0) / -inverse[p, i] <= limit
            ):
                entering, largest = -2 - i, -inverse[p, i]
        for r in range(m):
            work[0, r] = 0.0
            if entering < 0:
                work[0, r] = inverse[r, -2 - entering]
            else:
                for i in range(m):
                    work[0, r] += inverse[r, i] * A[i, entering]
        scale = 1.0 / work[0, p]
        for i in range(m):
            inverse[p, i] *= scale
        for r in range(m):
            factor = work[0, r]
            if r != p and factor != 0.0:
                for i in range(m):
                    inverse[r, i] -= factor * inverse[p, i]
        basis[p] = entering
        fresh += 1
    return FAILED, 0


@njit(cache=True, nogil=True)
def _best_known(
    members: Integers, skip: int, b: Floats, d: Floats, known: Integers, known_prices: Floats,
    known_bases: Integers, basis: Integers,
) -> bool:  # fmt: skip
    """Copy the known basis whose prices say most about b; return whether there is one."""
    m = len(b)
    best, at, top = np.inf, -1, 0.0
    for i in range(m):
        top = max(top, abs(d[i]))
    for k in range(known[0]):
        worth, value, size = 0.0, 0.0, 0.0
        for i in range(m):
            worth += known_prices[k, i] * d[i]
            size += abs(known_prices[k, i]) * top  # a price that is but rounding is none
            value += known_prices[k, i] * b[i]
        if worth > 1e-9 * size and value < best * worth:
            allowed = True
            if skip >= 0:
                for i in range(m):
                    if known_bases[k, i] >= 0 and members[known_bases[k, i]] == skip:
                        allowed = False
            if allowed:
                best, at = value / worth, k
    for i in range(m):
        if at >= 0:
            basis[i] = known_bases[at, i]
    return at >= 0


@njit(cache=True, nogil=True)
def _join(
    unit: int, N: Floats, A: Floats, size: Integers, members: Integers, inside: Flags,
    known: Integers, known_prices: Floats, known_bases: Integers,
) -> None:  # fmt: skip
    """Make a unit a member, and forget the bases whose prices it violates."""
    m, n, kept = len(N), size[0], 0
    inside[unit], members[n], size[0] = True, unit, n + 1
    for i in range(m):
        A[i, n] = N[i, unit]
    for k in range(known[0]):
        value, total = 0.0, 0.0
        for i in range(m):
            value += known_prices[k, i] * A[i, n]
            total += abs(known_prices[k, i] * A[i, n])
        if value >= -PRICE * total:
            for i in range(m):
                known_prices[kept, i] = known_prices[k, i]
                known_bases[kept, i] = known_bases[k, i]
            kept += 1
    known[0] = kept


@njit(cache=True, nogil=True)
def solve(
    N: Floats, A: Floats, size: Integers, members: Integers, inside: Flags, known: Integers,
    known_prices: Floats, known_bases: Integers, inputs: int, rts: int, slack: Flags,
    B: Floats, D: Floats, skip: Integers, which: Integers, scan: int,
    bases: Integers, levels: Floats, prices: Floats, outcome: Integers,
) -> None:  # fmt: skip
    """Solve a batch of programs.

    Parameters
    ----------
    N : ndarray of shape (m, K)
        All units, each scaled so that its largest entry is 1.
    A, size, members, inside : ndarray of shape (m, K), (1,), (K,), (K,)
        Members, in the first ``size[0]`` columns of A; their number; unit of each member;
        whether a unit is a member. They grow.
    known, known_prices, known_bases : ndarray of shape (1,), (P, m), (P, m)
        Number of known bases, their prices and entries. They change.
    inputs, rts : int
        Number of input rows; returns to scale.
    slack : ndarray of shape (m,) of bool
        Rows that have a slack.
    B, D : ndarray of shape (T, m)
        Right-hand sides and directions.
    skip : ndarray of shape (T,)
        Unit that is no part of the technology; -1 for none.
    which : ndarray of int
        The programs to be solved, out of T.
    scan : int
        NO_SCAN if the members are known to span the technology. SCAN compares the prices of
        every solution with all units. SCAN_OUTSIDE does so only for points outside what the
        members span: enough to find the frontier when the points are the units themselves.
    bases, levels, prices : ndarray of shape (T, m)
        Out: basis, values of its variables, prices of the rows with ``d.prices = 1``. The
        prices that prove a program infeasible have ``d.prices = 0`` and ``b.prices < 0``.
    outcome : ndarray of shape (T,)
        Out: OPTIMAL, INFEASIBLE or FAILED.
    """
    m, units = N.shape
    inverse, work = np.empty((m, m)), np.empty((m, m))
    out, alpha, basis = np.empty(units), np.empty(units), np.empty(m, np.int64)
    for t in which:
        row = 0
        while True:
            if not _best_known(
                members, skip[t], B[t], D[t], known, known_prices, known_bases, basis
            ) and not _start(A, size[0], members, skip[t], inputs, rts, D[t], basis):
                outcome[t] = FAILED
                break
            outcome[t], row = optimise(
                A, size[0], members, skip[t], slack, B[t], D[t], basis, inverse, out, alpha, work
            )
            if outcome[t] == FAILED:
                break
            if outcome[t] == OPTIMAL and skip[t] < 0:  # else not feasible for all members
                at = known[0] if known[0] < len(known_prices) else 0
                known[0] = at + 1
                for i in range(m):
                    known_prices[at, i], known_bases[at, i] = inverse[row, i], basis[i]
            step = 0.0
            for i in range(m):
                step += inverse[row, i] * B[t, i]
            if scan == NO_SCAN or (
                scan == SCAN_OUTSIDE and outcome[t] == OPTIMAL and step >= -INSIDE
            ):
                break
            _products(inverse[row], N, units, out)
            worst, violated = 0.0, -1
            for j in range(units):
                if (
                    out[j] < worst
                    and j != skip[t]
                    and out[j] < -PRICE * _magnitude(inverse[row], N, j)
                ):
                    worst, violated = out[j], j
            if violated < 0 or inside[violated]:
                break
            _join(violated, N, A, size, members, inside, known, known_prices, known_bases)
        for r in range(m):
            bases[t, r], prices[t, r], levels[t, r] = basis[r], inverse[row, r], 0.0
            for i in range(m):
                levels[t, r] += inverse[r, i] * B[t, i]
