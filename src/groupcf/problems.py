"""Problem statements: frozen, and free of any solver (models.md sections 0 to 4)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupcf.checks import instance_of, number, whole
from groupcf.classifiers.scores import Score
from groupcf.constraints import check_instances
from groupcf.costs import Cost
from groupcf.errors import ConfigError, DataError, UnsupportedProblemError
from groupcf.features import FeatureSpace

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


Allocation = OneForOne | OneForMany


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
    allocation : OneForOne or OneForMany
    cost : Cost

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

    def __post_init__(self) -> None:
        instance_of("space", self.space, FeatureSpace)
        instance_of("allocation", self.allocation, OneForOne, OneForMany)
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
