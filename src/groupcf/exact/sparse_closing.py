"""From the linear bound to the optimum: better covers, cuts, and all clusters in the gap.

A cover with K clusters uses only clusters whose reduced cost is at most K minus the bound.
Pattern search lists all of these, so that a covering problem over the list decides whether K
are enough: exact without branching on clusters. Cuts on triples of rows lift the bound first
and thin the list out.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.column_generation import IMPROVING, Journal, Master, Pricer, generate
from groupcf.exact.pattern_pricing import Clusters, Duals, PatternSearch, Priced, rounded_up
from groupcf.exact.sparse_cover import small_cover
from groupcf.exact.sparse_cuts import violated_triples
from groupcf.solution import Status
from groupcf.solvers.highs import solve_matrix
from groupcf.solvers.set_cover import solve_set_cover, undominated

_GENERATING = 0.85
"""Share of the time limit after which column generation stops at the latest."""
_COLUMNS = 30
_EFFORT = 20_000
_CUTS = 60
_ROUNDS = 40
_STALL = 0.01
_STEPS = 1_000_000
_QUICK = 1e9
_DEEP = 5e9
_SMALLER = (1000, 3000)
_LISTED = 20_000
_LISTED_LAST = 60_000


class Closing:
    """Search for the optimal cover of a group.

    Parameters
    ----------
    search : PatternSearch
    start : Clusters
        Clusters that cover every row.
    journal : Journal
    until : float
        Moment (``time.perf_counter``) at which to stop.
    threads, seed : int

    Attributes
    ----------
    master : Master
    cover : ndarray of int
        The best cover known, columns of the master's pool.
    facts : dict
        What happened, for a report.
    """

    def __init__(
        self,
        search: PatternSearch,
        start: Clusters,
        journal: Journal,
        until: float = math.inf,
        *,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        self.search, self.journal, self.until = search, journal, until
        self.threads, self.seed = threads, seed
        self.master = Master(start)
        self.cover = np.arange(len(self.master.pool))
        self.facts: dict[str, object] = {}
        self._better(self.cover)

    # -- linear bound ------------------------------------------------------------------------

    def price(self, duals: Duals, until: float) -> Priced:
        """Price with a short search; with a complete one where that finds nothing."""
        quick = self.search.price(duals, IMPROVING, _COLUMNS, until, effort=_EFFORT)
        if quick.finished or (duals.worth(quick.clusters.members) > IMPROVING).any():
            return quick
        return self.search.price(duals, IMPROVING, _COLUMNS, until)

    def relax(self, pricer: Pricer | None = None, *, smooth: bool = True) -> bool:
        """Bring the linear bound to its value; return whether that was completed.

        Leaves some of the time for a cover from the generated clusters.
        """
        stop = self.until
        if math.isfinite(stop):
            now = time.perf_counter()
            stop = now + _GENERATING * max(0.0, stop - now)
        done = generate(self.master, pricer or self.price, self.journal, stop, smooth=smooth)
        if done:
            self.facts["lp_value"] = self.master.value
        return done

    # -- covers ------------------------------------------------------------------------------

    def improve(self, steps: int) -> None:
        """Look for a smaller cover in the pool."""
        found = small_cover(
            self.master.pool.members,
            start=self.cover,
            goal=self.journal.least,
            until=self.until,
            steps=steps,
            seed=self.seed,
        )
        self._better(found)

    def cover_pool(self) -> None:
        """Find the smallest cover in the pool, by proof if time allows."""
        self.improve(20_000)
        if self._over():
            return
        left = self.until - time.perf_counter()
        found = solve_set_cover(
            self.master.pool.members,
            self.master.pool.members.shape[1],
            hint=self.cover,
            time_limit=left if math.isfinite(left) else None,
            threads=self.threads,
            seed=self.seed,
        )
        self.facts["pool_cover_proven"] = found.status is Status.OPTIMAL
        if found.status.has_incumbent:
            self._better(found.chosen)

    def nearest(self) -> tuple[Clusters, NDArray[np.int64]]:
        """Return the pool, clusters of small reduced cost first, and the cover in it."""
        order = np.arange(len(self.master.pool))
        if math.isfinite(self.master.value):
            order = np.argsort(-self.master.duals.worth(self.master.pool.members), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return self.master.pool[order], place[self.cover]

    def _better(self, cover: NDArray[np.int64]) -> None:
        if len(cover) <= len(self.cover):
            self.cover = cover
        self.journal.note(incumbent=len(self.cover))

    def _adopt(self, clusters: Clusters, chosen: NDArray[np.int64]) -> None:
        """Take over a cover from a list of clusters."""
        if len(chosen) >= len(self.cover):
            return
        part = clusters[chosen]
        self.master.add(part)
        place = {row.tobytes(): k for k, row in enumerate(self.master.pool.members)}
        self._better(np.array([place[row.tobytes()] for row in part.members]))

    # -- proof -------------------------------------------------------------------------------

    def close(self) -> None:
        """Go on until the cover is proven optimal, or time or the limits on lists are up."""
        self.improve(40_000)
        while not self._over():
            target = self.journal.least
            clusters, complete = self._list(target, _LISTED)
            if complete and self._decided(clusters, target):
                continue
            self._search(clusters, target)
            if self._over():
                return
            if self._cut(target):
                continue
            clusters, complete = self._list(target, _LISTED_LAST)
            self._search(clusters, target, deep=True)
            if self._over():
                return
            if not complete or not self._decided(clusters, target, last=True):
                self.facts["listing_complete"] = complete
                return

    def _over(self) -> bool:
        return self.journal.closed or time.perf_counter() >= self.until

    def _list(self, target: int, limit: int) -> tuple[Clusters, bool]:
        """List the clusters that a cover with so many clusters may use; the pool's too."""
        duals, gap = self.master.duals, target - self.master.value
        clusters, complete = self.search.all_above(duals, 1.0 - gap - 1e-6, limit, self.until)
        self.facts["listed"] = len(clusters)
        near = duals.worth(self.master.pool.members) >= 1.0 - gap - 1e-6
        clusters = clusters.joined(self.master.pool[near])
        kept = undominated(clusters.members, np.ones(len(clusters), dtype=np.int64))
        return clusters[kept], complete

    def _search(self, clusters: Clusters, target: int, *, deep: bool = False) -> None:
        """Look for a cover with so many clusters among listed ones, the most useful first."""
        order = np.argsort(-self.master.duals.worth(clusters.members), kind="stable")
        for size in (*_SMALLER, len(order)) if deep else (len(order),):
            part = clusters[order[:size]]
            if self._over() or not part.members.any(axis=0).all():
                continue
            entries = float(part.members.sum())
            each = entries / len(part) * entries / part.members.shape[1]  # scores a move touches
            found = small_cover(
                part.members,
                goal=target,
                until=self.until,
                steps=min(_STEPS, int((_DEEP if deep else _QUICK) / each)),
                seed=self.seed,
            )
            self._adopt(part, found)
            if len(self.cover) <= target or size >= len(order):
                return

    def _cut(self, target: int) -> bool:
        """Add cuts until the bound asks for more than `target`; return whether it does."""
        master, values = self.master, [self.master.value]
        for _ in range(_ROUNDS):
            triples = violated_triples(master.pool.members, master.weights, _CUTS)
            if not len(triples):
                break
            master.cut(triples)
            if not generate(master, self.price, self.journal, self.until):
                return False
            if self._over() or self.journal.least > target:
                self.improve(20_000)
                return True
            values.append(master.value)
            if len(values) > 4 and values[-1] - values[-5] < _STALL:
                break
        self.improve(20_000)
        return self._over()

    def _decided(self, clusters: Clusters, target: int, *, last: bool = False) -> bool:
        """Decide by a covering problem over a complete list; return whether it was decided."""
        if not last and len(clusters) > 300:
            return False
        n = clusters.members.shape[1]
        triples = self.master.triples
        rows = np.hstack([clusters.members, rounded_up(clusters.members, triples)]).T
        rows = np.vstack([rows, np.ones(len(clusters))])
        lower = np.concatenate([np.ones(n), np.full(len(triples), 2.0), [-np.inf]])
        upper = np.concatenate([np.full(n + len(triples), np.inf), [float(target)]])
        left = self.until - time.perf_counter()
        result = solve_matrix(
            np.ones(len(clusters)),
            rows,
            lower,
            upper,
            0.0,
            1.0,
            integrality=np.ones(len(clusters)),
            time_limit=left if math.isfinite(left) else None,
            threads=self.threads,
            seed=self.seed,
        )
        if result.status is Status.INFEASIBLE:
            self.journal.note(bound=float(target + 1))
            return True
        if result.status is Status.OPTIMAL and result.x is not None:
            self._adopt(clusters, np.flatnonzero(result.x > 0.5))
            self.journal.note(bound=float(target))
            return True
        return False
