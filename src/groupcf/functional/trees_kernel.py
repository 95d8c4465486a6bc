# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# numba infers the types
"""The trees over a box of threshold cells: highest score, score at a cell, where to split."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def highest(trees, low, high):
    """Return the highest score of a box of cells, every tree for itself."""
    column, position, left, right, value, roots = trees
    stack = np.empty(256, np.int64)
    total = 0.0
    for root in roots:
        stack[0] = root
        n, best = 1, -np.inf
        while n:
            n -= 1
            node = stack[n]
            c = column[node]
            if c < 0:
                best = max(best, value[node])
                continue
            if low[c] <= position[node]:
                stack[n] = left[node]
                n += 1
            if high[c] > position[node]:
                stack[n] = right[node]
                n += 1
        total += best
    return total


@njit(cache=True, error_model="numpy")
def at_cells(trees, cell):
    """Return the score at one cell."""
    column, position, left, right, value, roots = trees
    total = 0.0
    for root in roots:
        node = root
        while column[node] >= 0:
            node = left[node] if cell[column[node]] <= position[node] else right[node]
        total += value[node]
    return total


@njit(cache=True, error_model="numpy")
def split_for(trees, low, high, cell, gain, first):
    """Return the column and position whose crossing lets the trees gain most over a cell."""
    column, position, left, right, value, roots = trees
    gain[:] = 0.0
    stack = np.empty(256, np.int64)
    origin = np.empty(256, np.int64)
    top, which = 0.0, -1
    for root in roots:
        node = root
        while column[node] >= 0:
            node = left[node] if cell[column[node]] <= position[node] else right[node]
        own = value[node]
        stack[0], origin[0] = root, -1
        n, best, at = 1, own, -1
        while n:
            n -= 1
            node, source = stack[n], origin[n]
            c = column[node]
            if c < 0:
                if value[node] > best:
                    best, at = value[node], source
                continue
            goes_left = cell[c] <= position[node]
            if low[c] <= position[node]:
                stack[n] = left[node]
                origin[n] = node if source < 0 and not goes_left else source
                n += 1
            if high[c] > position[node]:
                stack[n] = right[node]
                origin[n] = node if source < 0 and goes_left else source
                n += 1
        if at >= 0:
            k = first[column[at]] + position[at]
            gain[k] += best - own
            if gain[k] > top:
                top, which = gain[k], at
    return which


@njit(cache=True, error_model="numpy")
def promising(trees, used, home, offset, low, high, subsets, needed):
    """Return which sets of functional features may be accepted if no other feature moves.

    Parameters
    ----------
    low, high : ndarray of int16
        Cells within reach of a feature that moves.
    subsets : ndarray of shape (n, s)
    """
    out = np.empty(len(subsets))
    lower, upper = home.astype(np.int16), home.astype(np.int16)
    for k in range(len(subsets)):
        for j in subsets[k]:
            lower[used[j] : used[j + 1]] = low[used[j] : used[j + 1]]
            upper[used[j] : used[j + 1]] = high[used[j] : used[j + 1]]
        out[k] = highest(trees, lower, upper)
        for j in subsets[k]:
            lower[used[j] : used[j + 1]] = home[used[j] : used[j + 1]]
            upper[used[j] : used[j + 1]] = home[used[j] : used[j + 1]]
    return out
