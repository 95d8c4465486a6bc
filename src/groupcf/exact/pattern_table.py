"""A group as a table of value numbers: what the pattern methods work on (models.md section 4).

With discrete features a cluster (x, F, T) is a *pattern*: T holds the rows that agree with x
outside F and may take its values inside. Equal instances are one row here, and every value that
a row has or may take is a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.scores import LinearScore, Score
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.constraints import options
from groupcf.errors import UnsupportedProblemError
from groupcf.features import CHANGE_TOLERANCE, Feature, FeatureSpace, Kind
from groupcf.problems import OneForMany, Problem


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct instances and what each may become, in value numbers.

    Value v of feature j stands at ``start[j] + v`` of a flat array. Values that instances have
    come first, so that own values are numbers below ``owned[j]``.

    Attributes
    ----------
    space : FeatureSpace
    values : tuple of ndarray
        Encoded values by feature; positions of categories for a nominal one.
    start : ndarray of shape (J + 1,) of int
    owned : ndarray of shape (J,) of int
    codes : ndarray of shape (n, J) of int
        Values of the n distinct rows.
    multiplicity : ndarray of shape (n,) of int
        How many instances each row stands for.
    row : ndarray of shape (S,) of int
        Row of each instance.
    permitted : ndarray of bool, flat
        Whether a row with own value o may take value v: at ``block[j] + o * V_j + v``.
    block : ndarray of shape (J,) of int
    restricted : ndarray of shape (J,) of bool
        Features in which not every row may take every value.
    max_changed : int
        J_max, at most J.
    """

    space: FeatureSpace
    values: tuple[NDArray[np.float64], ...]
    start: NDArray[np.int64]
    owned: NDArray[np.int64]
    codes: NDArray[np.int32]
    multiplicity: NDArray[np.int64]
    row: NDArray[np.int64]
    permitted: NDArray[np.bool_]
    block: NDArray[np.int64]
    restricted: NDArray[np.bool_]
    max_changed: int

    @classmethod
    def of(cls, problem: Problem) -> PatternTable:
        """Build the table of a problem.

        Raises
        ------
        UnsupportedProblemError
            For another allocation, or a feature that is not discrete; the message names it.
        """
        allocation = problem.allocation
        if not isinstance(allocation, OneForMany) or not allocation.fewest:
            raise UnsupportedProblemError(
                "allocation: sparse one-for-many is OneForMany(fewest=True, max_changed=...)"
            )
        space = problem.space
        for feature in space.features:
            if not feature.discrete:
                raise UnsupportedProblemError(
                    f"feature {feature.name!r} is continuous; sparse one-for-many needs discrete "
                    "features: put it in bins, or give allowed= values"
                )
        values, numbers, permitted = [], [], []
        for j, feature in enumerate(space.features):
            block = problem.instances[:, space.blocks[j]]
            own = block.argmax(axis=1) if feature.kind is Kind.NOMINAL else block[:, 0]
            known, code = _merged(own.astype(float))
            table = _permissions(feature, known)
            keep = _kept(problem.score, space, j, table[0], len(known), table[1])
            values.append(table[0][keep])
            permitted.append(table[1][:, keep])
            numbers.append(code)
        codes, row, count = np.unique(
            np.column_stack(numbers), axis=0, return_inverse=True, return_counts=True
        )
        limit = space.n_features if allocation.max_changed is None else allocation.max_changed
        sizes = [len(v) for v in values]
        return cls(
            space=space,
            values=tuple(values),
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            owned=np.array([len(p) for p in permitted], dtype=np.int64),
            codes=np.ascontiguousarray(codes, dtype=np.int32),
            multiplicity=count.astype(np.int64),
            row=row.reshape(-1).astype(np.int64),
            permitted=np.concatenate([p.ravel() for p in permitted]),
            block=np.concatenate([[0], np.cumsum([p.size for p in permitted])[:-1]]).astype(int),
            restricted=np.array([not p.all() for p in permitted]),
            max_changed=min(limit, space.n_features),
        )

    @property
    def n_rows(self) -> int:
        """Number n of distinct rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number J of features."""
        return int(self.codes.shape[1])

    @cached_property
    def domain(self) -> float:
        """Number of points that the values of all features make."""
        return float(np.prod([float(len(v)) for v in self.values]))

    def points(self, codes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return encoded points of value numbers of shape (R, J), shape (R, D)."""
        codes = np.atleast_2d(codes)
        X = np.zeros((len(codes), self.space.n_columns))
        for j, (feature, block) in enumerate(
            zip(self.space.features, self.space.blocks, strict=True)
        ):
            value = self.values[j][codes[:, j]]
            if feature.kind is Kind.NOMINAL:
                X[np.arange(len(X)), block.start + value.astype(np.int64)] = 1.0
            else:
                X[:, block.start] = value
        return X

    def may_take(self, j: int) -> NDArray[np.bool_]:
        """Return which own value may take which value of feature j, shape (owned[j], V_j)."""
        width = len(self.values[j])
        size = int(self.owned[j]) * width
        return self.permitted[self.block[j] : self.block[j] + size].reshape(-1, width)


def _merged(own: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct own values and the number of each; rounding makes no difference."""
    known, code = np.unique(own, return_inverse=True)
    first = np.concatenate([[True], np.diff(known) > CHANGE_TOLERANCE])
    return known[first], (np.cumsum(first) - 1)[code]


def _permissions(
    feature: Feature, known: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return all values, own ones first, and which own value may take which."""
    choices = [options(feature, int(o) if feature.kind is Kind.NOMINAL else o) for o in known]
    every = np.unique(np.concatenate(choices))
    new = every[np.abs(every[:, None] - known).min(axis=1) > CHANGE_TOLERANCE]
    values = np.concatenate([known, new[np.diff(new, prepend=-np.inf) > CHANGE_TOLERANCE]])
    table = np.array([np.abs(values[:, None] - c).min(axis=1) <= CHANGE_TOLERANCE for c in choices])
    return values, table


def _kept(
    score: Score,
    space: FeatureSpace,
    j: int,
    values: NDArray[np.float64],
    owned: int,
    permitted: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the values worth keeping: one of several that no row has and no score tells apart.

    For a linear score the best of those that the same rows may take; for trees one of those
    that every split sends the same way.
    """
    feature, column = space.features[j], space.blocks[j].start
    sides = permitted.T.astype(np.float64)
    gain = np.zeros(len(values))
    if isinstance(score, LinearScore):
        weights = score.weights[space.blocks[j]]
        nominal = feature.kind is Kind.NOMINAL
        gain = weights[values.astype(np.int64)] if nominal else weights[0] * values
    elif isinstance(score, TreeEnsembleScore) and feature.kind is not Kind.NOMINAL:
        cell = np.searchsorted(score.thresholds(column), values, side="left")
        sides = np.column_stack([sides, cell])
    else:
        return np.arange(len(values))
    order = owned + np.argsort(-gain[owned:], kind="stable")
    _, first = np.unique(sides[order], axis=0, return_index=True)
    return np.concatenate([np.arange(owned), np.sort(order[first])]).astype(np.int64)
