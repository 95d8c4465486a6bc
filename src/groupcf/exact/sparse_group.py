"""A group prepared for sparse one-for-many: distinct rows, and who can be reached."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.pattern_pricing import Clusters, Duals, PatternSearch
from groupcf.exact.pattern_table import PatternTable
from groupcf.problems import Problem

_EFFORT = 2000


@dataclass(eq=False)
class Group:
    """Reachable distinct rows of a group, and the search over their clusters.

    Attributes
    ----------
    problem : Problem
    table : PatternTable
    search : PatternSearch
        Over the n reachable rows.
    rows : ndarray of shape (n,) of int
        Their places in the table.
    least : dict of int to int or None
        Table row that max_changed does not reach -> the smallest number of changes that
        would; None if none does, or none is known to.
    undecided : list of int
        Table rows among the unreachable ones for which that was not proven.
    """

    problem: Problem
    table: PatternTable
    search: PatternSearch
    rows: NDArray[np.int64]
    least: dict[int, int | None]
    undecided: list[int]

    @classmethod
    def of(cls, problem: Problem) -> Group:
        """Prepare a problem.

        Raises
        ------
        UnsupportedProblemError
            For another allocation or score, or a feature that is not discrete.
        """
        table = PatternTable.of(problem)
        search = PatternSearch(problem, table)
        least: dict[int, int | None] = {}
        undecided = []
        for row in range(table.n_rows):
            reached = search.reaches(row, table.max_changed)
            if reached:
                continue
            least[row] = None
            for budget in range(table.max_changed + 1, table.n_features + 1):
                if reached is None:
                    break
                reached = search.reaches(row, budget)
                if reached:
                    least[row] = budget
                    break
            if reached is None:
                undecided.append(row)
        kept = np.setdiff1d(np.arange(table.n_rows), list(least))
        search.restrict(kept)
        return cls(problem, table, search, kept, least, undecided)

    @property
    def multiplicity(self) -> NDArray[np.int64]:
        """Instances that each of the n rows stands for."""
        return self.table.multiplicity[self.rows]

    def assigned(self, cluster: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every instance from those of the n rows; -1 if unreachable."""
        of_row = np.full(self.table.n_rows, -1, dtype=np.int64)
        of_row[self.rows] = cluster
        return of_row[self.table.row]

    def greedy(self) -> Clusters:
        """Return clusters that cover all rows, each the heaviest found in a short search."""
        left = np.ones(self.search.n_rows)
        chosen: Clusters | None = None
        while left.any():
            priced = self.search.price(Duals(left), 0.0, 1, effort=_EFFORT)
            best = priced.clusters[:1]
            chosen = best if chosen is None else chosen.joined(best)
            left[best.members[0]] = 0.0
        assert chosen is not None
        return chosen

    def singletons(self) -> Clusters:
        """Return one cluster for each row, with nothing added."""
        points = []
        for row in range(self.search.n_rows):
            weight = np.zeros(self.search.n_rows)
            weight[row] = 1.0
            priced = self.search.price(Duals(weight), 0.0, 1, extend=False)
            points.append(priced.clusters)
        joined = points[0]
        for other in points[1:]:
            joined = joined.joined(other)
        return joined
