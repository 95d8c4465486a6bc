"""Pattern search: the clusters of largest weight, or all above a weight (models.md section 4).

Depth first over sets of rows. A node holds the rows T still in and the features already freed;
D(T) are the features in which T disagrees. When D(T) fits the budget and some point of the
wanted class agrees with T elsewhere (up to what is left of the budget), T as a whole is a
cluster, and nothing below it is larger. Otherwise a feature of D(T) is freed or held at each of
its values. A node is dropped when too much weight would have to be held, or when no point of
the wanted class is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from groupcf.exact.pattern_models import Flags, Floats, Integers, upper
from groupcf.exact.pattern_oracle import (
    COMPLETIONS,
    FOUND,
    INNER,
    NODES,
    OVERFLOW,
    TOP,
    UNKNOWN,
    complete,
    copy,
    fill,
    matches,
)


class Board(NamedTuple):
    """Rows of a pattern table for compiled code; see `PatternTable`."""

    codes: NDArray[np.int32]
    start: Integers
    permitted: Flags
    block: Integers
    restricted: Flags


class Frontier(NamedTuple):
    """Stack of open nodes: rows, weight, freed features, and whether T is known to fail."""

    rows: NDArray[np.int32]
    size: Integers
    weight: Floats
    freed: Flags
    failed: Flags


class Found(NamedTuple):
    """Clusters: member rows, weight, hash of the members, and a point of the wanted class."""

    member: Flags
    weight: Floats
    key: NDArray[np.uint64]
    point: NDArray[np.int32]


@njit(cache=True, nogil=True)
def _rebates(
    triples: Any, rebate: Any, rows: Any, size: int, inside: Any, codes: Any, start: Any, held: Any
) -> float:
    """Take rebates off the weights held by value; return the rebate of all rows.

    Leaves the rows marked in `inside`.
    """
    for i in range(size):
        inside[rows[i]] = True
    total = 0.0
    for c in range(len(triples)):
        a, b, d = triples[c, 0], triples[c, 1], triples[c, 2]
        if int(inside[a]) + int(inside[b]) + int(inside[d]) < 2:
            continue
        total += rebate[c]
        for j in range(codes.shape[1]):
            if inside[a] and inside[b] and codes[a, j] == codes[b, j]:
                held[start[j] + codes[a, j]] -= rebate[c]
            elif inside[d] and (
                (inside[a] and codes[a, j] == codes[d, j])
                or (inside[b] and codes[b, j] == codes[d, j])
            ):
                held[start[j] + codes[d, j]] -= rebate[c]
    return total


@njit(cache=True, nogil=True)
def _lightest(weights: Floats) -> int:
    place = 0
    for k in range(1, len(weights)):
        if weights[k] < weights[place]:
            place = k
    return place


@njit(cache=True, nogil=True)
def _record(
    found: Any, tally: Any, rows: Any, size: int, keys: Any, total: float, x: Any, collect: bool
) -> bool:
    """Keep a cluster; return whether there was no room (`collect`), or there is none left."""
    room = len(found.weight)
    key = np.uint64(0)
    for i in range(size):
        key ^= keys[rows[i]]
    place = -1
    if not collect:
        for k in range(tally[FOUND]):
            if found.key[k] == key:
                place = k
                break
    if place < 0:
        if tally[FOUND] < room:
            place = tally[FOUND]
            tally[FOUND] += 1
        elif collect:
            return True
        else:
            place = _lightest(found.weight)
    found.key[place], found.weight[place] = key, total
    fill(found.member[place], 0, found.member.shape[1], False)
    for i in range(size):
        found.member[place, rows[i]] = True
    copy(x, found.point[place], len(x))
    return not collect and tally[FOUND] == room


@njit(cache=True, nogil=True)
def search(
    board: Any,
    model: Any,
    target: float,
    budget: int,
    weight: Floats,
    triples: NDArray[np.int32],
    rebate: Floats,
    keys: NDArray[np.uint64],
    threshold: float,
    collect: bool,
    frontier: Any,
    found: Any,
    known: Any,
    tally: Integers,
    missed: Floats,
    work: int,
    inner: int,
) -> float:
    """Search on from the frontier until it is empty or `work` nodes are done.

    A set of rows weighs the sum of its `weight`, less the `rebate` of every one of the
    `triples` of which it has two or three rows. It must not fall when rows are added, and does
    not when every row weighs at least the rebates of its triples.

    With `collect` all clusters heavier than `threshold` are kept, otherwise the heaviest ones
    that `found` has room for. Sets ``tally[OVERFLOW]`` when `collect` runs out of room, and
    raises ``missed[0]`` to the weight of any set of rows that `complete` could not decide.

    Returns
    -------
    float
        The weight that a further cluster would have to exceed.
    """
    codes, start, restricted = board.codes, board.start, board.restricted
    permitted, block = board.permitted, board.block
    open_rows, open_size, open_weight = frontier.rows, frontier.size, frontier.weight
    open_freed, open_failed = frontier.freed, frontier.failed
    found_weight = found.weight
    n_features = codes.shape[1]
    n_values = start[n_features]
    held = np.zeros(n_values)  # weight and number of rows by own value
    count = np.zeros(n_values, np.int64)
    able = np.zeros(n_values)  # weight and number of rows that may take a value
    able_count = np.zeros(n_values, np.int64)
    free = np.zeros(n_values, np.bool_)
    paid = np.zeros(n_values, np.bool_)
    differs = np.zeros(n_features, np.bool_)
    common = np.zeros(n_features, np.int64)
    x = np.zeros(n_features, np.int32)
    importance = np.zeros(n_features)
    rows = np.empty(open_rows.shape[1], np.int32)
    inside = np.zeros(open_rows.shape[1], np.bool_)
    freed = np.empty(n_features, np.bool_)
    order = np.empty(n_values, np.int64)
    end = tally[NODES] + tally[INNER] + work
    while tally[TOP] > 0 and tally[NODES] + tally[INNER] < end:
        tally[TOP] -= 1
        node = tally[TOP]
        if open_weight[node] <= threshold:
            continue
        tally[NODES] += 1
        size = open_size[node]
        copy(open_rows[node], rows, size)
        copy(open_freed[node], freed, n_features)
        failed = open_failed[node]

        # what the rows have, and what they may take
        fill(held, 0, n_values, 0.0)
        fill(count, 0, n_values, 0)
        total = 0.0
        for i in range(size):
            s = rows[i]
            total += weight[s]
            for j in range(n_features):
                v = start[j] + codes[s, j]
                held[v] += weight[s]
                count[v] += 1
        if len(triples) > 0:
            total -= _rebates(triples, rebate, rows, size, inside, codes, start, held)
        n_differ, n_freed, repeated = 0, 0, False
        for j in range(n_features):
            common[j] = start[j] + codes[rows[0], j]
            differs[j] = count[common[j]] < size
            if freed[j]:
                n_freed += 1
                repeated = repeated or not differs[j]
            elif differs[j]:
                n_differ += 1
        if repeated:  # held at its common value, this feature leads to the same rows
            for i in range(size):
                inside[rows[i]] = False
            continue
        spare = budget - n_freed
        for j in range(n_features):
            width = start[j + 1] - start[j]
            if not restricted[j]:
                fill(able, start[j], start[j + 1], total)
                fill(able_count, start[j], start[j + 1], size)
                continue
            fill(able, start[j], start[j + 1], 0.0)
            fill(able_count, start[j], start[j + 1], 0)
            for own in range(width):
                if count[start[j] + own] > 0:
                    for v in range(width):
                        if permitted[block[j] + own * width + v]:
                            able[start[j] + v] += held[start[j] + own]
                            able_count[start[j] + v] += count[start[j] + own]
        for c in range(len(triples)):
            for j in range(n_features):
                if not restricted[j]:
                    continue
                width = start[j + 1] - start[j]
                for v in range(width):
                    members = 0
                    for i in range(3):
                        s = triples[c, i]
                        at = block[j] + codes[s, j] * width + v
                        members += inside[s] and permitted[at]
                    if members > 1:
                        able[start[j] + v] -= rebate[c]
        for i in range(size):
            inside[rows[i]] = False

        # T as a whole
        if n_differ <= spare and not failed:
            for j in range(n_features):
                for v in range(start[j], start[j + 1]):
                    if differs[j]:
                        free[v], paid[v] = able_count[v] == size, False
                    else:
                        free[v], paid[v] = v == common[j], able_count[v] == size
            at = matches(known, start, free, paid, spare - n_differ)
            if at >= 0:
                copy(known.points[at], x, n_features)
                verdict = 1
            elif known.complete:
                verdict = 0
            else:
                tally[COMPLETIONS] += 1
                verdict = complete(
                    model, target, start, free, paid, spare - n_differ, inner, x, tally
                )
                if verdict == 1 and known.kept:
                    copy(x, known.points[known.met[0] % len(known.points)], n_features)
                    known.met[0] += 1
            if verdict < 0:
                tally[UNKNOWN] += 1
                missed[0] = max(missed[0], total)
            if verdict == 1:
                full = _record(found, tally, rows, size, keys, total, x, collect)
                if full and collect:
                    tally[OVERFLOW] = 1
                    tally[TOP] += 1  # this node is not done
                    return threshold
                if full:
                    threshold = max(threshold, found_weight[_lightest(found_weight)])
                continue
            failed = True

        # how much weight can be held, and whether a point of the wanted class is left
        branch, least, forced = -1, np.inf, 0
        for j in range(n_features):
            heaviest = 0.0
            for v in range(start[j], start[j + 1]):
                if not differs[j]:
                    free[v], paid[v] = v == common[j], able_count[v] == size
                elif freed[j]:
                    free[v], paid[v] = able_count[v] > 0 and able[v] > threshold, False
                else:
                    heaviest = max(heaviest, held[v])
                    free[v] = count[v] > 0 and held[v] > threshold
                    paid[v] = able_count[v] > 0 and able[v] > threshold
            if differs[j] and not freed[j]:
                forced += heaviest <= threshold
                if heaviest < least:
                    branch, least = j, heaviest
        if branch < 0 or forced > spare:
            continue
        if matches(known, start, free, paid, spare) < 0 and (
            known.complete or upper(model, start, free, paid, spare, x, importance) < target
        ):
            continue

        # children on the feature that holds least, the most promising on top of the stack
        j = branch
        m = 0
        for v in range(start[j], start[j + 1]):
            if held[v] > threshold and count[v] > 0:
                k = m
                while k > 0 and held[order[k - 1]] > held[v]:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = v
                m += 1
        for k in range(m):
            top = tally[TOP]
            c = 0
            for i in range(size):
                if start[j] + codes[rows[i], j] == order[k]:
                    open_rows[top, c] = rows[i]
                    c += 1
            open_size[top], open_weight[top] = c, held[order[k]]
            copy(freed, open_freed[top], n_features)
            open_failed[top] = False
            tally[TOP] += 1
        if spare == 0:
            continue
        width = start[j + 1] - start[j]
        for v in range(width):
            if able[start[j] + v] <= threshold or able_count[start[j] + v] == 0:
                continue
            whole = able_count[start[j] + v] == size
            again = False  # an earlier value that the same rows may take
            for u in range(v):
                same = True
                for own in range(width):
                    if count[start[j] + own] > 0 and restricted[j]:
                        at = block[j] + own * width
                        if permitted[at + u] != permitted[at + v]:
                            same = False
                            break
                if same:
                    again = True
                    break
            if again:
                continue
            top = tally[TOP]
            c = 0
            for i in range(size):
                own = codes[rows[i], j]
                if whole or permitted[block[j] + own * width + v]:
                    open_rows[top, c] = rows[i]
                    c += 1
            open_size[top], open_weight[top] = c, able[start[j] + v]
            copy(freed, open_freed[top], n_features)
            open_freed[top, j] = True
            open_failed[top] = failed and whole
            tally[TOP] += 1
    return threshold
