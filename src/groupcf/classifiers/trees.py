"""Additive trees f(x) = base + sum_t w_t v_t(leaf_t(x)) (models.md section 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.classifiers.scores import Link
from groupcf.errors import ClassifierError, DataError

_BLOCK = 4_000_000  # (row, tree) pairs walked at a time, to bound memory


@dataclass(frozen=True)
class Leaf:
    """One leaf and the box of encoded points that reach it.

    Attributes
    ----------
    tree, node : int
    value : float
        Its term of the score, w_t v_t.
    above : dict
        Encoded column -> threshold: x > threshold.
    up_to : dict
        Encoded column -> threshold: x <= threshold.
    """

    tree: int
    node: int
    value: float
    above: dict[int, float]
    up_to: dict[int, float]


@dataclass(frozen=True, eq=False)
class TreeEnsembleScore:
    """An ensemble of decision trees over encoded columns, all trees in flat arrays.

    Every split sends x left iff ``x[column] <= threshold``, in double precision. The
    threshold is the *largest double that the fitted model itself sends left*, after its own
    preprocessing, its rounding of inputs to single precision and its own comparison
    (``<=`` in scikit-learn, ``<`` in XGBoost). So the tests here and there agree for
    every double, and no comparison rule or tolerance is left to the reader.

    Attributes
    ----------
    column : ndarray of int, shape (N,)
        Encoded column that a node tests; -1 at a leaf.
    threshold : ndarray of shape (N,)
    left, right : ndarray of int, shape (N,)
        Children; -1 at a leaf.
    value : ndarray of shape (N,)
        Value of a leaf.
    roots : ndarray of int, shape (T,)
    weights : ndarray of shape (T,)
    base : float
        Score before any tree.
    n_columns : int
        Number D of encoded columns.
    link : Link
    missing_left : ndarray of bool, shape (N,), or None
        Where a missing value goes; None if the estimator takes none.
    closest_left, closest_right : ndarray of shape (N,)
        Encoded value nearest to the threshold that a counterfactual should take on either
        side: the neighbouring valid value of a discrete feature; otherwise the middle of
        the doubles that the model cannot tell from the nearest one (in a model of single
        precision there are many, so that rounding on the way to the user's units and back
        does not cross the threshold).
    single_precision : bool
        The model adds up in single precision (XGBoost), in the order of the trees.
    """

    column: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]
    weights: NDArray[np.float64]
    base: float
    n_columns: int
    link: Link
    closest_left: NDArray[np.float64]
    closest_right: NDArray[np.float64]
    missing_left: NDArray[np.bool_] | None = None
    single_precision: bool = False

    def __post_init__(self) -> None:
        n = len(self.column)
        for name in ("threshold", "left", "right", "value", "closest_left", "closest_right"):
            if getattr(self, name).shape != (n,):
                raise ClassifierError(f"tree ensemble: {name} must hold one entry for each node")
        if self.roots.shape != self.weights.shape or not len(self.roots):
            raise ClassifierError("tree ensemble: one root and one weight for each tree")
        if self.roots[0] != 0 or (np.diff(self.roots) <= 0).any() or self.roots[-1] >= n:
            raise ClassifierError("tree ensemble: nodes must be stored tree by tree, root first")
        if self.column.max(initial=-1) >= self.n_columns:
            raise ClassifierError("tree ensemble: a node tests a column that does not exist")
        leaf = self.column < 0
        if not np.isfinite(self.value[leaf]).all() or not np.isfinite(self.base):
            raise ClassifierError("tree ensemble: leaf values and base score must be finite")

    @property
    def n_trees(self) -> int:
        """Number T of trees."""
        return len(self.roots)

    # -- evaluation ------------------------------------------------------------------------

    @cached_property
    def _walk(self) -> tuple[NDArray[np.int64], ...]:
        """Arrays in which a leaf leads to itself, so that all paths have one length."""
        leaf, own = self.column < 0, np.arange(len(self.column))
        left, right = np.where(leaf, own, self.left), np.where(leaf, own, self.right)
        return np.where(leaf, 0, self.column), left, right

    @cached_property
    def depth(self) -> int:
        """Largest number of tests above a leaf."""
        level, depth = self.roots, 0
        while True:
            level = level[self.column[level] >= 0]
            if not len(level):
                return depth
            level, depth = np.concatenate([self.left[level], self.right[level]]), depth + 1

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the leaf (node number) that each row reaches in each tree, shape (S, T).

        Raises
        ------
        DataError
            For a missing value where the estimator takes none.
        """
        X = np.ascontiguousarray(np.atleast_2d(np.asarray(X, dtype=float)))
        if X.shape[1] != self.n_columns:
            raise DataError(f"{X.shape[1]} encoded columns given, {self.n_columns} expected")
        missing = np.isnan(X)
        if missing.any() and self.missing_left is None:
            row, column = np.argwhere(missing)[0]
            raise DataError(
                f"row {row}, encoded column {column}: missing value, which this classifier does "
                "not take; fill or drop it"
            )
        column, left, right = self._walk
        out = np.empty((len(X), self.n_trees), dtype=np.int64)
        step = max(1, _BLOCK // self.n_trees)
        for start in range(0, len(X), step):
            rows = X[start : start + step]
            flat = rows.ravel()
            origin = (np.arange(len(rows)) * self.n_columns)[:, None]
            at = np.broadcast_to(self.roots, (len(rows), self.n_trees)).copy()
            for _ in range(self.depth):
                x = flat[origin + column[at]]
                low = x <= self.threshold[at]
                if self.missing_left is not None:
                    low |= np.isnan(x) & self.missing_left[at]
                at = np.where(low, left[at], right[at])
            out[start : start + step] = at
        return out

    def decision(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) for rows of shape (S, D).

        A missing value goes where the estimator sends it.

        Raises
        ------
        DataError
            For a missing value where the estimator takes none.
        """
        values = self.value[self.apply(X)]
        if not self.single_precision:
            return np.asarray(values @ self.weights + self.base)
        terms = np.empty((len(values), self.n_trees + 1), dtype=np.float32)
        terms[:, 0], terms[:, 1:] = self.base, values * self.weights
        return np.add.accumulate(terms, axis=1)[:, -1].astype(float)

    @cached_property
    def rounding(self) -> float:
        """Bound on how far :meth:`decision` is from the exact sum of its terms.

        A method that adds up leaf values on its own must ask for this much more.
        """
        tree = np.repeat(np.arange(self.n_trees), np.diff(np.append(self.roots, len(self.value))))
        size = np.zeros(self.n_trees)
        leaf = self.column < 0
        np.maximum.at(size, tree[leaf], np.abs(self.value[leaf]))
        partial = abs(self.base) + np.cumsum(np.abs(self.weights) * size)
        if self.single_precision:  # one rounding of each partial sum
            return float(partial.sum()) * 2.0**-24 * (1 + self.n_trees * 2.0**-23)
        return float(partial[-1]) * (self.n_trees + 2) * 2.0**-53

    # -- structure -------------------------------------------------------------------------

    @cached_property
    def _cells(self) -> dict[int, tuple[NDArray[np.float64], ...]]:
        cells: dict[int, tuple[NDArray[np.float64], ...]] = {}
        # a split at infinity only tells missing values from all others
        splits = (self.column >= 0) & np.isfinite(self.threshold)
        for column in np.unique(self.column[splits]):
            nodes = np.flatnonzero(splits & (self.column == column))
            thresholds, first = np.unique(self.threshold[nodes], return_index=True)
            lower = self.closest_left[nodes[first]]
            upper = self.closest_right[nodes[first]]
            # a neighbouring threshold may be nearer than the value chosen for this one
            lower[1:] = np.maximum(lower[1:], np.nextafter(thresholds[:-1], np.inf))
            upper[:-1] = np.minimum(upper[:-1], thresholds[1:])
            cells[int(column)] = (thresholds, lower, upper)
        return cells

    def thresholds(self, column: int) -> NDArray[np.float64]:
        """Return the distinct split thresholds of one encoded column, ascending."""
        return self._cells[column][0] if column in self._cells else np.empty(0)

    def neighbours(self, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values closest to each threshold of one column, left and right of it.

        Between consecutive thresholds a < b lie the values from ``right of a`` to ``left of
        b``, which is never an empty range.
        """
        if column not in self._cells:
            return np.empty(0), np.empty(0)
        _, lower, upper = self._cells[column]
        return lower, upper

    def _position(self, column: int, threshold: float) -> int:
        thresholds = self.thresholds(column)
        at = int(np.searchsorted(thresholds, threshold))
        if at == len(thresholds) or thresholds[at] != threshold:
            raise ClassifierError(
                f"encoded column {column} is not split at {threshold!r}; take a value of "
                "thresholds(column)"
            )
        return at

    def value_left_of(self, column: int, threshold: float) -> float:
        """Return the encoded value nearest to a threshold that the model sends left.

        Raises
        ------
        ClassifierError
            When the column is not split there.
        """
        at = self._position(column, threshold)
        return float(self.neighbours(column)[0][at])

    def value_right_of(self, column: int, threshold: float) -> float:
        """Return the encoded value nearest to a threshold that the model sends right.

        Raises
        ------
        ClassifierError
            When the column is not split there.
        """
        at = self._position(column, threshold)
        return float(self.neighbours(column)[1][at])

    def leaves(self) -> list[Leaf]:
        """Return all leaves that some point reaches, tree by tree, with their boxes."""
        found: list[Leaf] = []
        for tree, root in enumerate(self.roots):
            stack: list[tuple[int, dict[int, float], dict[int, float]]] = [(int(root), {}, {})]
            while stack:
                node, above, up_to = stack.pop()
                column = int(self.column[node])
                if column < 0:
                    value = float(self.weights[tree] * self.value[node])
                    found.append(Leaf(tree, node, value, above, up_to))
                    continue
                cut = float(self.threshold[node])
                low, high = above.get(column, -np.inf), up_to.get(column, np.inf)
                if cut < high:
                    tighter = above if cut <= low else above | {column: cut}
                    stack.append((int(self.right[node]), tighter, up_to))
                if cut > low:
                    tighter = up_to if cut >= high else up_to | {column: cut}
                    stack.append((int(self.left[node]), above, tighter))
        return found
