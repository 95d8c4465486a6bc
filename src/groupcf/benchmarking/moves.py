"""The changes open to one unit, and what they cost, in scaled goods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.costs import TargetCost
from groupcf.benchmarking.units import Side

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Move:
    """Changes d >= 0 of n goods from a start: inputs go down, outputs up.

    Attributes
    ----------
    sign : float
        -1 for inputs, 1 for outputs.
    start : ndarray of shape (n,)
        Where changes begin, scaled: the present value, or the nearest one that is allowed.
    cap : ndarray of shape (n,)
        Largest change.
    charge, linear, quadratic : ndarray of shape (n,)
        Cost of a change: charge if d > 0, plus linear d + quadratic d^2. A second cost is
        folded in: the first is multiplied by more than the second can reach.
    first, unit : ndarray of shape (n,)
        Goods with ``unit > 0`` change by 0, first, first + unit, ...
    factor : float
        What the first cost is multiplied by.
    now, lower, upper, scale : ndarray of shape (n,)
        Present value, bounds and scale in the user's units of measurement.
    """

    sign: float
    start: Floats
    cap: Floats
    charge: Floats
    linear: Floats
    quadratic: Floats
    first: Floats
    unit: Floats
    factor: float
    now: Floats
    lower: Floats
    upper: Floats
    scale: Floats
    begin: Floats

    def point(self, d: Floats) -> Floats:
        """Return the scaled goods after changes d."""
        return np.maximum(self.start + self.sign * d, 0.0)

    def furthest(self) -> Floats:
        """Return the scaled goods after the largest changes."""
        return self.point(self.cap)

    def values(self, d: Floats) -> Floats:
        """Return the goods after changes d in the user's units, unchanged ones to the digit."""
        new = self.begin + self.sign * d * self.scale
        new = np.where(self.unit > 0, np.round(new), new)
        new = np.clip(new, self.lower, self.upper)
        return np.where(d > 0, new, self.begin)


def make_move(
    change: Side,
    now: Floats,
    lower: Floats,
    upper: Floats,
    whole: NDArray[np.bool_],
    scale: Floats,
    cost: TargetCost,
    weights: Floats,
    cost_scale: Floats,
    useful: Floats,
) -> Move:
    """Describe the changes open to one unit.

    Parameters
    ----------
    change : {"input", "output"}
    now, lower, upper : ndarray of shape (n,)
        Present values and bounds in the user's units of measurement.
    whole : ndarray of shape (n,) of bool
        Goods that change to whole numbers.
    scale : ndarray of shape (n,)
        Size of one scaled unit of each good.
    cost, weights, cost_scale
        The cost; changes are divided by `cost_scale` before they are charged.
    useful : ndarray of shape (n,)
        Scaled values beyond which no good needs to go.

    Returns
    -------
    Move
    """
    sign = -1.0 if change == "input" else 1.0
    allowed_low = np.where(whole, np.ceil(lower), lower)
    allowed_high = np.where(whole, np.floor(upper), upper)
    begin = np.clip(now, lower, upper)
    forced = begin != now
    begin = np.where(forced & (now < lower), allowed_low, begin)
    begin = np.where(forced & (now > upper), allowed_high, begin)
    part = begin - np.floor(begin) if sign < 0 else np.ceil(begin) - begin
    first = np.where(whole, np.where(part > 0, part, 1.0), 0.0) / scale
    unit = np.where(whole, 1.0 / scale, 0.0)
    far = allowed_low if sign < 0 else allowed_high
    with np.errstate(invalid="ignore"):
        cap = np.maximum(sign * (far - begin), 0.0) / scale
        enough = np.maximum(sign * (useful - begin / scale), 0.0)
        steps = np.ceil((enough - first) / np.where(whole, unit, 1.0) * (1 - 1e-12))
    enough = np.where(whole, first + np.maximum(steps, 0.0) * unit, enough)
    cap = np.minimum(cap, enough)

    ratio = scale / cost_scale
    l1, l2 = (cost.then_l1, cost.then_l2) if cost.lexicographic else (cost.l1, cost.l2)
    already = np.abs(begin - now) / cost_scale
    linear = weights * ratio * (l1 + 2.0 * l2 * already)
    quadratic = weights * l2 * ratio**2
    factor = 1.0
    if cost.lexicographic:
        factor = 2.0 * float(np.sum(linear * cap + quadratic * cap**2)) or 1.0
    charge = np.where(forced, 0.0, weights * cost.l0 * factor)
    return Move(
        sign, begin / scale, cap, charge, linear, quadratic, first, unit, factor,
        now, lower, upper, scale, begin,
    )  # fmt: skip
