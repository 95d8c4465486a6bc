"""Targets checked again, by other means than those that found them.

Efficiencies come from linear programs solved by HiGHS over a few units, whose prices are then
compared with every unit of the table; nothing of the search for targets is used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.costs import TargetCost
from groupcf.benchmarking.units import Scale, Units
from groupcf.solution import Check, Status

Floats = NDArray[np.float64]
TOLERANCE = 1e-6
"""Relative tolerance of all checks."""
_PRICES = 1e-9


class EfficiencyChecker:
    """Farrell input efficiency of any point, by HiGHS.

    Parameters
    ----------
    units : Units
    rts : {"crs", "vrs", "drs", "irs", "fdh"}
    """

    def __init__(self, units: Units, rts: Scale) -> None:
        self._rts = rts
        self._X, self._Y = units.X / units.X.max(axis=0), units.Y / units.Y.max(axis=0)
        self._scale = units.X.max(axis=0), units.Y.max(axis=0)
        chosen = {int(self._X[:, i].argmin()) for i in range(self._X.shape[1])}
        for o in range(self._Y.shape[1]):
            made = self._Y[:, o] > 0
            chosen.add(int(self._Y[:, o].argmax()))
            for i in range(self._X.shape[1]):
                chosen.add(
                    int(
                        np.where(
                            made, self._X[:, i] / np.where(made, self._Y[:, o], 1), np.inf
                        ).argmin()
                    )
                )
        self._chosen = sorted(chosen)

    def efficiency(self, x: Floats, y: Floats, skip: int = -1) -> float:
        """Return E(x, y), infinite if the technology does not make y of any multiple of x.

        Parameters
        ----------
        x, y : ndarray of shape (I,), (O,)
            In the user's units of measurement.
        skip : int
            A unit that is no part of the technology.
        """
        x, y = x / self._scale[0], y / self._scale[1]
        if self._rts == "fdh":
            return self._by_enumeration(x, y, skip)
        everyone = np.arange(len(self._X))
        chosen = [j for j in self._chosen if j != skip]
        while True:
            value, prices = self._program(x, y, np.array(chosen))
            if prices is None:
                others = everyone[everyone != skip]
                return self._program(x, y, others)[0]
            u, v, k = prices
            worth = self._X @ u
            size = worth + self._Y @ v + abs(k)
            excess = (worth - self._Y @ v - k) / np.where(size > 0, size, 1.0)
            excess[chosen] = 0.0
            if skip >= 0:
                excess[skip] = 0.0
            worst = np.argsort(excess)[:5]
            worst = worst[excess[worst] < -_PRICES]
            if not len(worst):
                return value
            chosen += [int(j) for j in worst]
            self._chosen = sorted({*self._chosen, *chosen})

    def _program(
        self, x: Floats, y: Floats, use: NDArray[np.int64]
    ) -> tuple[float, tuple[Floats, Floats, float] | None]:
        """Solve over some units; prices of inputs, outputs and size, None if infeasible."""
        from groupcf.solvers.highs import solve_matrix

        X, Y = self._X[use], self._Y[use]
        row_x, row_y = np.where(x > 0, x, 1.0), np.where(y > 0, y, 1.0)
        column = np.maximum((X / row_x).max(axis=1), (Y / row_y).max(axis=1))
        if self._rts != "crs":
            column = np.maximum(column, 1.0)
        top = np.column_stack([(X / row_x / column[:, None]).T, -(x > 0).astype(float)])
        bottom = np.column_stack([(Y / row_y / column[:, None]).T, np.zeros(len(y))])
        rows, low, high = (
            [top, bottom],
            [np.full(len(x), -np.inf), y / row_y],
            [
                np.zeros(len(x)),
                np.full(len(y), np.inf),
            ],
        )
        if self._rts != "crs":
            rows.append(np.append(1.0 / column, 0.0)[None])
            low.append(np.array([-np.inf if self._rts == "drs" else 1.0]))
            high.append(np.array([np.inf if self._rts == "irs" else 1.0]))
        found = solve_matrix(
            np.append(np.zeros(len(use)), 1.0), np.vstack(rows), np.concatenate(low),
            np.concatenate(high), 0.0, np.inf,
        )  # fmt: skip
        if found.status != Status.OPTIMAL or found.duals is None or found.objective is None:
            return np.inf, None
        w = found.duals
        k = float(w[-1]) if self._rts != "crs" else 0.0
        u, v = -w[: len(x)] / row_x, w[len(x) : len(x) + len(y)] / row_y
        return float(found.objective), (u, v, k)

    def _by_enumeration(self, x: Floats, y: Floats, skip: int) -> float:
        best = np.inf
        makes = (y * (1 - 1e-12) <= self._Y).all(axis=1)
        for j in np.flatnonzero(makes):
            if j != skip and not (self._X[j] > 0)[x == 0].any():
                best = min(best, float((self._X[j][x > 0] / x[x > 0]).max(initial=0.0)))
        return best


def check_target(
    *,
    names: tuple[str, ...],
    now: Floats,
    new: Floats,
    lower: Floats,
    upper: Floats,
    whole: NDArray[np.bool_],
    cost: TargetCost,
    weights: Floats,
    cost_scale: Floats,
    objective: float,
    efficiency: float,
    target: float,
) -> tuple[Check, ...]:
    """Check what a target promises.

    Parameters
    ----------
    names : tuple of str
        The goods that may change.
    now, new, lower, upper : ndarray of shape (n,)
        Present and new values and bounds, in the user's units of measurement. Frozen goods
        have equal bounds.
    whole : ndarray of shape (n,) of bool
    cost, weights, cost_scale, objective
        The cost and the value it is said to have.
    efficiency, target : float
        Recomputed and wanted efficiency.

    Returns
    -------
    tuple of Check
    """
    short = max(0.0, 1.0 - efficiency / target)
    checks = [
        Check("efficiency", short <= TOLERANCE, short, f"{efficiency:.6g}, wanted {target:.6g}")
    ]
    size = np.maximum(np.abs(new), np.abs(now))
    outside = np.maximum(lower - new, new - upper) / np.where(size > 0, size, 1.0)
    outside = np.where(lower == upper, np.abs(new - lower), np.maximum(outside, 0.0))
    fixed = lower == upper
    for title, group, allowed in (
        ("bounds", ~fixed, 1e-12),
        ("frozen", fixed, 0.0),
    ):
        if group.any():
            worst = float(outside[group].max())
            at = names[int(np.argmax(np.where(group, outside, -1.0)))]
            checks.append(Check(title, worst <= allowed, worst, "" if worst <= allowed else at))
    if whole.any():
        part = np.where(whole & (new != now), np.abs(new - np.round(new)), 0.0)
        checks.append(
            Check(
                "whole numbers",
                not part.any(),
                float(part.max()),
                "" if not part.any() else names[int(part.argmax())],
            )
        )
    if not cost.radial:
        value = cost.of((new - now) / cost_scale, weights)[0]
        off = abs(value - objective) / max(abs(value), abs(objective), 1e-300)
        checks.append(Check("cost", off <= TOLERANCE, off, f"{value:.6g}, stated {objective:.6g}"))
    return tuple(checks)
