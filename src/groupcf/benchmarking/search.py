"""The least costly change of one unit: the cheapest half-space of its facets."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.facets import CutOutputs, Facets, RayOutputs
from groupcf.benchmarking.halfspaces import SOLVED, UNKNOWN, cheapest
from groupcf.benchmarking.moves import Move
from groupcf.benchmarking.rows import solve_with_rows

Floats = NDArray[np.float64]
_SATISFIED = 1e-12


@dataclass(frozen=True, eq=False)
class Found:
    """The answer of a search, in folded cost (`Move`).

    Attributes
    ----------
    d : ndarray of shape (n,) or None
        Changes; None if nothing allowed reaches the target, or time was up before.
    value, bound : float
        Their cost and a lower bound; infinite if nothing reaches the target.
    rounds : int
        How often the half-spaces were searched.
    complete : bool
        Whether the search ended by itself.
    """

    d: Floats | None
    value: float
    bound: float
    rounds: int
    complete: bool


def least_cost(facets: Facets, move: Move, target: float, deadline: float | None = None) -> Found:
    """Find the cheapest changes after which efficiency reaches a target.

    Parameters
    ----------
    facets : Facets
    move : Move
    target : float
    deadline : float, optional
        Value of ``time.perf_counter()`` at which to stop.

    Returns
    -------
    Found
    """
    rounds = 0
    while True:
        rounds += 1
        chosen, d, value, bound = _cheapest(facets, move, target)
        if d is None:
            return Found(None, np.inf, np.inf, rounds, True)
        if facets.accepts(move.point(d), target, chosen):
            return Found(d, value, bound, rounds, True)
        if deadline is not None and time.perf_counter() > deadline:
            return Found(None, np.inf, bound, rounds, False)


def _cheapest(facets: Facets, move: Move, target: float) -> tuple[int, Floats | None, float, float]:
    """Return the cheapest half-space, the changes, their cost and its lower bound."""
    C, need = facets.halfspaces(move.start, target)
    values, bounds = np.empty(len(need)), np.empty(len(need))
    state = np.full(len(need), UNKNOWN, np.int64)
    found: dict[int, Floats] = {}
    d = np.zeros(len(move.cap))
    P, q = facets.rows(move.start)
    active = np.zeros(len(q), dtype=bool)
    while True:
        at = cheapest(
            C, need, move.cap, move.charge, move.linear, move.quadratic, move.first, move.unit,
            values, bounds, state, d,
        )  # fmt: skip
        if at < 0:
            return -1, None, np.inf, np.inf
        if state[at] > SOLVED:
            return at, found[at], float(values[at]), float(bounds.min())
        if not _violated(P, q, d).any():
            return at, d.copy(), float(values[at]), float(bounds.min())
        changes = d.copy()
        while (violated := _violated(P, q, changes)).any() and np.isfinite(values[at]):
            active |= violated
            values[at], bounds[at], changes = solve_with_rows(
                move, C[at], need[at], P[active], q[active]
            )
        found[at], state[at] = changes, SOLVED + 1


def _violated(P: Floats, q: Floats, d: Floats) -> NDArray[np.bool_]:
    used = P @ d
    return np.asarray(used - q > _SATISFIED * (used + np.abs(q)))


def highest_efficiency(facets: RayOutputs | CutOutputs, move: Move) -> float:
    """Return the largest efficiency that changed outputs can reach, for a message.

    Outputs that come in whole units may fall a little short of it.
    """
    room = np.where(np.isfinite(move.cap), move.cap, 1e6)
    best = 0.0
    while True:
        C, base, h = facets.lines(move.start)
        P, q = facets.rows(move.start)
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = (C @ room + base) / h
        upper[np.isnan(upper)] = -np.inf
        refined: dict[int, Floats] = {}
        while len(h) and (at := int(np.argmax(upper))) not in refined and upper[at] > best:
            refined[at] = _furthest(C[at], P, q, room)
            with np.errstate(divide="ignore"):
                upper[at] = (C[at] @ refined[at] + base[at]) / h[at]
        if not len(h) or upper[at] <= best * (1.0 + 1e-9):
            return best
        if facets.accepts(move.point(refined[at]), np.inf, at):
            return float(upper[at])
        best = max(best, facets.last)


def _furthest(c: Floats, P: Floats, q: Floats, room: Floats) -> Floats:
    """Maximise ``c.d`` over ``P d <= q, 0 <= d <= room``."""
    from groupcf.solvers.highs import solve_matrix

    if not len(P):
        return room
    answer = solve_matrix(-c, P, -np.inf, np.maximum(q, 0.0), 0.0, room)
    if answer.x is None:
        return np.zeros(len(c))
    d, used = np.maximum(answer.x, 0.0), P @ np.maximum(answer.x, 0.0)
    over = used > q
    if over.any():  # by no more than the tolerance of HiGHS
        d = d * float(np.clip(np.maximum(q, 0.0)[over] / used[over], 0.0, 1.0).min())
    return d
