"""Few columns that cover every row: local search with row weights.

The heuristic half of the set cover: it supplies incumbents, bounds come from elsewhere. It
keeps a partial cover with one column less than the best known and moves one column at a time
to where the weight of the uncovered rows is; rows that stay uncovered gain weight (row-weighting
local search, Gao, Weise and Li, EJOR 2015).
"""

from __future__ import annotations

import math
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

_STEPS = 20_000

Integers = NDArray[np.int64]
Bits = NDArray[np.bool_]


def small_cover(
    columns: Bits,
    *,
    start: NDArray[np.int64] | None = None,
    goal: int = 1,
    until: float = math.inf,
    steps: int = 2_000_000,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Search for a cover with few columns.

    Parameters
    ----------
    columns : ndarray of shape (N, n) of bool
        Rows of each column; every row is in some column.
    start : ndarray of int, optional
        A known cover; greedy otherwise.
    goal : int
        Number of columns at which the search ends (a lower bound).
    until : float
        Moment (``time.perf_counter``) at which it ends.
    steps : int
        Moves after which it ends: the same answer on every machine unless time runs out.
    seed : int

    Returns
    -------
    ndarray of int
        Columns of the smallest cover found, ascending.
    """
    best = greedy_cover(columns) if start is None else np.asarray(start, dtype=np.int64)
    best = without_redundant(columns, best)
    if len(best) <= goal:
        return best
    n_columns, n_rows = columns.shape
    column, row = np.nonzero(columns)
    by_column = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=n_columns))])
    order = np.argsort(row, kind="stable")
    by_row = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
    state = _State(best, n_columns, n_rows, seed)
    done = 0
    while done < steps and len(best) > goal and time.perf_counter() < until:
        size = _move(
            columns,
            by_column,
            row.astype(np.int32),
            by_row,
            column[order].astype(np.int32),
            *state.arrays,
            best,
            len(best),
            goal,
            min(_STEPS, steps - done),
        )
        best = best[:size]
        done += _STEPS
    return np.sort(best)


def greedy_cover(columns: Bits) -> NDArray[np.int64]:
    """Cover all rows, taking the column with most uncovered rows each time."""
    left = np.ones(columns.shape[1], dtype=bool)
    gain = columns.sum(axis=1)
    chosen = []
    while left.any():
        k = int(gain.argmax())
        chosen.append(k)
        new = np.flatnonzero(columns[k] & left)
        left[new] = False
        gain = gain - columns[:, new].sum(axis=1)
    return np.array(chosen, dtype=np.int64)


def without_redundant(columns: Bits, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop chosen columns whose rows the others cover."""
    count = columns[chosen].sum(axis=0)
    kept = []
    for k in sorted(chosen.tolist(), key=lambda k: int(columns[k].sum())):
        if (count[columns[k]] > 1).all():
            count = count - columns[k]
        else:
            kept.append(k)
    return np.array(sorted(kept), dtype=np.int64)


class _State:
    """What the local search remembers between calls of the compiled part."""

    def __init__(self, cover: Integers, n_columns: int, n_rows: int, seed: int) -> None:
        inside = np.zeros(n_columns, dtype=bool)
        inside[cover] = True
        self.arrays = (
            inside,
            np.zeros(n_columns, np.int64),  # score: weight won by adding, minus weight lost
            np.zeros(n_columns, np.int64),  # when it last moved
            np.ones(n_columns, dtype=bool),  # whether something near it moved since it left
            np.ones(n_rows, np.int64),  # weights of rows
            np.zeros(n_rows, np.int64),  # how often each is covered
            np.array([0, 2 * seed + 1, -1], np.int64),  # clock, random state, column just added
        )


@njit(cache=True, nogil=True)
def _move(
    columns: Bits,
    by_column: Integers,
    rows_of: NDArray[np.int32],
    by_row: Integers,
    columns_of: NDArray[np.int32],
    inside: Bits,
    score: Integers,
    moved: Integers,
    ready: Bits,
    weight: Integers,
    covered: Integers,
    memory: Integers,
    best: Integers,
    size: int,
    goal: int,
    steps: int,
) -> int:
    """Make so many moves; write the best cover to `best` and return its size."""
    n_columns, n_rows = columns.shape
    chosen = np.empty(size + 1, np.int64)
    m = 0
    for k in range(n_columns):
        score[k] = 0
        if inside[k]:
            chosen[m] = k
            m += 1
    for r in range(n_rows):
        covered[r] = 0
        for i in range(m):
            covered[r] += columns[chosen[i], r]
        if covered[r] == 0:
            for a in range(by_row[r], by_row[r + 1]):
                score[columns_of[a]] += weight[r]
        elif covered[r] == 1:
            for i in range(m):
                if columns[chosen[i], r]:
                    score[chosen[i]] -= weight[r]
    bare = np.empty(n_rows, np.int64)
    for _ in range(steps):
        n_bare = 0
        for r in range(n_rows):
            if covered[r] == 0:
                bare[n_bare] = r
                n_bare += 1
        if n_bare == 0:
            size = m
            for i in range(m):
                best[i] = chosen[i]
            if size <= goal:
                return size
        # out: one column after a cover was found, or one of two moves of a step
        memory[0] += 1
        out = -1
        for i in range(m):
            k = chosen[i]
            if k == memory[2] and n_bare > 0:
                continue
            if (
                out < 0
                or score[k] > score[chosen[out]]
                or (score[k] == score[chosen[out]] and moved[k] < moved[chosen[out]])
            ):
                out = i
        if out >= 0:
            k = chosen[out]
            m -= 1
            chosen[out] = chosen[m]
            inside[k] = False
            moved[k] = memory[0]
            ready[k] = False
            score[k] = -score[k]
            for b in range(by_column[k], by_column[k + 1]):
                r = rows_of[b]
                covered[r] -= 1
                if covered[r] == 0:
                    for a in range(by_row[r], by_row[r + 1]):
                        other = columns_of[a]
                        ready[other] = ready[other] or other != k
                        if other != k:
                            score[other] += weight[r]
                elif covered[r] == 1:
                    for i in range(m):
                        if columns[chosen[i], r]:
                            score[chosen[i]] -= weight[r]
                            break
        if n_bare == 0:
            continue
        n_bare = 0
        for r in range(n_rows):
            if covered[r] == 0:
                bare[n_bare] = r
                n_bare += 1
        # in: the best column that covers some uncovered row
        memory[1] = (memory[1] * 1103515245 + 12345) % 2147483648
        r = bare[(memory[1] >> 8) % n_bare]
        add = -1
        for a in range(by_row[r], by_row[r + 1]):
            k = columns_of[a]
            if (
                add < 0
                or ready[k] > ready[add]
                or (ready[k] == ready[add] and score[k] > score[add])
                or (ready[k] == ready[add] and score[k] == score[add] and moved[k] < moved[add])
            ):
                add = k
        inside[add] = True
        chosen[m] = add
        m += 1
        moved[add] = memory[0]
        memory[2] = add
        score[add] = -score[add]
        for b in range(by_column[add], by_column[add + 1]):
            r = rows_of[b]
            covered[r] += 1
            if covered[r] == 1:
                for a in range(by_row[r], by_row[r + 1]):
                    other = columns_of[a]
                    if other != add:
                        score[other] -= weight[r]
                        ready[other] = True
            elif covered[r] == 2:
                for i in range(m - 1):
                    if columns[chosen[i], r]:
                        score[chosen[i]] += weight[r]
                        break
        for i in range(n_bare):
            r = bare[i]
            if covered[r] == 0:
                weight[r] += 1
                for a in range(by_row[r], by_row[r + 1]):
                    score[columns_of[a]] += 1
    return size
