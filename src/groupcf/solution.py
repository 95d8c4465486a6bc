"""What every solve answers: status, value, proven bound, gap, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

GAP_TOLERANCE = 1e-6
"""Relative gap at or below which a solution counts as proven optimal."""


class Status(StrEnum):
    """Outcome of a solve. Every one of them is an answer, none a traceback."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"  # incumbent found, optimality not proven (limit reached)
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    NO_INCUMBENT = "no_incumbent"  # limit reached before any incumbent
    SOLVER_MISSING = "solver_missing"
    LICENCE_MISSING = "licence_missing"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"

    @property
    def has_incumbent(self) -> bool:
        """Whether a solution with this status carries values."""
        return self in (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(frozen=True, slots=True)
class Progress:
    """One point of a solve's history.

    Attributes
    ----------
    seconds : float
        Time since the start of the solve.
    incumbent, bound : float or None
        Best value found and best proven lower bound at that time.
    iteration, columns : int or None
        Iteration and number of columns, for column generation.
    """

    seconds: float
    incumbent: float | None = None
    bound: float | None = None
    iteration: int | None = None
    columns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Status, value and certificate of a minimisation.

    Attributes
    ----------
    status : Status
    objective : float or None
        Value of the incumbent; None without one.
    bound : float or None
        Proven lower bound on the optimal value; None if none is known.
    method : str
        Name of the method that produced the answer.
    why : str
        Why the router chose that method.
    message : str
        What a person should know or do, in one or two sentences.
    seconds : float
        Wall-clock time of the solve, model building included.
    phases : mapping of str to float
        Seconds by phase.
    history : tuple of Progress
        Bound and incumbent against time.
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    method: str = ""
    why: str = ""
    message: str = ""
    seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    history: tuple[Progress, ...] = ()

    @property
    def gap(self) -> float | None:
        """Relative gap (objective - bound) / max(|objective|, 1e-9), never negative."""
        if self.objective is None or self.bound is None:
            return None
        if not math.isfinite(self.bound):
            return math.inf
        return max(0.0, (self.objective - self.bound) / max(abs(self.objective), 1e-9))


@dataclass(frozen=True, kw_only=True)
class Solution(Outcome):
    """Counterfactuals for a group of instances, with their proof.

    Attributes
    ----------
    counterfactuals : ndarray of shape (R, D) or None
        Encoded counterfactuals; None without an incumbent.
    assignment : ndarray of shape (S,) of int, or None
        Row of `counterfactuals` that each instance is given; -1 for an instance left
        where it is (outlier of a soft group, or unreachable). When an instance is given
        several counterfactuals, see `edges`.
    edges : ndarray of shape (E, 2) of int, or None
        All (instance, counterfactual) pairs; derived from `assignment` when omitted.
    details : mapping
        Method-specific facts that a report may show (nodes, columns, clusters, ...).
    """

    counterfactuals: NDArray[np.float64] | None = None
    assignment: NDArray[np.int64] | None = None
    edges: NDArray[np.int64] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def pairs(self) -> NDArray[np.int64]:
        """Return the (instance, counterfactual) pairs, shape (E, 2)."""
        if self.edges is not None:
            return self.edges
        if self.assignment is None:
            return np.empty((0, 2), dtype=np.int64)
        served = np.flatnonzero(self.assignment >= 0)
        return np.column_stack([served, self.assignment[served]]).astype(np.int64)


@dataclass(frozen=True)
class Check:
    """One verified statement.

    Attributes
    ----------
    name : str
        What was checked.
    ok : bool
    worst : float
        Largest violation found (0 when none); in the unit of the checked quantity.
    detail : str
        Where it fails, or what was compared.
    """

    name: str
    ok: bool
    worst: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Verification:
    """All checks of one solution, made apart from the method that found it."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(c.ok for c in self.checks)

    @property
    def failed(self) -> list[Check]:
        """The checks that do not hold."""
        return [c for c in self.checks if not c.ok]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {"ok": self.ok, "checks": [asdict(c) for c in self.checks]}
