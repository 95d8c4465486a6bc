"""Where efficiency reaches a target: the union of half-spaces that surrounds a technology.

For a changed input vector x and outputs y0, efficiency is at least E* if and only if some
extreme ray (u, v, k) of prices with ``h = v.y0 + k > 0`` has ``u.x <= h / E*``. For changed
outputs y and inputs x0, some ray with ``u.x0 > 0`` must have ``v.y + k >= E* u.x0``, and every
ray with ``u.x0 = 0`` must have ``v.y + k <= 0`` (models.md section 6).

The rays are enumerated once for the whole technology (`technology_rays`), or found one by one
in the few dimensions of the changed goods (`CutInputs`, `CutOutputs`): the prices of these
goods alone form a cone that is cut by points of the technology, so it always contains the true
one, and what costs least over its rays is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.cone import Cone
from groupcf.benchmarking.technology import Technology
from groupcf.solution import Status

Floats = NDArray[np.float64]

REACHED = 1e-12
"""Relative shortfall from a target efficiency that counts as rounding."""
_ZERO = 1e-10
_HAIR = 1e-10
_VALID = 1e-11
_FAINT = 1e-2
"""Inputs below this share of their mean: vertices are looked for at once."""
_PATIENCE = 40
"""Cuts from efficiencies before vertices are looked for."""
_STUCK = 1e-8
"""Shortfall up to which a point is taken when rounding leaves no cut that removes it."""


class Facets(Protocol):
    """Half-spaces for one unit, and the rows that hold besides."""

    def halfspaces(self, start: Floats, target: float) -> tuple[Floats, Floats]:
        """Return C of shape (R, n) and need of shape (R,): ``C d >= need`` for one of them."""

    def rows(self, start: Floats) -> tuple[Floats, Floats]:
        """Return P of shape (rows, n) and q of shape (rows,): ``P d <= q`` for all of them."""

    def accepts(self, goods: Floats, target: float, chosen: int) -> bool:
        """Say whether goods reach the target; otherwise know more the next time."""


@dataclass(frozen=True, eq=False)
class Rays:
    """Extreme rays of the prices of a technology: u.x - v.y - k >= 0 for all units.

    Attributes
    ----------
    u, v : ndarray of shape (R, I), (R, O)
        Prices of scaled inputs and outputs.
    k : ndarray of shape (R,)
    """

    u: Floats
    v: Floats
    k: Floats

    def __len__(self) -> int:
        return len(self.k)


def technology_rays(technology: Technology, most: int | None = None) -> Rays | None:
    """Enumerate the extreme rays by the double description method.

    Parameters
    ----------
    technology : Technology
        Its members must be complete.
    most : int, optional
        Give up beyond this number of rays.

    Returns
    -------
    Rays or None
        None if there are more than `most`.
    """
    m = technology.m
    extreme, others = technology.extreme_members()
    columns = technology.columns(np.concatenate([extreme, others]))
    signs = np.eye(m)
    begin = 0
    if technology.rts == "vrs":  # k is free: a unit closes the cone
        signs[-1] = columns[:, 0]
        begin = 1
    cone = Cone.simplicial(signs)
    for j in range(begin, columns.shape[1]):
        column = np.ascontiguousarray(columns[:, j])
        if j >= max(begin, len(extreme)):  # spanned by the rest: cuts off no more than rounding
            worth, size = cone.rays @ column, np.abs(cone.rays) @ np.abs(column)
            if (worth >= -_ZERO * size).all():
                continue
        cone.insert(column)
        if most is not None and len(cone) > most:
            return None
    u = cone.rays[:, : technology.n_inputs]
    v = cone.rays[:, technology.n_inputs : technology.n_inputs + technology.n_outputs]
    k = np.zeros(len(cone))
    if technology.rts != "crs":
        k = -technology.size_sign * cone.rays[:, -1]
    return Rays(np.ascontiguousarray(u), np.ascontiguousarray(v), k)


def _inside(v: Floats, k: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Turn rows ``v.y + k <= 0`` into ``v.d <= q``, by a hair on the safe side."""
    worth = v @ start
    q = -(worth + k)
    return v, np.where(q > 0, np.maximum(q - _HAIR * (worth + np.abs(k)), 0.0), q)


