"""Set covers against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcf.errors import DataError
from groupcf.solution import Status
from groupcf.solvers.set_cover import membership, solve_set_cover, undominated


def best_cost(covers, cost):
    n, rows = covers.shape
    best = None
    for size in range(n + 1):
        for pick in itertools.combinations(range(n), size):
            if covers[list(pick)].any(axis=0).all() if pick else rows == 0:
                total = int(cost[list(pick)].sum()) if pick else 0
                best = total if best is None else min(best, total)
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_least_cost(seed, unit):
    rng = np.random.default_rng(seed)
    n, rows = rng.integers(1, 9), rng.integers(1, 8)
    covers = rng.random((n, rows)) < 0.4
    cost = np.ones(n, dtype=int) if unit else rng.integers(0, 6, n)
    r = solve_set_cover(covers, int(rows), costs=None if unit else cost)
    best = best_cost(covers, cost)
    if best is None:
        assert r.status == Status.INFEASIBLE
        assert str(np.flatnonzero(~covers.any(axis=0))[0]) in r.message
        return
    assert (r.status, r.objective, r.bound) == (Status.OPTIMAL, best, best)
    assert covers[r.chosen].any(axis=0).all()
    assert cost[r.chosen].sum() == best


def test_the_three_ways_to_give_columns_agree():
    rng = np.random.default_rng(3)
    covers = rng.random((40, 130)) < 0.2
    covers[0] = ~covers[1:].any(axis=0) | covers[0]
    lists = [np.flatnonzero(c).tolist() for c in covers]
    octets = np.packbits(covers, axis=1, bitorder="little")
    bits = np.zeros((40, 24), dtype=np.uint8)
    bits[:, : octets.shape[1]] = octets
    words = bits.view("<u8")
    assert np.array_equal(membership(lists, 130), covers)
    assert np.array_equal(membership(words, 130), covers)
    answers = [solve_set_cover(columns, 130) for columns in (covers, lists, words)]
    assert {a.objective for a in answers} == {answers[0].objective}
    assert all(np.array_equal(a.chosen, answers[0].chosen) for a in answers)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_undominated_are_those_in_no_other(seed):
    rng = np.random.default_rng(seed)
    covers = rng.random((rng.integers(1, 30), 5)) < 0.5
    cost = rng.integers(1, 4, len(covers))
    expected = []
    for a in range(len(covers)):
        better = [
            b
            for b in range(len(covers))
            if b != a
            and np.all(covers[b] >= covers[a])
            and cost[b] <= cost[a]
            and (np.any(covers[b] > covers[a]) or cost[b] < cost[a] or b < a)
        ]
        if not better:
            expected.append(a)
    assert undominated(covers, cost).tolist() == expected


def test_a_hint_and_a_time_limit_leave_a_valid_bound():
    rng = np.random.default_rng(1)
    covers = rng.random((400, 150)) < 0.06
    covers[:150] |= np.eye(150, dtype=bool)
    r = solve_set_cover(covers, 150, hint=range(150), time_limit=1.0)
    assert r.status == Status.FEASIBLE
    assert r.bound < r.objective <= 150
    assert covers[r.chosen].any(axis=0).all()


def test_nothing_to_cover():
    r = solve_set_cover([[]], 0)
    assert (r.status, r.objective, r.chosen.tolist()) == (Status.OPTIMAL, 0, [])


@pytest.mark.parametrize(
    ("columns", "costs", "message"),
    [
        ([[0], [3]], None, "column 1 names a row outside 0 .. 2"),
        (np.zeros((2, 4)), None, "bool of shape"),
        (np.full((1, 1), 8, dtype=np.uint64), None, "beyond row 2"),
        ([[0, 1, 2]], [0.5], "non-negative integers"),
        ([[0, 1, 2]], [-1], "non-negative integers"),
    ],
)
def test_bad_columns_are_named(columns, costs, message):
    with pytest.raises(DataError, match=message):
        solve_set_cover(columns, 3, costs=costs)
