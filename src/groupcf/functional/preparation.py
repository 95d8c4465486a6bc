"""What the search needs of a problem: cells, trees, and a hierarchy of prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers import LinearScore
from groupcf.functional.problem import FunctionalProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Binary tree of clusters of prototypes; node 0 holds all, a leaf holds one.

    Attributes
    ----------
    start, end : ndarray of int
        The cluster is ``order[start:end]``.
    child : ndarray of int, shape (n, 2)
        -1 at a leaf.
    order : ndarray of int, shape (m,)
    """

    start: Ints
    end: Ints
    child: Ints
    order: Ints

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """The four arrays, as the kernel takes them."""
        return self.start, self.end, self.child, self.order

    def leaves(self) -> Ints:
        """Return the leaf of each prototype."""
        single = np.flatnonzero(self.child[:, 0] < 0)
        out = np.empty(len(self.order), np.int64)
        out[self.order[self.start[single]]] = single
        return out


def hierarchy(directions: Floats) -> Hierarchy:
    """Split prototypes into two, again and again, by the directions they lie in.

    Two means from the farthest pair of points, which is deterministic.

    Parameters
    ----------
    directions : ndarray of shape (m, k)
        Unit directions from the original.
    """
    m = len(directions)
    order = np.arange(m)
    start, end, child = [0], [m], [[-1, -1]]
    at = 0
    while at < len(start):
        a, b = start[at], end[at]
        if b - a > 1:
            group = order[a:b]
            right = _two_means(directions[group])
            order[a:b] = np.concatenate([group[~right], group[right]])
            middle = a + int((~right).sum())
            child[at] = [len(start), len(start) + 1]
            for first, last in ((a, middle), (middle, b)):
                start.append(first)
                end.append(last)
                child.append([-1, -1])
        at += 1
    return Hierarchy(np.array(start), np.array(end), np.array(child), order)


def _two_means(points: Floats) -> NDArray[np.bool_]:
    def far(x: Floats) -> Floats:
        return np.asarray(points[((points - x) ** 2).sum(axis=1).argmax()])

    one = far(points.mean(axis=0))
    other = far(one)
    for _ in range(20):
        right = ((points - one) ** 2).sum(axis=1) > ((points - other) ** 2).sum(axis=1)
        if right.all() or not right.any():
            return np.arange(len(points)) >= len(points) // 2
        means = points[~right].mean(axis=0), points[right].mean(axis=0)
        if np.array_equal(means[0], one) and np.array_equal(means[1], other):
            break
        one, other = means
    return np.asarray(right)


@dataclass(frozen=True, eq=False)
class Trees:
    """The classifier in cells: what the search knows of a score.

    Attributes
    ----------
    arrays : tuple
        column (position among `columns`, -1 at a leaf), position of the threshold, left, right,
        value, roots.
    columns : ndarray of int
        Tested columns, ascending; a linear score of one feature adds its own value as a column.
    thresholds : list of ndarray
    needed : float
    """

    arrays: tuple[Any, ...]
    columns: Ints
    thresholds: list[Floats]
    needed: float


