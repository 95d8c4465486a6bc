"""Move the splits of an ensemble from the estimator's columns to encoded columns.

A split of the estimator compares, in its own precision, what its preprocessing makes of a
value. Seen from the encoded column that is a step function of a double, and the place of
its step is found by bisection over the doubles: exact whatever the rounding on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.inputs import Inputs, Listed, Measured
from groupcf.classifiers.scores import Link
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import ClassifierError
from groupcf.features import Feature, FeatureSpace, Kind

MAX_GROWTH = 50
"""Splits on sets of categories repeat subtrees; refuse ensembles that grow beyond this."""


class Rule(Enum):
    """When an estimator sends a value z left at a split c."""

    AT_MOST_SINGLE = "float32(z) <= c"  # scikit-learn's trees and forests
    BELOW_SINGLE = "float32(z) < float32(c)"  # XGBoost
    AT_MOST_DOUBLE = "z <= c"  # scikit-learn's histogram gradient boosting

    def seen(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number that is compared."""
        if self is Rule.AT_MOST_DOUBLE:
            return z
        with np.errstate(over="ignore"):
            return z.astype(np.float32).astype(float)

    def left(self, z: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether z goes left."""
        seen = self.seen(z)
        return np.asarray(seen < c if self is Rule.BELOW_SINGLE else seen <= c)


@dataclass(frozen=True, eq=False)
class NativeTrees:
    """An ensemble as its estimator stores it, oriented towards the wanted class.

    Attributes are those of :class:`TreeEnsembleScore`, except that `column` counts the
    estimator's own columns, `threshold` is compared by `rule`, and `zeros_missing` says
    that zeros of a sparse matrix are taken for missing values.
    """

    column: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]
    weights: NDArray[np.float64]
    base: float
    link: Link
    rule: Rule
    missing_left: NDArray[np.bool_] | None = None
    single_precision: bool = False
    zeros_missing: bool = False


@dataclass(frozen=True)
class _Test:
    """If the encoded column is low (or high), leave for the child `side`; else go on."""

    column: int
    threshold: float
    exit_low: bool
    side: int
    closest_left: float
    closest_right: float


@dataclass(frozen=True)
class _Plan:
    """Tests that together take the decision of one split; `rest` is the child otherwise."""

    tests: tuple[_Test, ...]
    rest: int


def last_where(
    holds: Callable[[NDArray[np.float64]], NDArray[np.bool_]], size: int
) -> NDArray[np.float64]:
    """Return the largest double for which a condition holds, elementwise.

    Parameters
    ----------
    holds : callable
        From doubles of shape (size,) to booleans; true up to some value, false above.
    size : int

    Returns
    -------
    ndarray of shape (size,)
        -inf where it never holds, +inf where it always does.
    """
    greatest = np.full(size, np.finfo(float).max)
    with np.errstate(over="ignore"):
        never, always = ~holds(-greatest), holds(greatest)
        low, high = _rank(-greatest), _rank(greatest)
        for _ in range(64):  # as many halvings as a double has bits
            middle = low + (high - low) // np.uint64(2)
            yes = holds(_unrank(middle))
            low, high = np.where(yes, middle, low), np.where(yes, high, middle)
    return np.where(never, -np.inf, np.where(always, np.inf, _unrank(low)))


_SIGN = np.uint64(1 << 63)


def _rank(x: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the position of each double in ascending order."""
    bits = np.ascontiguousarray(x, dtype=float).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _unrank(rank: NDArray[np.uint64]) -> NDArray[np.float64]:
    bits = np.where(rank & _SIGN, rank ^ _SIGN, ~rank)
    return bits.view(np.float64)


def valid_points(feature: Feature) -> NDArray[np.float64] | None:
    """Return the encoded values of a discrete feature's column, or None if continuous."""
    if feature.kind is Kind.NUMERICAL:
        return None
    if feature.kind is Kind.NOMINAL:
        return np.array([0.0, 1.0])
    return replace(feature, allowed=None).values()


def _closest(
    column: Measured, rule: Rule, cuts: NDArray[np.float64], points: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which values to take left and right of each cut (last double on the left)."""

    def seen(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return rule.seen(column(x))

    first = np.nextafter(cuts, np.inf)
    with np.errstate(over="ignore"):
        own, other = seen(cuts), seen(first)
    start = last_where(lambda x: seen(x) < own, len(cuts))
    end = last_where(lambda x: seen(x) <= other, len(cuts))
    start, end = np.where(np.isfinite(start), start, cuts), np.where(np.isfinite(end), end, first)
    left = start + (cuts - start) / 2
    left = np.where(left > start, left, cuts)
    right = first + (end - first) / 2
    if points is not None and len(points):
        at = np.searchsorted(points, cuts, side="right")
        left = np.where(at > 0, points[np.maximum(at - 1, 0)], left)
        right = np.where(at < len(points), points[np.minimum(at, len(points) - 1)], right)
    return left, right


def _runs(runs: list[tuple[float, int]], rest: int) -> tuple[list[tuple[float, int]], int]:
    """Drop empty runs and join neighbours on the same side.

    Runs are (last double, side) in ascending order; `rest` is the side above all of them.
    """
    out: list[tuple[float, int]] = []
    previous = -np.inf
    for end, side in [*runs, (np.inf, rest)]:
        if end <= previous:
            continue
        if out and out[-1][1] == side:
            out.pop()
        out.append((end, side))
        previous = end
    return out[:-1], out[-1][1]


class _Planner:
    """Plans for all splits of one ensemble."""

    def __init__(self, native: NativeTrees, inputs: Inputs, space: FeatureSpace) -> None:
        self.native, self.space = native, space
        self.zeros = native.zeros_missing and inputs.sparse
        self.plans: dict[tuple[int, float, bool], _Plan] = {}
        for k, column in enumerate(inputs.columns):
            nodes = np.flatnonzero(native.column == k)
            if not len(nodes):
                continue
            missing = (
                np.zeros(len(nodes), dtype=bool)
                if native.missing_left is None
                else native.missing_left[nodes]
            )
            pairs = np.unique(np.stack([native.threshold[nodes], missing], axis=1), axis=0)
            make = self._measured if isinstance(column, Measured) else self._listed
            plans = make(column, pairs[:, 0], pairs[:, 1].astype(bool))  # type: ignore[arg-type]
            for (threshold, left), plan in zip(pairs, plans, strict=True):
                self.plans[k, float(threshold), bool(left)] = plan

    def by_node(self) -> list[_Plan | None]:
        """Return the plan of every node, None for a leaf."""
        native = self.native
        missing = (
            np.zeros(len(native.column), dtype=bool)
            if native.missing_left is None
            else native.missing_left
        )
        keys = zip(native.column.tolist(), native.threshold.tolist(), missing.tolist(), strict=True)
        return [self.plans[key] if key[0] >= 0 else None for key in keys]

    def _measured(
        self, column: Measured, thresholds: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> Iterator[_Plan]:
        rule = self.native.rule
        feature = self.space.features[self.space.owner[column.column]]
        cuts = last_where(lambda x: rule.left(column(x), thresholds), len(thresholds))
        below_zero = upto_zero = np.inf
        if self.zeros:
            zero = np.zeros(1)
            below_zero = float(last_where(lambda x: rule.seen(column(x)) < zero, 1)[0])
            upto_zero = float(last_where(lambda x: rule.seen(column(x)) <= zero, 1)[0])
        chains: list[tuple[list[tuple[float, int]], int]] = []
        for cut, left in zip(cuts.tolist(), missing.tolist(), strict=True):
            if not np.isfinite(cut):
                # all numbers on one side; the test stays if missing values go to the other
                side = 0 if cut > 0 else 1
                stays = self.native.missing_left is not None and left != (side == 0)
                chains.append(([(cut, 0)], 1) if stays else ([], side))
                continue
            runs = [(cut, 0)]
            zero_side = 0 if upto_zero <= cut else 1
            if self.zeros and below_zero < upto_zero and left != (zero_side == 0):
                inserted = [(below_zero, zero_side), (upto_zero, 1 - zero_side)]
                runs = inserted + runs if zero_side == 0 else runs + inserted
            chains.append(_runs(runs, 1))
        cuts = np.unique([end for runs, _ in chains for end, _ in runs if np.isfinite(end)])
        values = _closest(column, rule, cuts, valid_points(feature))
        nearest = {e: (a, b) for e, a, b in zip(cuts, *(v.tolist() for v in values), strict=True)}
        nearest |= {-np.inf: (-np.inf, -np.inf), np.inf: (np.inf, np.inf)}
        for runs, rest in chains:
            tests = tuple(_Test(column.column, e, True, s, *nearest[e]) for e, s in runs)
            yield _Plan(tests, rest)

    def _listed(
        self, column: Listed, thresholds: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> Iterator[_Plan]:
        feature, block = self.space.features[column.feature], self.space.blocks[column.feature]
        numbers = column.numbers()
        absent = np.isnan(numbers) | (self.zeros & (numbers == 0))
        if np.isnan(numbers).any() and self.native.missing_left is None:
            raise ClassifierError(
                f"feature {feature.name!r}: the encoder turns a category into a missing value, "
                "which this classifier does not take; give the encoder a finite unknown_value"
            )
        points = valid_points(feature)
        assert points is not None  # listed features are discrete
        ends = _between_codes(feature) if feature.kind is not Kind.NOMINAL else np.empty(0)
        for threshold, left in zip(thresholds, missing, strict=True):
            low = np.where(absent, left, self.native.rule.left(numbers, threshold))
            sides = np.where(low, 0, 1)
            if feature.kind is Kind.NOMINAL:
                rare = 1 if 2 * sides.sum() <= len(sides) else 0
                tests = [
                    _Test(block.start + int(c), 0.5, False, rare, 0.0, 1.0)
                    for c in np.flatnonzero(sides == rare)
                ]
                yield _Plan(tuple(tests), 1 - rare)
                continue
            changes = np.flatnonzero(np.diff(sides))
            tests = [
                _Test(block.start, float(ends[i]), True, int(sides[i]), points[i], points[i + 1])
                for i in changes
            ]
            yield _Plan(tuple(tests), int(sides[-1]))


def _between_codes(feature: Feature) -> NDArray[np.float64]:
    """Return the last encoded double that decodes to each category but the highest."""
    codes = np.asarray(feature.codes or range(len(feature.categories)), dtype=float)

    def category(x: NDArray[np.float64]) -> NDArray[np.int64]:
        raw = x * feature.scale + feature.offset
        return np.asarray(np.abs(raw[:, None] - codes[None, :]).argmin(axis=1))

    wanted = np.arange(len(codes) - 1)
    # beyond the outer codes nothing changes, and huge doubles would swamp the differences
    inside = (codes - feature.offset) / feature.scale

    def holds(x: NDArray[np.float64]) -> NDArray[np.bool_]:
        return category(np.clip(x, inside[0], inside[-1])) <= wanted

    return last_where(holds, len(wanted))


def fold_trees(native: NativeTrees, inputs: Inputs, space: FeatureSpace) -> TreeEnsembleScore:
    """Return the ensemble on encoded columns.

    Raises
    ------
    ClassifierError
        When splits on sets of categories blow the ensemble up.
    """
    plans = _Planner(native, inputs, space).by_node()
    children = list(zip(native.left.tolist(), native.right.tolist(), strict=True))
    values = native.value.tolist()
    missing = [False] * len(plans) if native.missing_left is None else native.missing_left.tolist()
    column: list[int] = []
    rows: list[tuple[float, float, float, float, bool]] = []
    left: list[int] = []
    right: list[int] = []
    roots: list[int] = []
    for root in native.roots.tolist():
        roots.append(len(column))
        stack: list[tuple[int, int, int, bool]] = [(root, 0, -1, False)]
        while stack:
            node, position, parent, is_left = stack.pop()
            while (plan := plans[node]) is not None and position == len(plan.tests):
                node, position = children[node][plan.rest], 0
            own = len(column)
            if own > MAX_GROWTH * len(plans):
                raise ClassifierError(
                    "the classifier splits on sets of categories so often that its trees cannot "
                    "be written as thresholds; fit it behind a OneHotEncoder"
                )
            if parent >= 0:
                (left if is_left else right)[parent] = own
            left.append(-1)
            right.append(-1)
            if plan is None:
                column.append(-1)
                rows.append((0.0, values[node], 0.0, 0.0, False))
                continue
            test = plan.tests[position]
            exit_if_missing = (test.side == 0) == missing[node]
            missing_left = test.exit_low == exit_if_missing
            column.append(test.column)
            rows.append((test.threshold, 0.0, test.closest_left, test.closest_right, missing_left))
            stack.append((node, position + 1, own, not test.exit_low))
            stack.append((children[node][test.side], 0, own, test.exit_low))
    numbers = np.array(rows, dtype=float)
    return TreeEnsembleScore(
        column=np.array(column, dtype=np.int64),
        threshold=numbers[:, 0].copy(),
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        value=numbers[:, 1].copy(),
        roots=np.array(roots, dtype=np.int64),
        weights=native.weights,
        base=native.base,
        n_columns=space.n_columns,
        link=native.link,
        closest_left=numbers[:, 2].copy(),
        closest_right=numbers[:, 3].copy(),
        missing_left=None if native.missing_left is None else numbers[:, 4].astype(bool),
        single_precision=native.single_precision,
    )
