# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# numba infers the types
"""Least norm under linear rows, with a bound that is valid at any time.

The dual active-set method (Goldfarb and Idnani 1983) starts at the origin and adds violated
rows; its multipliers prove a lower bound even where it is stopped. The problems here have as
many variables as prototypes may be used, and a hundred rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROW = 1e-10
"""Violation of a row, in the unit of the curves, at which it counts as satisfied."""
_FLAT = 1e-13


@njit(cache=True, error_model="numpy")
def cholesky_solve(gram, r, q):
    """Solve gram[:q, :q] x = r in place (r becomes x); return whether gram is regular."""
    for i in range(q):
        for k in range(i + 1):
            s = gram[i, k]
            for p in range(k):
                s -= gram[i, p] * gram[k, p]
            if i == k:
                if s <= 1e-14:
                    return False
                gram[i, i] = np.sqrt(s)
            else:
                gram[i, k] = s / gram[k, k]
    for i in range(q):
        s = r[i]
        for p in range(i):
            s -= gram[i, p] * r[p]
        r[i] = s / gram[i, i]
    for i in range(q - 1, -1, -1):
        s = r[i]
        for p in range(i + 1, q):
            s -= gram[p, i] * r[p]
        r[i] = s / gram[i, i]
    return True


@njit(cache=True, error_model="numpy")
def least_norm(rows, sides, exact, n_rows, cutoff, v):
    """Minimise ||v||^2 subject to rows (dual active set, from the origin).

    Parameters
    ----------
    rows : ndarray of shape (N, q)
        Unit normals; the first `n_rows` count.
    sides, exact : ndarray of shape (N,)
        ``rows @ v >= sides`` for the point; the bound counts `exact` instead, which is never
        more.
    cutoff : float
        Stop once the bound is at least this.
    v : ndarray of shape (q,)
        Filled with the point.

    Returns
    -------
    float
        Lower bound on ||v||^2; inf when there is no such point.
    bool
        Whether `v` attains it.
    """
    dim = len(v)
    top = dim + 1
    on = np.empty(top, np.int64)
    y = np.zeros(top)
    gram = np.empty((top, top))
    work = np.empty((top, top))
    r = np.empty(top)
    z = np.empty(dim)
    q = 0
    bound = 0.0
    v[:] = 0.0
    for _ in range(20 * dim + 200):
        worst, p = ROW, -1
        for k in range(n_rows):
            s = sides[k]
            for t in range(dim):
                s -= rows[k, t] * v[t]
            if s > worst:
                worst, p = s, k
        if p < 0:
            return bound, True
        y_p = 0.0
        while True:
            for i in range(q):
                s = 0.0
                for t in range(dim):
                    s += rows[on[i], t] * rows[p, t]
                r[i] = s
                for k in range(i + 1):
                    work[i, k] = gram[i, k]
            if q and not cholesky_solve(work, r, q):
                return bound, False
            for t in range(dim):
                z[t] = rows[p, t]
            for i in range(q):
                for t in range(dim):
                    z[t] -= r[i] * rows[on[i], t]
            zz, nv = 0.0, 0.0
            for t in range(dim):
                zz += z[t] * z[t]
                nv += rows[p, t] * v[t]
            full = (sides[p] - nv) / zz if zz > _FLAT and q < dim else np.inf
            partial, leave = np.inf, -1
            for i in range(q):
                if r[i] > 1e-14 and y[i] / r[i] < partial:
                    partial, leave = y[i] / r[i], i
            step = min(full, partial)
            if step == np.inf:
                return np.inf, False
            for i in range(q):
                y[i] = max(0.0, y[i] - step * r[i])
            y_p += step
            if full < np.inf:
                for t in range(dim):
                    v[t] += step * z[t]
            if full <= partial:
                on[q], y[q] = p, y_p
                for i in range(q + 1):
                    s = 0.0
                    for t in range(dim):
                        s += rows[on[i], t] * rows[p, t]
                    gram[q, i] = s
                q += 1
                break
            q -= 1
            for i in range(leave, q):
                on[i], y[i] = on[i + 1], y[i + 1]
            for i in range(leave, q):
                for k in range(i + 1):
                    gram[i, k] = gram[i + 1, k if k < leave else k + 1]
        # v = sum y n: the value of the dual at y, for the exact sides
        dual = 0.0
        for t in range(dim):
            s = 0.0
            for i in range(q):
                s += y[i] * rows[on[i], t]
            dual -= s * s
        for i in range(q):
            dual += 2 * y[i] * exact[on[i]]
        if dual > bound:
            bound = dual
        if bound >= cutoff:
            return bound, False
    return bound, False
