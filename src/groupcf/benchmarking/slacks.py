"""Second stage of DEA: at the efficiency found, the largest sum of slacks.

The simplex method goes on from the optimal basis of the first stage and lets only columns in
that do not cost any efficiency, so nothing is lost to a tolerance on the first stage's value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking import simplex
from groupcf.benchmarking.technology import Steps, Technology

Floats = NDArray[np.float64]
_FREE = 1e-9
_PIVOT = 1e-10
_ITERATIONS = 500


def largest_slacks(
    technology: Technology, steps: Steps, B: Floats, D: Floats
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Maximise the sum of scaled slacks of T points at their longest step.

    Parameters
    ----------
    technology : Technology
        Complete.
    steps : Steps
        Of these points.
    B, D : ndarray of shape (T, m)
        Right-hand sides and directions.

    Returns
    -------
    slacks : ndarray of shape (T, I + O)
        In scaled goods; NaN where there is no step.
    peers, lambdas : ndarray of shape (T, m)
        The units that span the point on the frontier, -1 where there is none.
    """
    goods = technology.n_inputs + technology.n_outputs
    members = technology.members
    A = technology.columns(members)
    slacks = np.full((len(B), goods), np.nan)
    peers = np.full((len(B), technology.m), -1, np.int64)
    lambdas = np.zeros((len(B), technology.m))
    for t in range(len(B)):
        if not np.isfinite(steps.step[t]):
            continue
        basis = steps.bases[t].copy()
        if basis[0] < -1 - technology.m:  # this one was solved by HiGHS
            slacks[t], peers[t], lambdas[t] = _plain(technology, steps, t, B[t], D[t])
            continue
        levels = _improve(A, B[t], D[t], basis, goods, open_size=technology.rts != "vrs")
        if levels is None:
            slacks[t], peers[t], lambdas[t] = _plain(technology, steps, t, B[t], D[t])
            continue
        slacks[t] = 0.0
        for p, entry in enumerate(basis):
            if entry >= 0:
                peers[t, p] = members[entry]
                lambdas[t, p] = max(levels[p], 0.0) / technology.column_scale[members[entry]]
            elif entry != simplex.STEP and -2 - entry < goods:
                slacks[t, -2 - entry] = max(levels[p], 0.0)
    return slacks, peers, lambdas


def _improve(
    A: Floats, b: Floats, d: Floats, basis: NDArray[np.int64], goods: int, *, open_size: bool
) -> Floats | None:
    """Run the primal simplex method on the sum of slacks; change `basis`, return its values.

    `open_size`: the row of sizes has a slack, which counts for nothing. None if rounding made a
    basis singular.
    """
    m, n = A.shape
    identity = np.eye(m)
    for iteration in range(_ITERATIONS):
        columns = [
            A[:, j] if j >= 0 else d if j == simplex.STEP else identity[-2 - j] for j in basis
        ]
        try:
            inverse = np.linalg.inv(np.column_stack(columns))
        except np.linalg.LinAlgError:
            return None
        levels = inverse @ b
        is_slack = (basis <= -2) & (-2 - basis < goods)
        first = inverse[int(np.flatnonzero(basis == simplex.STEP)[0])]
        second = is_slack.astype(float) @ inverse
        allowed = np.concatenate(
            [first @ A <= _FREE * (np.abs(first) @ np.abs(A)), first <= _FREE * first.max()]
        )
        gain = np.concatenate([-(second @ A), -second])
        gain[n : n + goods] += 1.0
        size = np.concatenate([np.abs(second) @ np.abs(A), np.abs(second) + 1.0])
        gain[~allowed | (gain <= _FREE * size)] = 0.0
        inside = np.where(basis >= 0, basis, n - 2 - basis)
        gain[inside[basis != simplex.STEP]] = 0.0
        if not open_size:
            gain[n + goods :] = 0.0
        if not gain.any():
            return np.asarray(levels)
        entering = int(np.argmax(gain)) if iteration < 50 else int(np.flatnonzero(gain)[0])
        column = inverse @ (A[:, entering] if entering < n else identity[entering - n])
        rises = (column > _PIVOT * np.abs(column).max()) & (basis != simplex.STEP)
        if not rises.any():
            return np.asarray(levels)
        ratio = np.where(rises, np.maximum(levels, 0.0) / np.where(rises, column, 1.0), np.inf)
        ties = np.flatnonzero(ratio <= ratio.min() * (1 + 1e-12))
        leaving = ties[int(np.argmax(column[ties]))]
        basis[leaving] = entering if entering < n else -2 - (entering - n)
    return np.asarray(levels)


def _plain(
    technology: Technology, steps: Steps, t: int, b: Floats, d: Floats
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Solve the second stage by HiGHS."""
    from groupcf.solvers.highs import solve_matrix

    everyone = np.arange(len(technology.units))
    A, m = technology.columns(everyone), technology.m
    goods = technology.n_inputs + technology.n_outputs
    n = len(everyone)
    upper = np.append(np.full(n + goods, np.inf), np.full(m - goods, np.inf))
    if technology.rts == "vrs":
        upper[-1] = 0.0
    side = b - steps.step[t] * d
    found = solve_matrix(
        np.concatenate([np.zeros(n), -np.ones(goods), np.zeros(m - goods)]),
        np.hstack([A, np.eye(m)]), side - 1e-9 * np.abs(b), side + 1e-9 * np.abs(b), 0.0, upper,
    )  # fmt: skip
    peers, lambdas = np.full(m, -1, np.int64), np.zeros(m)
    if found.x is None:
        return np.full(goods, np.nan), peers, lambdas
    at = np.flatnonzero(found.x[:n] > 1e-12)[:m]
    peers[: len(at)], lambdas[: len(at)] = at, found.x[at] / technology.column_scale[at]
    return found.x[n : n + goods], peers, lambdas
