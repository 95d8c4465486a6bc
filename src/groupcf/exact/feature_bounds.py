"""A strong lower bound on joint problems: price the features, then solve by instance.

A feature is paid for once however many instances change it. Let instance s contribute
``p[s, j] >= 0`` towards feature j: relaxing "changed by s implies changed somewhere" with
these multipliers leaves one projection by instance, with ``p[s, j]`` as a further charge of
feature j, and a trivial choice of features at price ``lam_glob - sum_s p[s, j]``, at most
F_max of them. Every p gives a valid bound; subgradient steps raise it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.feature_costs import GroupCosts, Mask, SetCosts

_PATIENCE = 8
_PROGRESS = 1e-5
_EFFORT = 300
"""Nodes spent on one instance for one set of multipliers; its bound then does."""


@dataclass(frozen=True, eq=False)
class PricedBound:
    """Result of pricing the features.

    Attributes
    ----------
    value : float
        Lower bound over all feature sets between `inside` and `allowed`.
    prices : ndarray of shape (R, J)
        The multipliers behind it.
    must, never : ndarray of shape (J,) of bool
        Undecided features that every solution below `upper` changes, or does not.
    proposal : ndarray of shape (J,) of bool
        The decided features and those whose price turned negative.
    """

    value: float
    prices: NDArray[np.float64]
    must: Mask
    never: Mask
    proposal: Mask


def priced_bound(
    group: GroupCosts,
    costs: SetCosts,
    inside: Mask,
    allowed: Mask,
    *,
    f_max: int,
    lam_glob: float,
    upper: float,
    prices: NDArray[np.float64] | None,
    iterations: int,
) -> PricedBound:
    """Raise the bound by subgradient steps.

    Parameters
    ----------
    group : GroupCosts
    costs : SetCosts
        Costs of `allowed`.
    inside, allowed : ndarray of shape (J,) of bool
        Features decided in; features not decided out.
    f_max : int
        Limit on the number of changed features.
    lam_glob : float
        Price of a changed feature.
    upper : float
        Value that a solution must stay below to be of interest; may be inf.
    prices : ndarray of shape (R, J) or None
        Multipliers to start from.
    iterations : int
    """
    free = allowed & ~inside
    undecided = np.flatnonzero(free)
    left = max(f_max - int(inside.sum()), 0)
    if prices is None:
        prices = costs.used * (lam_glob / np.maximum(costs.users, 1))[None, :]
    prices = prices * free[None, :]
    best = _Step(-np.inf, prices, np.zeros(len(undecided)), np.zeros(len(undecided), dtype=bool))
    reach, stalled = 1.0, 0
    for _ in range(iterations):
        found = group.projection.project(group.rows, allowed, extra=prices, effort=_EFFORT)
        value, chosen = group.choose(found.cost)
        net = lam_glob - prices[:, undecided].sum(axis=0)
        opened = np.zeros(len(undecided), dtype=bool)
        opened[np.argsort(net, kind="stable")[:left]] = True
        opened &= net < 0
        bound = value + lam_glob * int(inside.sum()) + float(net[opened].sum())
        stalled += 1
        if bound > best.bound:
            if not bound <= best.bound + _PROGRESS * abs(bound):
                stalled = 0
            best = _Step(bound, prices, net, opened)
        if best.bound >= upper:
            break
        if stalled >= _PATIENCE:
            reach, stalled = reach / 2, 0
        direction = np.zeros_like(prices)
        direction[chosen] = found.used[chosen]
        direction[:, undecided[opened]] -= 1.0
        direction *= free[None, :]
        length = float((direction**2).sum())
        if length == 0.0:
            break
        aim = upper if np.isfinite(upper) else bound + max(1.0, 0.5 * abs(bound))
        prices = np.maximum(0.0, prices + reach * max(aim - bound, 0.0) / length * direction)
    must, never = _decided(best, left, upper)
    return PricedBound(
        best.bound,
        best.prices,
        _scatter(must, undecided, allowed),
        _scatter(never, undecided, allowed),
        inside | _scatter(best.opened, undecided, allowed),
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Step:
    """Bound, multipliers, prices of the undecided features, and which of them are opened."""

    bound: float
    prices: NDArray[np.float64]
    net: NDArray[np.float64]
    opened: Mask


def _decided(step: _Step, left: int, upper: float) -> tuple[Mask, Mask]:
    """Find features whose opposite state would lift the bound to `upper`."""
    must, never = np.zeros_like(step.opened), np.zeros_like(step.opened)
    if not np.isfinite(upper):
        return must, never
    base = step.bound - float(step.net[step.opened].sum())
    for j, price in enumerate(step.net):
        others = np.sort(np.minimum(np.delete(step.net, j), 0.0))
        must[j] = base + float(others[:left].sum()) >= upper
        never[j] = left == 0 or base + price + float(others[: left - 1].sum()) >= upper
    return must, never


def _scatter(part: Mask, positions: NDArray[np.int64], like: Mask) -> Mask:
    whole = np.zeros_like(like)
    whole[positions] = part
    return whole
