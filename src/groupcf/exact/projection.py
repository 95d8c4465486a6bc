"""Cheapest changes of each instance for a linear score, given which features may change.

For a fixed set of features the one-for-one problem (models.md section 1) falls apart into one
problem per instance: minimise distance plus ``lam_ind`` times the number of changed features,
such that the score rises by the instance's deficit, inside a product of intervals and value
lists. Each is solved to proof; see :mod:`groupcf.exact.projection_kernel` for the method.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.scores import LinearScore
from groupcf.constraints import feasible_box, options
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.projection_kernel import CONTINUOUS, LISTED, STEPPED, project_rows
from groupcf.features import Feature, Kind
from groupcf.problems import Problem

LONGEST_LIST = 32
"""Integer features with more steps than this are searched by bisection, not as a list."""

NEGLIGIBLE = 1e-12
"""A feature whose largest gain is below this share of the deficit cannot help."""


class OutOfTime(Exception):  # noqa: N818 - an event of the search, not an error
    """The time limit struck while instances were being projected.

    Attributes
    ----------
    bounds : ndarray of shape (n,) or None
        Lower bounds on the costs of the instances, if the method knows them.
    found : object or None
        The best changes so far, with a cost of inf where there is none.
    """

    def __init__(self, bounds: NDArray[np.float64] | None = None, found: Any = None) -> None:
        super().__init__("the time limit struck")
        self.bounds, self.found = bounds, found


@dataclass(frozen=True, eq=False)
class Projected:
    """Cheapest changes of some instances.

    Attributes
    ----------
    cost : ndarray of shape (n,)
        Distance, ``lam_ind`` and any extra charges; inf where the score is out of reach.
    used : ndarray of shape (n, J) of bool
        Features that change.
    gain : ndarray of shape (n, J)
        Rise of the score by feature.
    level : ndarray of shape (n, J) of int
        Steps of a stepped feature, position of the option of a listed one (from 1).
    nodes : int
        Branch-and-bound nodes over all instances.
    """

    cost: NDArray[np.float64]
    used: NDArray[np.bool_]
    gain: NDArray[np.float64]
    level: NDArray[np.int64]
    nodes: int


class GroupProjection:
    """What every feature offers every instance, and the projections onto the wanted side.

    Parameters
    ----------
    problem : Problem
        One-for-one, with a linear score.

    Attributes
    ----------
    deficit : ndarray of shape (S,)
        Score that an instance is missing; not positive where it is wanted already.
    cap : ndarray of shape (S, J)
        Largest rise of the score that a feature can bring; 0 where it cannot help.

    Raises
    ------
    UnsupportedProblemError
        For another score or allocation.
    """

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem.score, LinearScore):
            raise UnsupportedProblemError("projections need a linear score")
        self.problem = problem
        self.n_features = problem.space.n_features
        self.deficit = problem.target - problem.score.decision(problem.instances)
        self.power = 2 if problem.cost.gauge == "l2_squared" else 1
        limit = problem.one_for_one.max_changed
        self.limit = self.n_features if limit is None else limit
        self._weights = problem.score.weights
        self._tabulate()
        self._stop = np.zeros(1, np.uint8)

    def _tabulate(self) -> None:
        space, X0 = self.problem.space, self.problem.instances
        shape = (len(X0), self.n_features)
        self._kind = np.full(self.n_features, LISTED, np.int64)
        self._price, self._step = np.zeros(self.n_features), np.zeros(self.n_features)
        self.cap = np.zeros(shape)
        self._first, self._count = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        gains, costs, values = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        lower, upper = feasible_box(space, X0)
        filled = 0
        for j, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
            w = self._weights[block]
            if not feature.actionable or not w.any():
                continue
            at, slope = block.start, abs(float(w[0]))
            room = upper[:, at] - X0[:, at] if w[0] > 0 else X0[:, at] - lower[:, at]
            if not feature.discrete or _long(feature, X0[:, at]):
                self._price[j] = feature.weight / slope**self.power
                if feature.discrete:
                    self._kind[j], self._step[j] = STEPPED, slope / feature.scale
                    self._count[:, j] = np.rint(room * feature.scale)
                    self.cap[:, j] = self._count[:, j] * self._step[j]
                else:
                    self._kind[j], self.cap[:, j] = CONTINUOUS, slope * room
                continue
            nominal = feature.kind is Kind.NOMINAL
            own = X0[:, block].argmax(axis=1).astype(float) if nominal else X0[:, at]
            distinct, inverse = np.unique(own, return_inverse=True)
            for k, value in enumerate(distinct):
                gain, cost, choice = self._frontier(feature, w, float(value))
                rows = inverse == k
                self._first[rows, j], self._count[rows, j] = filled, len(gain)
                self.cap[rows, j] = gain[-1] if len(gain) else 0.0
                filled += len(gain)
                gains.append(gain)
                costs.append(cost)
                values.append(choice)
        self.cap[self.cap <= NEGLIGIBLE * np.maximum(1.0, self.deficit)[:, None]] = 0.0
        self._gains, self._costs = np.concatenate(gains), np.concatenate(costs)
        self._values = np.concatenate(values)

    def _frontier(
        self, feature: Feature, w: NDArray[np.float64], own: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return gain, distance cost and value of the options no other option dominates."""
        choice = options(feature, own)[1:]
        if feature.kind is Kind.NOMINAL:
            gain = w[choice.astype(int)] - w[int(own)]
            cost = np.full(len(choice), feature.weight)
        else:
            gain = w[0] * (choice - own)
            cost = feature.weight * np.abs(choice - own) ** self.power
        order = np.lexsort((-gain, cost))
        gain, cost, choice = gain[order], cost[order], choice[order]
        before = np.concatenate([[0.0], np.maximum.accumulate(gain)[:-1]])[: len(gain)]
        keep = gain > np.maximum(before, NEGLIGIBLE)
        return gain[keep], cost[keep], choice[keep]

    @contextmanager
    def deadline(self, seconds: float | None) -> Iterator[None]:
        """Interrupt projections with :class:`OutOfTime` after some seconds."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(max(0.0, seconds), self._stop.fill, args=(1,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            self._stop[0] = 0

    def project(
        self,
        rows: NDArray[np.int64],
        features: NDArray[np.bool_],
        *,
        extra: NDArray[np.float64] | None = None,
        limit: int | None = None,
        floor: NDArray[np.float64] | None = None,
        effort: int | None = None,
    ) -> Projected:
        """Find the cheapest change of each given instance.

        Parameters
        ----------
        rows : ndarray of shape (n,) of int
        features : ndarray of shape (J,) of bool
            Features that may change.
        extra : ndarray of shape (n, J), optional
            Further fixed charges of a used feature, on top of ``lam_ind``.
        limit : int, optional
            Further limit on the features that one instance may change.
        floor : ndarray of shape (n,), optional
            Known lower bounds on the costs; reaching one ends an instance's search early.
        effort : int, optional
            Most nodes spent on one instance; beyond them its cost is a lower bound only.

        Raises
        ------
        OutOfTime
            When a :meth:`deadline` strikes.
        """
        n = len(rows)
        charge = np.full((1, self.n_features), self.problem.cost.lam_ind)
        if extra is not None and n > 0:
            charge = charge + extra
        cost, gain = np.empty(n), np.empty((n, self.n_features))
        level = np.empty((n, self.n_features), np.int64)
        nodes = project_rows(
            np.ascontiguousarray(rows, np.int64),
            np.flatnonzero(features),
            self.deficit,
            self._kind,
            self._price,
            self._step,
            self.cap,
            self._first,
            self._count,
            self._gains,
            self._costs,
            charge,
            self.power,
            self.limit if limit is None else min(limit, self.limit),
            np.zeros(n) if floor is None else floor,
            np.iinfo(np.int64).max if effort is None else effort,
            self._stop,
            cost,
            gain,
            level,
        )
        if nodes < 0:
            raise OutOfTime
        return Projected(cost, gain > 0, gain, level, nodes)

    def reach(self, features: NDArray[np.bool_], limit: int | None = None) -> NDArray[np.float64]:
        """Return the largest rise of each instance's score, shape (S,).

        At most `limit` of the given features change, and no more than ``max_changed``.
        """
        caps = np.where(features[None, :], self.cap, 0.0)
        most = self.limit if limit is None else min(limit, self.limit)
        if most < self.n_features:
            caps = -np.sort(-caps, axis=1)[:, :most]
        return np.asarray(caps.sum(axis=1))

    def within_reach(
        self, reach: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether a rise of the score by `reach` takes the rows to the wanted side."""
        deficit = self.deficit[rows]
        return np.asarray(reach >= deficit - NEGLIGIBLE * np.maximum(1.0, deficit))

    def unreachable(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return which rows no permitted change takes to the wanted side, and their best scores."""
        reach = self.reach(np.ones(self.n_features, dtype=bool))[rows]
        best = self.problem.target - self.deficit[rows] + reach
        return ~self.within_reach(reach, rows), best

    def points(self, rows: NDArray[np.int64], found: Projected) -> NDArray[np.float64]:
        """Return the encoded counterfactuals of projected instances, shape (n, D)."""
        space, X0 = self.problem.space, self.problem.instances[rows]
        X = X0.copy()
        for j, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
            moved = np.flatnonzero(found.used[:, j])
            if not len(moved):
                continue
            at, w = block.start, self._weights[block.start]
            if self._kind[j] == LISTED:
                place = self._first[rows[moved], j] + found.level[moved, j] - 1
                choice = self._values[place]
                if feature.kind is Kind.NOMINAL:
                    X[moved, block] = 0.0
                    X[moved, at + choice.astype(int)] = 1.0
                else:
                    X[moved, at] = choice
            elif self._kind[j] == STEPPED:
                raw = np.rint(X0[moved, at] * feature.scale + feature.offset)
                raw += np.sign(w) * found.level[moved, j]
                X[moved, at] = (raw - feature.offset) / feature.scale
            else:
                X[moved, at] = X0[moved, at] + found.gain[moved, j] / w
        lower, upper = feasible_box(space, X0)
        return np.clip(X, lower, upper)


def _long(feature: Feature, own: NDArray[np.float64]) -> bool:
    """Whether a discrete feature is better walked in steps than listed."""
    if feature.kind is not Kind.INTEGER or feature.allowed is not None:
        return False
    raw = own * feature.scale + feature.offset
    on_grid = bool((np.abs(raw - np.rint(raw)) <= 1e-6).all())
    return on_grid and np.floor(feature.upper) - np.ceil(feature.lower) > LONGEST_LIST
