"""Triples of rows that a fractional cover covers too cheaply.

Adding the rows a, b, c of a covering problem, halving and rounding up gives the rank-1
Chvatal-Gomory cut ``sum_c ceil(|T_c & {a, b, c}| / 2) lambda_c >= 2``: no single column that
holds two of them, however it is combined, makes up for the third. The pattern search prices
these cuts exactly (`Duals`), so they tighten the linear bound without giving up its proof.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_LEAST = 0.02
_PER_ROW = 4


def violated_triples(
    members: NDArray[np.bool_], x: NDArray[np.float64], limit: int
) -> NDArray[np.int32]:
    """Return triples whose cut a fractional cover violates, the most violated first.

    Parameters
    ----------
    members : ndarray of shape (N, n) of bool
    x : ndarray of shape (N,)
        Fractional cover.
    limit : int
        At most so many; at most four with the same row, so that they spread.

    Returns
    -------
    ndarray of shape (C, 3) of int
    """
    used = np.flatnonzero(x > 1e-6)
    part = members[used]
    rows = np.flatnonzero(part.sum(axis=0) > 1)
    part = part[:, rows]
    shared = (part * x[used, None]).T @ part
    found, short = _violated(part, x[used], shared, 200_000)
    order = np.argsort(-short, kind="stable")
    times = np.zeros(len(rows), dtype=np.int64)
    kept = []
    for k in order.tolist():
        if (times[found[k]] < _PER_ROW).all():
            times[found[k]] += 1
            kept.append(rows[found[k]])
            if len(kept) == limit:
                break
    return np.array(kept, dtype=np.int32).reshape(-1, 3)


@njit(cache=True, nogil=True)
def _violated(
    part: NDArray[np.bool_], x: NDArray[np.float64], shared: NDArray[np.float64], room: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    # left side = cover of a, b, c - pairs + 2 * all three; short of 2 only if pairs exceed 1
    found = np.empty((room, 3), np.int64)
    short = np.empty(room)
    m = 0
    n = part.shape[1]
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                pairs = shared[a, b] + shared[a, c] + shared[b, c]
                slack = shared[a, a] + shared[b, b] + shared[c, c] - 2.0
                if pairs <= slack + _LEAST:
                    continue
                for k in range(len(x)):
                    if part[k, a] and part[k, b] and part[k, c]:
                        pairs -= 2.0 * x[k]
                if pairs > slack + _LEAST and m < room:
                    found[m, 0], found[m, 1], found[m, 2] = a, b, c
                    short[m] = pairs - slack
                    m += 1
    return found[:m], short[:m]