def trees_of(problem: FunctionalProblem) -> Trees:
    """Compile a score; a linear one becomes a tree of one test, of the score itself."""
    score = problem.score
    if isinstance(score, LinearScore):
        arrays = (
            np.array([0, -1, -1]),
            np.array([0, 0, 0]),
            np.array([1, -1, -1]),
            np.array([2, -1, -1]),
            np.array([0.0, 0.0, 1.0]),
            np.array([0]),
        )
        return Trees(arrays, np.array([score.n_columns]), [np.array([problem.target])], 1.0)
    columns = np.unique(score.column[(score.column >= 0) & np.isfinite(score.threshold)])
    place = np.full(score.n_columns, -1)
    place[columns] = np.arange(len(columns))
    thresholds = [score.thresholds(int(c)) for c in columns]
    tested = score.column >= 0
    column = np.where(tested, place[score.column], -1)
    position = np.zeros(len(column), np.int64)
    for k in np.flatnonzero(column >= 0):
        position[k] = np.searchsorted(thresholds[column[k]], score.threshold[k])
    tree = np.repeat(np.arange(score.n_trees), np.diff(np.append(score.roots, len(column))))
    value = np.where(tested, 0.0, score.value * score.weights[tree])
    left, right = score.left.copy(), score.right.copy()
    for k in np.flatnonzero(tested & (column < 0))[::-1]:
        # a split at infinity sends every number to one side: take that side's place
        source = left[k] if score.threshold[k] > 0 else right[k]
        column[k], position[k], value[k] = column[source], position[source], value[source]
        left[k], right[k] = left[source], right[source]
    return Trees(
        (column, position, left, right, value, score.roots.copy()),
        columns.astype(np.int64),
        thresholds,
        problem.target - score.base,
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem as arrays for :func:`groupcf.functional.search_kernel.search`."""

    trees: Trees
    tree: Hierarchy
    ends: Floats
    data: tuple[Any, ...]
    home: Ints
    d: Floats


def prepare(
    problem: FunctionalProblem,
    trees: Trees,
    *,
    metric: Floats | None = None,
    shift: Floats | None = None,
) -> Prepared:
    """Prepare the search for one curve.

    Parameters
    ----------
    problem : FunctionalProblem
    trees : Trees
    metric : ndarray of shape (J, T), optional
        Weights of the squared differences (ones when omitted).
    shift : ndarray of shape (J, T), optional
        ``x0 - target`` when the distance is from another curve than the original.
    """
    x0, T = problem.x0, problem.x0.shape[1]
    J = len(x0)
    root = np.sqrt(np.ones_like(x0) if metric is None else metric)
    s = root * (np.zeros_like(x0) if shift is None else shift)
    d = problem.prototypes - x0
    scaled = d * root
    norm = np.linalg.norm(scaled, axis=2)
    inverse = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 1e-9)
    unit = scaled * inverse[:, :, None]
    tree = hierarchy(unit.reshape(len(d), -1))
    flat = x0.ravel()
    if isinstance(problem.score, LinearScore):
        w = problem.score.weights.reshape(J, T)
        d = np.concatenate([d, np.einsum("bjt,jt->bj", d, w)[:, :, None]], axis=2)
        flat = np.append(flat, problem.score.decision(flat)[0])
    steps = d * inverse[:, :, None]
    clusters = list(zip(tree.start, tree.end, strict=True))
    n, width = len(clusters), d.shape[2]
    span, reach = np.empty((2, J, n, width)), np.empty((J, n))
    pull, close = np.empty((J, n)), np.empty((J, n, n))
    along = np.einsum("bjt,jt->bj", unit, s)
    for k, (a, b) in enumerate(clusters):
        rows = tree.order[a:b]
        span[0, :, k], span[1, :, k] = steps[rows].min(axis=0), steps[rows].max(axis=0)
        reach[:, k] = np.maximum(norm[rows].max(axis=0), 1e-9)
        pull[:, k] = along[rows].min(axis=0)
    for j in range(J):
        inner = unit[tree.order, j] @ unit[tree.order, j].T
        np.fill_diagonal(inner, 1.0)
        half = np.stack([inner[a:b].min(axis=0) for a, b in clusters])
        close[j] = np.stack([half[:, a:b].min(axis=1) for a, b in clusters], axis=1)
    low, high, home = [], [], []
    for c, cut in zip(trees.columns, trees.thresholds, strict=True):
        low.append(np.concatenate([[-np.inf], cut - flat[c]]))
        high.append(np.concatenate([cut - flat[c], [np.inf]]))
        home.append(np.searchsorted(cut, flat[c]))
    offset = np.concatenate([[0], np.cumsum([len(e) for e in low])])
    columns = trees.columns
    if width > T:
        columns = np.array([T])
    used = np.searchsorted(columns, width * np.arange(J + 1))
    data = (used, columns, offset, close, span, reach, pull, (s**2).sum(axis=1))
    ends = np.stack([np.concatenate(low), np.concatenate(high)])
    return Prepared(trees, tree, ends, data, np.array(home), d)