def _all_but(technology: Technology, skip: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.setdiff1d(np.arange(len(technology.X)), skip)


def _basic(
    cost: Floats, rows: list[Floats], low: list[Floats], high: list[Floats]
) -> Floats | None:
    """Return the basic optimal intensities of a linear program over units; None without one."""
    from groupcf.solvers.highs import solve_matrix

    found = solve_matrix(
        cost / max(float(np.abs(cost).max()), 1e-300),
        np.vstack(rows),
        np.concatenate(low),
        np.concatenate(high),
        0.0,
        np.inf,
    )
    if found.status is not Status.OPTIMAL or found.x is None:
        return None
    return np.where(found.x > 1e-11 * max(1.0, float(found.x.max())), found.x, 0.0)


class RayInputs:
    """All half-spaces in input space, from the rays of the technology."""

    def __init__(self, rays: Rays, y0: Floats) -> None:
        h = rays.v @ y0 + rays.k
        use = h > _ZERO * (rays.v @ y0 + np.abs(rays.k))
        self._u, self._h = np.ascontiguousarray(rays.u[use]), h[use]

    def halfspaces(self, start: Floats, target: float) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return self._u, self._u @ start - self._h / target

    def rows(self, start: Floats) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return np.empty((0, len(start))), np.empty(0)

    def accepts(self, goods: Floats, target: float, chosen: int) -> bool:
        """See `Facets`."""
        return True


class RayOutputs:
    """All half-spaces and rows in output space, from the rays of the technology."""

    def __init__(self, rays: Rays, x0: Floats) -> None:
        h = rays.u @ x0
        use = h > _ZERO * rays.u.max(axis=1) * x0.max()
        self._v, self._k = np.ascontiguousarray(rays.v[use]), rays.k[use]
        self._h = h[use]
        self._row, self._row_k = rays.v[~use], rays.k[~use]
        some = self._row.any(axis=1)
        self._row, self._row_k = self._row[some], self._row_k[some]

    def halfspaces(self, start: Floats, target: float) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return self._v, target * self._h - self._k - self._v @ start

    def rows(self, start: Floats) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return _inside(self._row, self._row_k, start)

    def accepts(self, goods: Floats, target: float, chosen: int) -> bool:
        """See `Facets`."""
        return True

    def lines(self, start: Floats) -> tuple[Floats, Floats, Floats]:
        """Return C, base, h: efficiency after changes d is the largest (C d + base) / h."""
        return self._v, self._v @ start + self._k, self._h

    last = 0.0


class CutInputs:
    """Half-spaces in input space, found by cuts: prices (u, t) with u.z >= t for inputs z.

    The z are inputs that the technology turns into y0.

    Parameters
    ----------
    technology : Technology
    x0, y0 : ndarray of shape (I,), (O,)
        Scaled goods of the unit.
    skip : int
        A unit that is no part of the technology; -1 for none.
    """

    def __init__(self, technology: Technology, x0: Floats, y0: Floats, skip: int = -1) -> None:
        self._technology, self._y0 = technology, y0
        self._skip = None if skip < 0 else np.array([skip])
        n = technology.n_inputs
        self.cone = Cone.simplicial(np.eye(n + 1))
        self.programs = 0
        self._cut(x0)

    def _cut(self, x: Floats) -> tuple[float, bool]:
        """Return E(x, y0), and whether the inputs that attain it cut off a ray."""
        E, steps = self._technology.input_efficiency(x[None], self._y0[None], self._skip)
        self.programs += 1
        useful = False
        if np.isfinite(E[0]):
            used = steps.peers[0] >= 0
            z = steps.lambdas[0, used] @ self._technology.X[steps.peers[0, used]]
            useful = self.cone.insert(np.append(z, -1.0))
        self._refresh()
        return float(E[0]), useful

    def _refresh(self) -> None:
        level = ~self.cone.is_tight(self._technology.n_inputs)
        self._u = np.ascontiguousarray(self.cone.rays[level, :-1])
        self._t = self.cone.rays[level, -1]

    def halfspaces(self, start: Floats, target: float) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return self._u, self._u @ start - self._t / target

    def rows(self, start: Floats) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return np.empty((0, len(start))), np.empty(0)

    def accepts(self, goods: Floats, target: float, chosen: int) -> bool:
        """See `Facets`."""
        u, t = self._u[chosen], self._t[chosen]
        reached, useful = self._cut(goods)
        if reached >= target * (1.0 - (REACHED if useful else _STUCK)):
            return True
        # cuts inside a facet may converge without an end, above all towards zero
        if self.programs > _PATIENCE or ((goods > 0) & (goods < _FAINT)).any():
            corner = self._corner(u)
            if corner is not None and u @ corner < t:
                self.cone.insert(np.append(corner, -1.0))
                self._refresh()
        return False

    def _corner(self, u: Floats) -> Floats | None:
        """Return a vertex of the inputs that make y0 at which ``u.z`` is least."""
        technology = self._technology
        use = technology.members if self._skip is None else _all_but(technology, self._skip)
        rows, low = [technology.Y[use].T], [self._y0]
        high = [np.full(len(self._y0), np.inf)]
        if technology.rts != "crs":
            rows.append(np.ones((1, len(use))))
            low.append(np.array([-np.inf if technology.rts == "drs" else 1.0]))
            high.append(np.array([np.inf if technology.rts == "irs" else 1.0]))
        weights = _basic(technology.X[use] @ u, rows, low, high)
        return None if weights is None else weights @ technology.X[use]


class CutOutputs:
    """Half-spaces in output space, found by cuts: prices (v, k, t) with v.y + k s <= t.

    The (y, s) are outputs that the technology makes of x0, and the size at which it does so.
    A ray with t = 0 is either refuted by a unit, or bounds what can be made at all: a row.

    Parameters
    ----------
    technology : Technology
    x0 : ndarray of shape (I,)
        Scaled inputs of the unit.
    skip : int
        A unit that is no part of the technology; -1 for none.
    """

    def __init__(self, technology: Technology, x0: Floats, skip: int = -1) -> None:
        self._technology, self._x0 = technology, x0
        self._skip = None if skip < 0 else np.array([skip])
        n = technology.n_outputs
        usable = (technology.X[:, x0 == 0] == 0).all(axis=1)
        if skip >= 0:
            usable[skip] = False
        self.empty = not usable.any()
        self._Y = technology.Y[usable]
        with np.errstate(divide="ignore"):
            self._times = (x0[x0 > 0] / technology.X[np.ix_(usable, x0 > 0)]).min(axis=1)
        self._sign = {"crs": 0.0, "drs": -1.0}.get(technology.rts, 1.0)
        self._row_v, self._row_k = np.empty((0, n)), np.empty(0)
        self._valid: set[bytes] = set()
        self._flat = n  # number of the inequality t >= 0
        self.programs = 0
        if self.empty:
            return
        size = n + (1 if technology.rts == "crs" else 2)  # v, then k, then t
        G = np.eye(size)[[*range(n), size - 1, *range(n, size - 1)]]
        if technology.rts == "vrs":  # k is free: a cut closes the cone
            G[-1] = self._cut(self._times[0] * self._Y[0], self._times[0])
        self.cone = Cone.simplicial(G)
        self._refresh()

    def _cut(self, y: Floats, size: float) -> Floats:
        """Return the inequality v.y + k size <= t."""
        middle = [] if self._sign == 0 else [-self._sign * size]
        return np.concatenate([-y, middle, [1.0]])

    def _corner(self, v: Floats, k: float) -> tuple[Floats, float] | None:
        """Return a vertex (y, size) of what x0 makes at which ``v.y + k size`` is largest."""
        technology = self._technology
        use = technology.members if self._skip is None else _all_but(technology, self._skip)
        weights = _basic(
            -(technology.Y[use] @ v + k),
            [technology.X[use].T],
            [np.full(len(self._x0), -np.inf)],
            [self._x0],
        )
        return None if weights is None else (weights @ technology.Y[use], float(weights.sum()))

    def _refresh(self) -> None:
        rays = self.cone.rays
        open_ray = np.array([ray.tobytes() not in self._valid for ray in rays], dtype=bool)
        rays = rays[open_ray]
        n = self._technology.n_outputs
        self._keys = [ray.tobytes() for ray in rays]
        self._v = np.ascontiguousarray(rays[:, :n])
        self._k = self._sign * rays[:, n] if self._sign else np.zeros(len(rays))
        self._t = np.where(self.cone.is_tight(self._flat)[open_ray], 0.0, rays[:, -1])

    def halfspaces(self, start: Floats, target: float) -> tuple[Floats, Floats]:
        """See `Facets`."""
        if self.empty:
            return np.empty((0, len(start))), np.empty(0)
        return self._v, target * self._t - self._k - self._v @ start

    def rows(self, start: Floats) -> tuple[Floats, Floats]:
        """See `Facets`."""
        return _inside(self._row_v, self._row_k, start)

    def lines(self, start: Floats) -> tuple[Floats, Floats, Floats]:
        """Return C, base, h: as in `RayOutputs`, but at first from above."""
        return self._v, self._v @ start + self._k, self._t

    def _bound(self, v: Floats, k: float) -> None:
        self._row_v = np.vstack([self._row_v, v])
        self._row_k = np.append(self._row_k, k)

    def accepts(self, goods: Floats, target: float, chosen: int) -> bool:
        """See `Facets`."""
        v, k, bound = self._v[chosen], self._k[chosen], self._t[chosen]
        self.last = 0.0
        if self._t[chosen] == 0.0:
            worth = self._Y @ v
            excess = worth + k
            worst = int(np.argmax(excess))
            if excess[worst] > _VALID * (worth[worst] + abs(k)):
                time = self._times[worst]
                self.cone.insert(self._cut(time * self._Y[worst], time))
            else:
                self._valid.add(self._keys[chosen])
                self._bound(v, k)
            self._refresh()
            return False
        E, steps = self._technology.input_efficiency(self._x0[None], goods[None], self._skip)
        self.programs += 1
        if np.isinf(E[0]):  # nothing makes these goods: the prices that prove it bound them
            prices = steps.prices[0]
            n = self._technology.n_inputs
            size = -self._technology.size_sign * prices[-1] if self._sign else 0.0
            self._bound(prices[n : n + len(goods)], size)
            return False
        self.last = float(E[0])
        if E[0] >= target * (1.0 - REACHED):
            return True
        used = steps.peers[0] >= 0
        y = steps.lambdas[0, used] @ self._technology.Y[steps.peers[0, used]]
        stuck = not self.cone.insert(self._cut(y / E[0], steps.lambdas[0].sum() / E[0]))
        if self.programs > _PATIENCE:  # cuts inside a facet may converge without an end
            corner = self._corner(v, k)
            if corner is not None and v @ corner[0] + k * corner[1] > bound:
                self.cone.insert(self._cut(*corner))
        self._refresh()
        return bool(stuck and E[0] >= target * (1.0 - _STUCK))
