"""The convex technologies of DEA: how far points are from their frontier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking import simplex
from groupcf.benchmarking.units import Scale, Side, Units

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CODES = {"crs": simplex.CRS, "vrs": simplex.VRS, "drs": simplex.DRS, "irs": simplex.IRS}
_KNOWN = 1024


@dataclass(frozen=True, eq=False)
class Steps:
    """Longest steps from T points into a technology.

    Attributes
    ----------
    step : ndarray of shape (T,)
        The longest e with (x - e dx, y + e dy) in the technology; -inf if there is none.
    prices : ndarray of shape (T, m)
        Prices of inputs, outputs and size that prove it.
    peers : ndarray of shape (T, m)
        Units that span the point reached, -1 where there is none.
    lambdas : ndarray of shape (T, m)
        Their intensities.
    bases, levels : ndarray of shape (T, m)
        Final bases in the terms of :mod:`groupcf.benchmarking.simplex`.
    """

    step: Floats
    prices: Floats
    peers: Integers
    lambdas: Floats
    bases: Integers
    levels: Floats


class Technology:
    """T = {(x, y): x >= X'l, y <= Y'l, l in Lambda} for CRS, VRS, DRS or IRS.

    All its methods speak of *scaled* goods: each column divided by its mean.

    Parameters
    ----------
    units : Units
    rts : {"crs", "vrs", "drs", "irs"}

    Attributes
    ----------
    X, Y : ndarray of shape (K, I), (K, O)
        Scaled inputs and outputs.
    scale_x, scale_y : ndarray of shape (I,), (O,)
        What the columns were divided by.
    """

    def __init__(self, units: Units, rts: Scale) -> None:
        self.units, self.rts, self.code = units, rts, _CODES[rts]
        self.scale_x, self.scale_y = units.X.mean(axis=0), units.Y.mean(axis=0)
        self.X, self.Y = units.X / self.scale_x, units.Y / self.scale_y
        rows = [self.X.T, -self.Y.T]
        self.size_sign = 0.0
        if rts != "crs":
            self.size_sign = -1.0 if rts == "irs" else 1.0
            rows.append(np.full((1, len(units)), self.size_sign))
        raw = np.vstack(rows)
        self.n_inputs, self.n_outputs = self.X.shape[1], self.Y.shape[1]
        self.column_scale = np.abs(raw).max(axis=0)
        self._columns = np.ascontiguousarray(raw / self.column_scale)
        self.m = len(raw)
        self._slack = np.ones(self.m, dtype=bool)
        self._slack[-1] = rts != "vrs"
        self._members = np.zeros(len(units), np.int64)
        self._inside = np.zeros(len(units), dtype=bool)
        self._A = np.zeros_like(self._columns)
        self._size = np.zeros(1, np.int64)
        self._known = np.zeros(1, np.int64)
        self._known_prices = np.empty((_KNOWN, self.m))
        self._known_bases = np.empty((_KNOWN, self.m), np.int64)
        self.complete = False
        self._seed()

    def _seed(self) -> None:
        """Begin with the best ratio of each output to each input, and with extreme sizes."""
        first = set()
        for o in range(self.n_outputs):
            makes = np.flatnonzero(self.Y[:, o] > 0)
            for i in range(self.n_inputs):
                first.add(makes[np.argmin(self.X[makes, i] / self.Y[makes, o])])
        if self.rts != "crs":
            first |= {*self.X.argmin(axis=0), *self.Y.argmax(axis=0)}
        for j in sorted(first):
            self._join(int(j))

    @property
    def members(self) -> Integers:
        """Units found so far that span the technology; all of them once `complete`."""
        return self._members[: self._size[0]]

    def columns(self, units: Integers) -> Floats:
        """Return the columns (x, -y, size) of units, each scaled to largest entry 1."""
        return self._columns[:, units]

    def sides(self, x: Floats, y: Floats) -> Floats:
        """Return the right-hand sides of points, x of shape (T, I) and y of shape (T, O)."""
        parts = [x, -y]
        if self.rts != "crs":
            parts.append(np.full((len(x), 1), self.size_sign))
        return np.ascontiguousarray(np.hstack(parts))

    def directions(self, dx: Floats, dy: Floats) -> Floats:
        """Return directions in the same form: less of dx, more of dy."""
        parts = [dx, dy]
        if self.rts != "crs":
            parts.append(np.zeros((len(dx), 1)))
        return np.ascontiguousarray(np.hstack(parts))

    def steps(
        self, B: Floats, D: Floats, *, skip: Integers | None = None, scan: int | None = None
    ) -> Steps:
        """Solve ``max e`` for each row of B and D.

        Parameters
        ----------
        B, D : ndarray of shape (T, m)
            From `sides` and `directions`; each direction has a positive and no negative entry.
        skip : ndarray of shape (T,) of int, optional
            A unit each that is left out of the technology; -1 for none.
        scan : int, optional
            How thoroughly the members are checked; by default as it is necessary.

        Returns
        -------
        Steps
        """
        T = len(B)
        if scan is None:
            scan = simplex.NO_SCAN if self.complete and skip is None else simplex.SCAN
        left_out = np.full(T, -1, np.int64) if skip is None else skip.astype(np.int64)
        bases, outcome = np.empty((T, self.m), np.int64), np.empty(T, np.int64)
        levels, prices = np.empty((T, self.m)), np.empty((T, self.m))

        def run(which: Integers, how: int) -> None:
            simplex.solve(
                self._columns, self._A, self._size, self._members, self._inside, self._known,
                self._known_prices, self._known_bases, self.n_inputs, self.code, self._slack,
                B, D, left_out, which, how, bases, levels, prices, outcome,
            )  # fmt: skip

        run(np.arange(T), scan)
        if scan == simplex.SCAN_OUTSIDE:
            for t in np.flatnonzero(outcome == simplex.FAILED):
                self._join(int(t))
            # early answers did not know the later members
            violated = (prices @ self.columns(self.members)).min(axis=1)
            run(np.flatnonzero((violated < -1e-13) & (outcome != simplex.FAILED)), 0)
        peers = np.full((T, self.m), -1, np.int64)
        lambdas = np.zeros((T, self.m))
        is_unit = (bases >= 0) & (outcome == simplex.OPTIMAL)[:, None]
        peers[is_unit] = self._members[bases[is_unit]]
        lambdas[is_unit] = levels[is_unit] / self.column_scale[peers[is_unit]]
        lambdas = np.maximum(lambdas, 0.0)
        step = np.where(outcome == simplex.OPTIMAL, (prices * B).sum(axis=1), -np.inf)
        answer = Steps(step, prices, peers, lambdas, bases, levels)
        for t in np.flatnonzero(outcome == simplex.FAILED):
            self._by_highs(answer, int(t), B[t], D[t], int(left_out[t]))
        return answer

    def _join(self, unit: int) -> None:
        """Make a unit a member, whether or not the technology needs it."""
        if self._inside[unit]:
            return
        n = int(self._size[0])
        self._members[n], self._inside[unit] = unit, True
        self._A[:, n] = self._columns[:, unit]
        self._size[0], self._known[0] = n + 1, 0

    def _by_highs(self, answer: Steps, t: int, b: Floats, d: Floats, skip: int) -> None:
        """Fill in one answer by HiGHS, where the own method had no start or lost its way."""
        from groupcf.solvers.highs import solve_matrix

        use = np.delete(np.arange(len(self.units)), skip) if skip >= 0 else np.arange(len(self.X))
        n, m = len(use), self.m
        A = np.hstack([self._columns[:, use], d[:, None]])
        low = np.where(self._slack, -np.inf, b)
        bounds = np.append(np.zeros(n), -np.inf)
        c = np.append(np.zeros(n), -1.0)
        found = solve_matrix(c, A, low, b, bounds, np.inf)
        answer.bases[t] = -100
        answer.peers[t], answer.lambdas[t] = -1, 0.0
        if found.x is not None and found.duals is not None:
            answer.step[t], answer.prices[t] = found.x[n], -found.duals
            at = np.flatnonzero(found.x[:n] > 0)[:m]
            answer.peers[t, : len(at)] = use[at]
            answer.lambdas[t, : len(at)] = found.x[at] / self.column_scale[use[at]]
            return
        helped = np.hstack([A, -np.eye(m)])  # the prices of the least violation prove it
        if not self._slack[-1]:
            helped = np.hstack([helped, np.eye(m)[:, -1:]])
        extra = helped.shape[1] - n - 1
        found = solve_matrix(
            np.append(np.zeros(n + 1), np.ones(extra)), helped, low, b,
            np.append(bounds, np.zeros(extra)), np.inf,
        )  # fmt: skip
        assert found.duals is not None
        answer.step[t], answer.prices[t] = -np.inf, -found.duals

    def unit_steps(self, side: Side) -> Steps:
        """Return Farrell's steps of all units, in the direction of their own inputs or outputs.

        Afterwards the technology is `complete`. A unit without outputs has an infinite step in
        their direction.
        """
        B = self.sides(self.X, self.Y)
        zeros_x, zeros_y = np.zeros_like(self.X), np.zeros_like(self.Y)
        if not self.complete or side == "input":
            scan = simplex.NO_SCAN if self.complete else simplex.SCAN_OUTSIDE
            steps = self.steps(B, self.directions(self.X, zeros_y), scan=scan)
            self.complete = True
            if side == "input":
                return steps
        D = self.directions(zeros_x, self.Y)
        idle = ~self.Y.any(axis=1)
        D[idle, self.n_inputs] = 1.0  # any direction: what is found is replaced
        steps = self.steps(B, D)
        steps.step[idle] = np.inf
        return steps

    def input_efficiency(
        self, x: Floats, y: Floats, skip: Integers | None = None
    ) -> tuple[Floats, Steps]:
        """Return E(x, y) of T points, infinite where no E exists, and the steps behind it."""
        steps = self.steps(self.sides(x, y), self.directions(x, np.zeros_like(y)), skip=skip)
        return 1.0 - steps.step, steps

    def extreme_members(self) -> tuple[Integers, Integers]:
        """Return the members without which the technology would be smaller, and the others.

        Of proportional columns, equal units among them, one is kept. Each of the others is
        spanned by the rest, but not always by the first alone.
        """
        columns = np.round(self.columns(self.members), 14)
        _, unique = np.unique(columns, axis=1, return_index=True)
        members = self.members[np.sort(unique)]
        B = self.sides(self.X[members], self.Y[members])
        D = self.directions(self.X[members], np.zeros_like(self.Y[members]))
        steps = self.steps(B, D, skip=members, scan=simplex.NO_SCAN)
        extreme = steps.step < -simplex.INSIDE
        return members[extreme], members[~extreme]
