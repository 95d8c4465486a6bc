"""The free disposal hull: only observed units and what is worse than one of them.

No linear program is needed: a unit's efficiency is that of one other unit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.units import Units

Floats = NDArray[np.float64]


class FreeDisposalHull:
    """T = {(x, y): x >= x_k, y <= y_k for some unit k}, in goods divided by column means.

    Parameters
    ----------
    units : Units
    """

    def __init__(self, units: Units) -> None:
        self.units = units
        self.scale_x, self.scale_y = units.X.mean(axis=0), units.Y.mean(axis=0)
        self.X, self.Y = units.X / self.scale_x, units.Y / self.scale_y

    def ratios(self, x: Floats) -> Floats:
        """Return for each unit the least share of the inputs x that it could do with.

        Infinite for a unit that uses an input which x lacks.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self.X / x
        share[np.isnan(share)] = 0.0  # 0 / 0: the unit needs none of what x lacks
        return np.asarray(share.max(axis=1))

    def input_efficiency(self, x: Floats, y: Floats, skip: int = -1) -> tuple[float, int]:
        """Return E(x, y), infinite if no unit makes y from these inputs, and the unit that does."""
        makes = (y <= self.Y).all(axis=1)
        if skip >= 0:
            makes[skip] = False
        best = np.where(makes, self.ratios(x), np.inf)
        return self._best(best)

    def output_factor(self, x: Floats, y: Floats, skip: int = -1) -> tuple[float, int]:
        """Return F(x, y), -inf if no unit does with the inputs x, and the unit that attains it."""
        able = (x >= self.X).all(axis=1)
        if skip >= 0:
            able[skip] = False
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self.Y / y
        share[np.isnan(share)] = np.inf
        value, peer = self._best(np.where(able, -share.min(axis=1), np.inf))
        return -value, peer

    def _best(self, loss: Floats) -> tuple[float, int]:
        value = float(loss.min())
        if not np.isfinite(value):
            return value, -1
        ties = np.flatnonzero(loss <= value + 1e-12 * abs(value))
        gain = self.Y[ties].sum(axis=1) - self.X[ties].sum(axis=1)  # the largest slack
        return value, int(ties[int(np.argmax(gain))])
