"""Problem statements: frozen, and free of any solver (models.md sections 0 to 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Real
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from groupcf.checks import instance_of, listed, number, whole
from groupcf.classifiers.scores import Score
from groupcf.constraints import check_instances
from groupcf.costs import Cost
from groupcf.errors import ConfigError, DataError, UnsupportedProblemError
from groupcf.features import CHANGE_TOLERANCE, FeatureSpace, Kind
from groupcf.linking import Apart, DistinctFeatures, Linking

SCORE_MARGIN = 1e-9
"""Counterfactuals must exceed phi^-1(nu) by this much, so that the fitted classifier's own
predict, which breaks a tie at probability 1/2 against the wanted class, agrees."""


@dataclass(frozen=True)
class OneForOne:
    """One counterfactual for each instance (CEsep, ColCE; models.md section 1).

    Attributes
    ----------
    s_star : int or None
        How many instances must flip (S*); the dearest others stay. None: all.
    f_max : int or None
        At most so many features changed over the whole group. None: no limit.
    max_changed : int or None
        At most so many features changed per instance. None: no limit.
    """

    s_star: int | None = None
    f_max: int | None = None
    max_changed: int | None = None

    def __post_init__(self) -> None:
        for name in ("s_star", "f_max", "max_changed"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))


@dataclass(frozen=True)
class ManyForOne:
    """Several counterfactuals for each instance, made different (models.md section 2).

    At least one of `ranges`, `apart` and `distinct_features` says what makes them different.

    Attributes
    ----------
    count : int or None
        R, how many for each instance; with `ranges` one for each range.
    feature : str or None
        Name of a numerical, integer or ordinal feature.
    ranges : tuple of (float, float)
        The r-th counterfactual's value of that feature lies above the r-th lower end and not
        above its upper end, in the user's own unit (codes of an ordinal feature); the ends
        may be infinite.
    apart : float or None
        Least distance between two counterfactuals of one instance.
    distinct_features : bool
        No two counterfactuals of one instance change the same set of features.
    max_changed : int or None
        At most so many features changed per counterfactual. None: no limit.
    """

    count: int | None = None
    feature: str | None = None
    ranges: tuple[tuple[float, float], ...] = ()
    apart: float | None = None
    distinct_features: bool = False
    max_changed: int | None = None

    def __post_init__(self) -> None:
        if self.max_changed is not None:
            whole("max_changed", self.max_changed)
        object.__setattr__(self, "ranges", _ranges(self.ranges))
        if (self.feature is None) != (not self.ranges):
            raise ConfigError("feature, ranges: give both or neither")
        if self.apart is not None and number("apart", self.apart) <= 0:
            raise ConfigError(f"apart: {self.apart!r} must be greater than 0")
        instance_of("distinct_features", self.distinct_features, bool)
        if self.count is not None:
            object.__setattr__(self, "count", whole("count", self.count, minimum=1))
            if self.ranges and self.count != len(self.ranges):
                raise ConfigError(f"count: {self.count}, but {len(self.ranges)} ranges are given")
        elif not self.ranges:
            raise ConfigError("count: say how many counterfactuals each instance is given")
        if not self.ranges and self.apart is None and not self.distinct_features:
            raise ConfigError(
                "ranges, apart, distinct_features: say what makes the counterfactuals different"
            )

    @property
    def each(self) -> int:
        """Number R of counterfactuals of one instance."""
        return self.count or len(self.ranges)


def _ranges(ranges: object) -> tuple[tuple[float, float], ...]:
    """Return ranges as pairs of numbers that do not overlap."""
    pairs = []
    for entry in listed("ranges", ranges):
        ends = listed("ranges, entry", entry)
        for end in ends:
            if isinstance(end, bool) or not isinstance(end, Real) or math.isnan(end):
                raise ConfigError(f"ranges: {end!r} in {entry!r} is not a number")
        if len(ends) != 2:
            raise ConfigError(f"ranges: {entry!r} is not a pair (above, up to)")
        if not ends[0] < ends[1]:
            raise ConfigError(f"ranges: ({ends[0]}, {ends[1]}] is empty")
        pairs.append((float(ends[0]), float(ends[1])))
    for below, above in pairwise(sorted(pairs)):
        if above[0] < below[1]:
            raise ConfigError(
                f"ranges: ({below[0]}, {below[1]}] and ({above[0]}, {above[1]}] overlap; "
                "counterfactuals in both would not be different"
            )
    return tuple(pairs)


@dataclass(frozen=True)
class OneForMany:
    """A few shared counterfactuals (models.md sections 3 and 4).

    Attributes
    ----------
    fewest : bool
        Minimise the number of counterfactuals (section 4, sparse one-for-many).
    max_changed : int or None
        J_max: at most so many features changed over all instances that share one
        counterfactual. None: no limit.
    count : int or None
        R, where the number of counterfactuals is given (`fewest` False).
    """

    fewest: bool = True
    max_changed: int | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if self.max_changed is not None:
            whole("max_changed", self.max_changed)
        if self.count is not None:
            whole("count", self.count, minimum=1)
        if self.fewest == (self.count is not None):
            raise ConfigError("fewest, count: ask for the fewest, or give how many, not both")


TIED = "it solves instances apart, and linking constraints or value ranges tie them"
"""Why an exact method refuses a problem."""

Allocation = OneForOne | ManyForOne | OneForMany


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the least costly counterfactuals of a group.

    Attributes
    ----------
    space : FeatureSpace
    score : Score
        The classifier, oriented towards the wanted class.
    instances : ndarray of shape (S, D)
        Encoded instances x0.
    threshold : float
        Score that a counterfactual must reach: phi^-1(nu).
    allocation : OneForOne, ManyForOne or OneForMany
    cost : Cost
    linking : tuple of Linking
        What ties the counterfactuals of the group together (one-for-one only).
    within : (ndarray, ndarray) or None
        Lower and upper encoded values, each of shape (S, D), that the counterfactuals must
        keep to; an instance itself need not (one-for-one only).

    Raises
    ------
    DataError, ConfigError
        When the parts do not fit together; the message names the culprit.
    """

    space: FeatureSpace
    score: Score
    instances: NDArray[np.float64]
    threshold: float
    allocation: Allocation = field(default_factory=OneForOne)
    cost: Cost = field(default_factory=Cost)
    linking: tuple[Linking, ...] = ()
    within: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def __post_init__(self) -> None:
        instance_of("space", self.space, FeatureSpace)
        instance_of("allocation", self.allocation, OneForOne, ManyForOne, OneForMany)
        instance_of("cost", self.cost, Cost)
        number("threshold", self.threshold)
        instances = np.ascontiguousarray(np.atleast_2d(np.asarray(self.instances, dtype=float)))
        object.__setattr__(self, "instances", instances)
        check_instances(self.space, instances)
        if len(instances) == 0:
            raise DataError("no instances: the group to be explained is empty")
        if self.score.n_columns != self.space.n_columns:
            raise DataError(
                f"the classifier reads {self.score.n_columns} columns, "
                f"the feature space has {self.space.n_columns}"
            )
        s_star = self._s_star
        if s_star is not None and s_star > len(instances):
            raise ConfigError(f"s_star: {s_star} exceeds the {len(instances)} instances")
        object.__setattr__(self, "linking", listed("linking", self.linking))
        for constraint in self.linking:
            instance_of("linking", constraint, *get_args(Linking))
        self._check_extras()

    def _check_extras(self) -> None:
        if isinstance(self.allocation, ManyForOne) and self.allocation.feature is not None:
            if self.allocation.feature not in self.space.names:
                raise ConfigError(
                    f"ManyForOne, feature: no feature {self.allocation.feature!r}; features are "
                    f"{self.space.names}"
                )
            feature = self.space.features[self.space.index(self.allocation.feature)]
            if feature.kind in (Kind.NOMINAL, Kind.BINARY):
                raise ConfigError(f"feature: {feature.name!r} is {feature.kind}, without ranges")
        if not self.tied:
            return
        if not isinstance(self.allocation, OneForOne):
            raise ConfigError("linking: give it with the one-for-one allocation")
        if self.flips < self.n_instances:
            raise ConfigError(
                "linking, s_star: constraints between counterfactuals need every instance to flip; "
                "leave s_star out"
            )
        for constraint in self.linking:
            constraint.check(self.space, self.n_instances)

    @property
    def tied(self) -> bool:
        """Whether instances cannot be solved apart, or not within their own bounds."""
        return bool(self.linking) or self.within is not None

    @property
    def _s_star(self) -> int | None:
        return self.allocation.s_star if isinstance(self.allocation, OneForOne) else None

    @property
    def one_for_one(self) -> OneForOne:
        """The allocation, where it is one-for-one.

        Raises
        ------
        UnsupportedProblemError
            For another allocation rule.
        """
        if not isinstance(self.allocation, OneForOne):
            raise UnsupportedProblemError(
                f"allocation: this method is for OneForOne, not {type(self.allocation).__name__}"
            )
        return self.allocation

    @property
    def n_instances(self) -> int:
        """Number S of instances."""
        return len(self.instances)

    @property
    def target(self) -> float:
        """Score that the methods aim at: the threshold and a margin against rounding."""
        return self.threshold + SCORE_MARGIN * max(1.0, abs(self.threshold))

    @property
    def flips(self) -> int:
        """Number of instances that must flip."""
        s_star = self._s_star
        return self.n_instances if s_star is None else s_star


