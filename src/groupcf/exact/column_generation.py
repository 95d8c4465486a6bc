"""Column generation for the fewest clusters that cover a group (models.md section 4).

The master is a covering problem over the clusters known so far; a pricer finds clusters that
its duals value above 1. Whatever the pricer is, exact or not, its upper bound on the most
valuable cluster turns every dual vector into a lower bound (Farley): dividing the duals by it
makes them feasible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.pattern_pricing import Clusters, Duals, Priced, rounded_up
from groupcf.solution import Progress, Status
from groupcf.solvers.highs import HighsLP

IMPROVING = 1.0 + 1e-7
"""A cluster worth more than this improves the master."""

_SMOOTHING = 0.5
_INTEGER = 1e-6

Pricer = Callable[[Duals, float], Priced]
"""Takes duals and the moment at which to stop; returns clusters and a bound on their worth."""


class Journal:
    """Bound and incumbent against time.

    Parameters
    ----------
    on_progress : callable, optional
        Called with every change.
    """

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        self._begin = time.perf_counter()
        self._tell = on_progress
        self.history: list[Progress] = []
        self.incumbent: int | None = None
        self.bound = 0.0
        self.iteration = 0
        self.columns = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begin

    @property
    def least(self) -> int:
        """Number of clusters that the bound asks for at least."""
        return math.ceil(self.bound - _INTEGER)

    @property
    def closed(self) -> bool:
        """Whether the incumbent is proven optimal."""
        return self.incumbent is not None and self.least >= self.incumbent

    def note(
        self,
        *,
        incumbent: int | None = None,
        bound: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Record a better incumbent or bound, at this moment or at one given."""
        better = False
        if incumbent is not None and (self.incumbent is None or incumbent < self.incumbent):
            self.incumbent, better = incumbent, True
        if bound is not None and bound > self.bound + 1e-9:
            self.bound, better = bound, True
        if better:
            value = None if self.incumbent is None else float(self.incumbent)
            when = self.seconds if seconds is None else seconds
            moment = Progress(when, value, self.bound, self.iteration, self.columns)
            self.history.append(moment)
            if self._tell is not None:
                self._tell(moment)


@dataclass(eq=False)
class Master:
    """Linear covering problem over a growing pool of distinct clusters.

    Attributes
    ----------
    pool : Clusters
    triples : ndarray of shape (C, 3) of int
        Cuts; see `Duals`.
    value : float
        Value of the last solve.
    duals : Duals
    weights : ndarray of shape (N,)
        Fractional cover of the last solve.
    """

    pool: Clusters
    triples: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 3), np.int32))
    value: float = math.inf

    def __post_init__(self) -> None:
        _, first = np.unique(self.pool.members, axis=0, return_index=True)
        self.pool = self.pool[np.sort(first)]
        self._seen = {row.tobytes() for row in self.pool.members}
        self._build()

    def _build(self) -> None:
        n = self.pool.members.shape[1]
        self._lp = HighsLP(
            np.ones(len(self.pool)),
            self._rows(self.pool.members, self.triples),
            np.concatenate([np.ones(n), np.full(len(self.triples), 2.0)]),
            np.inf,
        )

    @staticmethod
    def _rows(members: NDArray[np.bool_], triples: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.hstack([members, rounded_up(members, triples)]).T

    def add(self, clusters: Clusters) -> int:
        """Add the clusters that are new; return how many were."""
        fresh = []
        for k, row in enumerate(clusters.members):
            key = row.tobytes()
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(k)
        if fresh:
            new = clusters[np.array(fresh)]
            self._lp.add_columns(np.ones(len(new)), self._rows(new.members, self.triples))
            self.pool = self.pool.joined(new)
        return len(fresh)

    def cut(self, triples: NDArray[np.int32]) -> None:
        """Add cuts, and drop those that the last solve left slack."""
        active = self.duals.prices > 0
        self.triples = np.concatenate([self.triples[active], triples])
        if active.all():
            self._lp.add_rows(rounded_up(self.pool.members, triples).T, 2.0, np.inf)
        else:
            self._build()

    def solve(self) -> None:
        """Solve; read value, duals and fractional cover."""
        result = self._lp.solve()
        if result.status is not Status.OPTIMAL or result.duals is None or result.x is None:
            raise RuntimeError(f"the master problem ended as {result.status}: {result.message}")
        n = self.pool.members.shape[1]
        prices = np.maximum(result.duals, 0.0)
        prices[prices < 1e-10] = 0.0
        self.value = float(result.objective or 0.0)
        self.weights = result.x
        self._prices = prices[n:]
        self.duals = Duals(prices[:n], self.triples, prices[n:])


def generate(
    master: Master,
    pricer: Pricer,
    journal: Journal,
    until: float = math.inf,
    *,
    smooth: bool = True,
) -> bool:
    """Generate columns until the master's value is the bound.

    Duals are smoothed towards those of the best bound so far (Wentges); a smoothed call that
    finds nothing useful is repeated without.

    Parameters
    ----------
    master : Master
        Gets the new columns.
    pricer : callable
    journal : Journal
        Gets the bounds.
    until : float
        Moment (``time.perf_counter``) at which to stop.
    smooth : bool

    Returns
    -------
    bool
        Whether it ended by itself: no cluster improves the master, or the incumbent is
        proven optimal.
    """
    centre: NDArray[np.float64] | None = None
    best = 0.0
    smooth = smooth and not len(master.triples)
    while True:
        master.solve()
        journal.iteration += 1
        journal.columns = len(master.pool)
        exact = master.duals
        if centre is None:
            centre = exact.rows
        tries = [exact.mixed(centre, _SMOOTHING), exact] if smooth else [exact]
        new = 0
        for duals in tries:
            priced = pricer(duals, until)
            bound = duals.total / max(IMPROVING, priced.bound)
            if bound > best:
                best, centre = bound, duals.rows
            journal.note(bound=bound)
            useful = exact.worth(priced.clusters.members) > IMPROVING
            new = master.add(priced.clusters[useful])
            if journal.closed or time.perf_counter() >= until:
                return journal.closed
            if new:
                break
        if best * IMPROVING >= master.value - 1e-9:
            return True
        if not new:  # only an inexact pricer ends with a gap
            return priced.finished and priced.bound <= IMPROVING
