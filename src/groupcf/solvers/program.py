"""A mathematical program as arrays: what a model is turned into before any solver sees it.

One form serves all solvers, travels to another process without the modelling layer, and
says what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from groupcf.solvers.base import Capability

_LARGEST_BLOCK = 4000


@dataclass(frozen=True)
class Quadratic:
    """The form ``sum_k v[k] x[i[k]] x[j[k]]``; a pair may occur in either order.

    Attributes
    ----------
    i, j : ndarray of shape (q,) of int
    v : ndarray of shape (q,)
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    v: NDArray[np.float64]

    def value(self, x: NDArray[np.float64]) -> float:
        """Return the value at x."""
        return float(np.sum(self.v * x[self.i] * x[self.j]))

    def scaled(self, factor: float) -> Quadratic:
        """Return the form times a factor."""
        return Quadratic(self.i, self.j, factor * self.v)

    def convex(self) -> bool:
        """Whether the form is positive semidefinite, up to 1e-9 of its largest eigenvalue.

        Judged by a Cholesky factorisation of each connected block of variables; a block of
        more than 4000 variables counts as not convex.
        """
        if np.all(self.i == self.j):
            variables, place = np.unique(self.i, return_inverse=True)
            sums = np.bincount(place, self.v, len(variables))
            return bool(np.all(sums >= -1e-9 * np.abs(sums).max(initial=0.0)))
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        used, place = np.unique(np.concatenate([self.i, self.j]), return_inverse=True)
        row, column = place[: len(self.i)], place[len(self.i) :]
        half = sparse.coo_matrix((self.v / 2, (row, column)), shape=(len(used), len(used)))
        matrix = (half + half.T).tocsr()
        count, label = connected_components(matrix, directed=False)
        order = np.argsort(label, kind="stable")
        for members in np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1]):
            if len(members) > _LARGEST_BLOCK:
                return False
            block = matrix[members][:, members].toarray()
            slack = 1e-9 * float(np.abs(block).sum(axis=1).max())
            if slack == 0:
                continue
            try:
                np.linalg.cholesky(block + slack * np.eye(len(members)))
            except np.linalg.LinAlgError:
                return False
        return True


@dataclass(frozen=True)
class Rows:
    """Linear rows ``lower <= A x <= upper`` in compressed row form.

    Attributes
    ----------
    start : ndarray of shape (m + 1,) of int
    index : ndarray of shape (nnz,) of int
    value : ndarray of shape (nnz,)
    lower, upper : ndarray of shape (m,)
    """

    start: NDArray[np.int64]
    index: NDArray[np.int64]
    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lower)

    def row(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return columns and coefficients of row k."""
        part = slice(self.start[k], self.start[k + 1])
        return self.index[part], self.value[part]

    @classmethod
    def stack(cls, rows: list[tuple[NDArray[np.int64], NDArray[np.float64], float, float]]) -> Rows:
        """Build from (columns, coefficients, lower, upper) of each row."""
        lengths = [len(columns) for columns, _, _, _ in rows]
        return cls(
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            np.concatenate([r[0] for r in rows]).astype(np.int64) if rows else np.empty(0, int),
            np.concatenate([r[1] for r in rows]).astype(float) if rows else np.empty(0),
            np.array([r[2] for r in rows], dtype=np.float64),
            np.array([r[3] for r in rows], dtype=np.float64),
        )


@dataclass(frozen=True)
class QuadraticRow:
    """The row ``lower <= quadratic(x) + value.x[index] <= upper``."""

    quadratic: Quadratic
    index: NDArray[np.int64]
    value: NDArray[np.float64]
    lower: float
    upper: float

    def convex(self) -> bool:
        """Whether the points that satisfy the row form a convex set, by the signs alone."""
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return False
        return self.quadratic.scaled(1.0 if np.isfinite(self.upper) else -1.0).convex()


@dataclass(frozen=True)
class SpecialSet:
    """At most `kind` members, next to each other by weight, may differ from zero."""

    kind: int
    index: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class IndicatorRow:
    """The row ``lower <= value.x[index] <= upper`` holds if ``x[binary] == active``."""

    binary: int
    active: bool
    index: NDArray[np.int64]
    value: NDArray[np.float64]
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class Program:
    """Minimise or maximise ``c.x + quadratic(x) + offset`` over rows, bounds and sets.

    Attributes
    ----------
    names : tuple of str
        Names of the n variables, for messages.
    c, lower, upper : ndarray of shape (n,)
    integer : ndarray of shape (n,) of bool
    rows : Rows
    offset : float
    maximise : bool
    quadratic : Quadratic or None
    quadratic_rows, sets, indicators : tuple
    contradiction : str
        Why the program is infeasible on its face; empty if it is not.
    """

    names: tuple[str, ...]
    c: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    rows: Rows
    offset: float = 0.0
    maximise: bool = False
    quadratic: Quadratic | None = None
    quadratic_rows: tuple[QuadraticRow, ...] = ()
    sets: tuple[SpecialSet, ...] = ()
    indicators: tuple[IndicatorRow, ...] = field(default=())
    contradiction: str = ""

    def value(self, x: NDArray[np.float64]) -> float:
        """Return the objective at x."""
        curved = 0.0 if self.quadratic is None else self.quadratic.value(x)
        return float(self.c @ x) + curved + self.offset

    def minimised(self) -> Program:
        """Return the same program as a minimisation without offset."""
        if not self.maximise:
            return replace(self, offset=0.0)
        curved = None if self.quadratic is None else self.quadratic.scaled(-1.0)
        return replace(self, c=-self.c, quadratic=curved, offset=0.0, maximise=False)

    def without_costs(self) -> Program:
        """Return the question whether there is a feasible point."""
        return replace(self, c=np.zeros_like(self.c), quadratic=None, offset=0.0)

    def needs(self) -> frozenset[Capability]:
        """Return what a solver must be able to take."""
        mixed = bool(self.integer.any())
        needs = set()
        if mixed:
            needs.add(Capability.MILP)
        if not mixed or not self.integer.all():
            needs.add(Capability.LP)
        if self.quadratic is not None:
            needs.add(Capability.QP)
            if mixed:
                needs.add(Capability.MIQP)
            if not self.quadratic.scaled(-1.0 if self.maximise else 1.0).convex():
                needs.add(Capability.NONCONVEX)
        if self.quadratic_rows:
            needs.add(Capability.QCP)
            if mixed:
                needs.add(Capability.MIQCP)
            if not all(row.convex() for row in self.quadratic_rows):
                needs.add(Capability.NONCONVEX)
        for kind, capability in ((1, Capability.SOS1), (2, Capability.SOS2)):
            if any(s.kind == kind for s in self.sets):
                needs.add(capability)
        if self.indicators:
            needs.add(Capability.INDICATOR)
        return frozenset(needs)