def one_by_one(problem: Problem) -> Problem:
    """State a many-for-one problem as one-for-one, a row for each (instance, counterfactual).

    Row ``s * R + r`` is the r-th counterfactual of instance s.

    Raises
    ------
    UnsupportedProblemError
        For another allocation rule.
    """
    rule = problem.allocation
    if not isinstance(rule, ManyForOne):
        raise UnsupportedProblemError("allocation: this is for ManyForOne")
    space, n, each = problem.space, problem.n_instances, rule.each
    lower, upper = (np.full((n * each, space.n_columns), end) for end in (-np.inf, np.inf))
    if rule.feature is not None:
        j = space.index(rule.feature)
        feature, at = space.features[j], space.blocks[j].start
        for r, (low, high) in enumerate(rule.ranges):
            ends = np.array([low, high], dtype=float)
            if feature.kind is Kind.INTEGER:
                ends = np.floor(ends) + 0.5
            ends = (ends - feature.offset) / feature.scale
            # above the lower end: far enough for two neighbouring ranges to differ
            lower[r::each, at] = ends[0] + 2 * CHANGE_TOLERANCE
            upper[r::each, at] = ends[1]
    linking: list[Linking] = []
    for s in range(n if each > 1 else 0):
        rows = tuple(range(s * each, (s + 1) * each))
        if rule.apart is not None:
            linking.append(Apart(rows, rule.apart))
        if rule.distinct_features:
            linking.append(DistinctFeatures(rows))
    return replace(
        problem,
        instances=np.repeat(problem.instances, each, axis=0),
        allocation=OneForOne(max_changed=rule.max_changed),
        linking=tuple(linking),
        within=(lower, upper),
    )
