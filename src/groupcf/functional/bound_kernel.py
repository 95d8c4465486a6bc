# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# numba infers the types
"""Bounds for a box of cells and a tuple of clusters; see :mod:`groupcf.functional.prototypes`."""

from __future__ import annotations

import numpy as np
from numba import njit

from groupcf.functional.distance_kernel import least_norm

MARGIN = 1e-9
"""Distance that a counterfactual keeps from a threshold, in the unit of the curves."""
RIDGE = 1e-12
"""Added to the diagonal, so that equal prototypes can be factored; the bound makes up for it."""


@njit(cache=True, error_model="numpy")
def factor(close, clusters, j, chol):
    """Factor the matrix of least inner products of some clusters; return whether definite."""
    B = len(clusters)
    for i in range(B):
        for k in range(i + 1):
            s = 1.0 + RIDGE if i == k else close[j, clusters[i], clusters[k]]
            for p in range(k):
                s -= chol[i, p] * chol[k, p]
            if i == k:
                if s <= 0.5 * RIDGE:
                    return False
                chol[i, i] = np.sqrt(s)
            else:
                chol[i, k] = s / chol[k, k]
    return True


@njit(cache=True, error_model="numpy")
def forward(chol, r, out):
    """Solve chol out = r; return the squared norm of out."""
    n = 0.0
    for i in range(len(r)):
        s = r[i]
        for p in range(i):
            s -= chol[i, p] * out[p]
        out[i] = s / chol[i, i]
        n += out[i] * out[i]
    return n


@njit(cache=True, error_model="numpy")
def farthest(close, clusters, j, chol, r, a, out):
    """Bound ``r . a`` over weights ``a >= 0`` with ``a' M a <= 1``.

    By duality it is at most ``sqrt(q' M^-1 q)`` for any ``q >= r``; a few rounds of coordinate
    descent find a good one, ``q = max(r, M a)``.
    """
    B = len(clusters)
    some = False
    for i in range(B):
        a[i] = 0.0
        some = some or r[i] > 0
    if not some:
        return 0.0
    for _ in range(12):
        change = 0.0
        for i in range(B):
            s = r[i]
            for k in range(B):
                if k != i:
                    s -= close[j, clusters[i], clusters[k]] * a[k]
            s = max(0.0, s)
            change = max(change, abs(s - a[i]))
            a[i] = s
        if change < 1e-6 or B == 1:
            break
    for i in range(B):
        s = a[i]
        for k in range(B):
            if k != i:
                s += close[j, clusters[i], clusters[k]] * a[k]
        out[i] = max(r[i], s)
    return np.sqrt(forward(chol, out, out))


@njit(cache=True, error_model="numpy")
def feature_bound(j, low, high, ends, clusters, data, cutoff, chol, w, a):
    """Bound ||x_j - x0_j||^2 over a box and the cone of some clusters.

    With weights ``a_i`` on unit directions ``u_i`` of cluster i, ``||v||^2 >= a' M a`` where M
    holds the least inner products between the clusters, and ``v_t <= sum a_i s_it`` with the
    largest entry ``s_it`` of cluster i. For single prototypes all of this holds with equality.
    A distance from another curve than the original adds ``2 pull . a`` and a constant; the
    square is completed.

    Returns
    -------
    float
        Lower bound.
    bool
        Whether `a` attains it (for the relaxation).
    """
    used, columns, offset, _close, span, reach, pull, rest_cost = data
    B, T = len(clusters), span.shape[3]
    n_max = 2 * (used[j + 1] - used[j]) + B + 1
    rows, sides, exact = np.empty((n_max, B)), np.empty(n_max), np.empty(n_max)
    r, centre = np.empty(B), np.zeros(B)
    for i in range(B):
        r[i] = pull[j, clusters[i]]
    constant = rest_cost[j] - forward(chol, r, centre)
    n = 0
    for i in range(B):
        r[:] = 0.0
        r[i] = 1.0
        size = np.sqrt(forward(chol, r, rows[n]))
        rows[n] /= size
        sides[n] = exact[n] = 0.0
        n += 1
    for i in range(B):
        r[i] = -1.0 / reach[j, clusters[i]]
    size = np.sqrt(forward(chol, r, rows[n]))
    rows[n] /= size
    sides[n] = exact[n] = -1.0 / size
    n += 1
    for c in range(used[j], used[j + 1]):
        t = columns[c] - j * T
        for side in range(2):
            b = ends[0, offset[c] + low[c]] if side == 0 else -ends[1, offset[c] + high[c]]
            if b == -np.inf:
                continue
            sign = 1.0 if side == 0 else -1.0
            for i in range(B):
                r[i] = sign * span[1 - side, j, clusters[i], t]
            size = np.sqrt(forward(chol, r, rows[n]))
            if size < 1e-12:
                if b > 0:
                    return np.inf, False
                continue
            rows[n] /= size
            exact[n] = b / size
            sides[n] = (b + MARGIN) / size
            n += 1
    if rest_cost[j] > 0:
        for k in range(n):
            s = 0.0
            for i in range(B):
                s += rows[k, i] * centre[i]
            sides[k] += s
            exact[k] += s
    value, good = least_norm(rows, sides, exact, n, cutoff - constant, w)
    if value == np.inf:
        return value, False
    value += constant
    for i in range(B):
        w[i] -= centre[i]
    ridge = 0.0
    for i in range(B):
        ridge += reach[j, clusters[i]] ** 2
    value = max(0.0, value - RIDGE * ridge)
    for i in range(B - 1, -1, -1):
        s = w[i]
        for p in range(i + 1, B):
            s -= chol[p, i] * a[p]
        a[i] = s / chol[i, i]
    return value, good
