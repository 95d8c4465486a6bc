"""Among covers with equally few clusters, one that is easy to read.

Second stage, after the number of clusters is settled: fewest changed features over all
instances, then clusters of even size. A model over the clusters at hand chooses and assigns;
points are then fitted to the rows that their cluster got.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from groupcf.exact.pattern_pricing import Clusters, PatternSearch
from groupcf.exact.sparse_points import least_changes
from groupcf.solution import Status
from groupcf.solvers.highs import solve_matrix

_PAIRS = 5000
_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Selection:
    """A readable choice.

    Attributes
    ----------
    clusters : Clusters
        `members` holds the rows that are assigned, each in one cluster.
    assignment : ndarray of shape (n,) of int
        Cluster of each row.
    changes : int
        Changed features over all instances.
    proven : bool
        Whether the model was solved to proof: no other choice among the `offered` clusters,
        with the points they had, changes less.
    offered : int
    seconds : float
    """

    clusters: Clusters
    assignment: NDArray[np.int64]
    changes: int
    proven: bool
    offered: int
    seconds: float


def select(
    search: PatternSearch,
    clusters: Clusters,
    cover: NDArray[np.int64],
    multiplicity: NDArray[np.int64],
    *,
    time_limit: float,
    threads: int = 1,
    seed: int = 0,
) -> Selection:
    """Choose and assign as many clusters as a cover has.

    Parameters
    ----------
    search : PatternSearch
    clusters : Clusters
        Clusters at hand, the most useful first.
    cover : ndarray of int
        Clusters of the cover to start from.
    multiplicity : ndarray of shape (n,) of int
        Instances that each row stands for.
    time_limit : float
        Seconds for the model; the cover itself is taken when it is up.
    threads, seed : int

    Returns
    -------
    Selection
    """
    begin = time.perf_counter()
    size = np.cumsum(clusters.members.sum(axis=1))
    offered = np.union1d(cover, np.flatnonzero(size <= _PAIRS))
    start = np.searchsorted(offered, cover)
    pool = _fitted(search, clusters[offered], multiplicity)
    cost = _changes(search, pool, multiplicity)
    chosen, proven = start, False
    if time_limit > 0:
        chosen, proven = _choose(cost, start, time_limit, threads, seed)
    picked = pool[chosen]
    assignment = cost[chosen].argmin(axis=0)
    changes = cost[chosen].min(axis=0).sum()
    for _ in range(_ROUNDS):
        held = _held(assignment, len(picked))
        fitted = _fitted(search, Clusters(held, picked.points, picked.features), multiplicity, True)
        fitted = search.fitting(fitted.points, fitted.features)
        again = _changes(search, fitted, multiplicity)
        total = again.min(axis=0).sum()
        if total >= changes:
            break
        picked, cost, chosen = fitted, again, np.arange(len(fitted))
        assignment, changes = again.argmin(axis=0), total
    assignment = _balanced(cost[chosen], assignment, multiplicity)
    held = _held(assignment, len(picked))
    used = np.asarray(held.any(axis=1))
    final = Clusters(held, picked.points, _features(search, held, picked.points))[used]
    return Selection(
        final,
        (np.cumsum(used) - 1)[assignment],
        int(changes),
        proven,
        len(pool),
        time.perf_counter() - begin,
    )


def _fitted(
    search: PatternSearch,
    clusters: Clusters,
    multiplicity: NDArray[np.int64],
    pairs: bool = False,
) -> Clusters:
    return least_changes(
        search.board,
        search.model,
        search.target,
        search.table.max_changed,
        clusters,
        multiplicity,
        pairs=pairs,
    )


def _changes(
    search: PatternSearch, clusters: Clusters, multiplicity: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return changed features by cluster and row, all instances of a row; inf for others."""
    differ = (search.board.codes[None] != clusters.points[:, None]).sum(axis=2)
    return np.where(clusters.members, differ * multiplicity, np.inf)


def _features(
    search: PatternSearch, held: NDArray[np.bool_], points: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return which features the members of each cluster change."""
    differ = search.board.codes[None] != points[:, None]
    return np.asarray((differ & held[:, :, None]).any(axis=1))


def _held(assignment: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    return np.asarray(assignment[None] == np.arange(count)[:, None])


def _choose(
    cost: NDArray[np.float64],
    start: NDArray[np.int64],
    time_limit: float,
    threads: int,
    seed: int,
) -> tuple[NDArray[np.int64], bool]:
    """Open as many clusters as `start` has and serve every row at least cost."""
    n_clusters, n_rows = cost.shape
    cluster, row = np.nonzero(np.isfinite(cost))
    m = len(cluster)
    pair = np.arange(m)
    one = np.ones(m)
    served = sparse.coo_matrix((one, (row, n_clusters + pair)), (n_rows, n_clusters + m))
    opened = sparse.coo_matrix(
        (
            np.concatenate([one, -one]),
            (np.tile(pair, 2), np.concatenate([cluster, n_clusters + pair])),
        ),
        (m, n_clusters + m),
    )
    count = sparse.coo_matrix(
        (np.ones(n_clusters), (np.zeros(n_clusters, int), np.arange(n_clusters))),
        (1, n_clusters + m),
    )
    hint = np.zeros(n_clusters + m)
    hint[start] = 1.0
    own = start[cost[start].argmin(axis=0)]
    hint[n_clusters:] = own[row] == cluster
    result = solve_matrix(
        np.concatenate([np.zeros(n_clusters), cost[cluster, row]]),
        sparse.vstack([served, opened, count]),
        np.concatenate([np.ones(n_rows), np.zeros(m), [-np.inf]]),
        np.concatenate([np.ones(n_rows), np.full(m, np.inf), [float(len(start))]]),
        0.0,
        1.0,
        integrality=np.arange(n_clusters + m) < n_clusters,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        hint=hint,
    )
    if result.x is None:
        return start, False
    chosen = np.flatnonzero(result.x[:n_clusters] > 0.5)
    if not np.isfinite(cost[chosen].min(axis=0)).all():
        return start, False
    if cost[chosen].min(axis=0).sum() > cost[start].min(axis=0).sum():
        return start, False
    return chosen, result.status is Status.OPTIMAL


def _balanced(
    cost: NDArray[np.float64], assignment: NDArray[np.int64], multiplicity: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Move rows between clusters that serve them equally well until sizes even out."""
    assignment = assignment.copy()
    size = np.bincount(assignment, multiplicity, minlength=len(cost)).astype(np.int64)
    equal = cost == cost.min(axis=0)
    moved = True
    while moved:
        moved = False
        for s in np.flatnonzero(equal.sum(axis=0) > 1):
            here = assignment[s]
            there = min(np.flatnonzero(equal[:, s]), key=lambda c: (size[c], c))
            if size[there] + multiplicity[s] < size[here]:
                assignment[s] = there
                size[here] -= multiplicity[s]
                size[there] += multiplicity[s]
                moved = True
    return assignment
