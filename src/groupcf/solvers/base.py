"""What all solvers have in common: capabilities, availability, options, one call to run."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import ConfigError
from groupcf.solution import Status

if TYPE_CHECKING:
    from groupcf.solvers.program import Program


class Capability(StrEnum):
    """What a model contains, and what a solver takes; a model needs all that it contains."""

    LP = "continuous variables"
    MILP = "integer variables"
    QP = "a quadratic objective"
    MIQP = "a quadratic objective with integer variables"
    QCP = "quadratic rows"
    MIQCP = "quadratic rows with integer variables"
    NONCONVEX = "nonconvex quadratic terms"
    SOS1 = "special ordered sets of type 1"
    SOS2 = "special ordered sets of type 2"
    INDICATOR = "indicator rows"


@dataclass(frozen=True)
class Availability:
    """Whether a solver can be used here.

    Attributes
    ----------
    ok : bool
    version : str
        Version of the package; empty if it is not installed.
    licence : str
        Licence that was found.
    reason : str
        Why it cannot be used, and what to do; empty if it can.
    """

    ok: bool
    version: str = ""
    licence: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to solve.

    Attributes
    ----------
    time_limit : float or None
        Seconds.
    threads : int
    gap : float
        Relative and absolute gap at which the search ends.
    seed : int
    hint : ndarray of shape (n,) or None
        Point to start from; NaN where nothing is known.
    memory_limit_mb : float or None
        Megabytes the solver may take, where it can be told.
    log : str or None
        File that the solver's log is written to.
    """

    time_limit: float | None = None
    threads: int = 1
    gap: float = 1e-9
    seed: int = 0
    hint: NDArray[np.float64] | None = None
    memory_limit_mb: float | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise ConfigError(f"time_limit: {self.time_limit!r} is not a number of seconds")
        if self.threads < 1:
            raise ConfigError(f"threads: {self.threads!r} is less than 1")
        if not self.gap >= 0:
            raise ConfigError(f"gap: {self.gap!r} is negative")
        if self.memory_limit_mb is not None and not self.memory_limit_mb > 0:
            raise ConfigError(f"memory_limit_mb: {self.memory_limit_mb!r} is not above 0")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a solver answered about a program.

    Attributes
    ----------
    status : Status or None
        None for "infeasible or unbounded".
    x : ndarray of shape (n,) or None
        Incumbent.
    objective, bound : float or None
        Value of the incumbent and proven bound: a lower one when minimising.
    nodes : int
    history : list of (seconds, incumbent or None, bound or None)
    message : str
    pool : list of ndarray of shape (n,)
        Feasible points met on the way, the best first, where the solver gives them.
    """

    status: Status | None
    x: NDArray[np.float64] | None = None
    objective: float | None = None
    bound: float | None = None
    nodes: int = 0
    history: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    message: str = ""
    pool: list[NDArray[np.float64]] = field(default_factory=list)


class Solver(ABC):
    """A solver; its package is imported only when it runs."""

    name: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]
    install: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    licence: ClassVar[str]
    isolated: ClassVar[bool] = False
    """Whether it runs in a process of its own unless the caller decides otherwise."""

    def available(self) -> Availability:
        """Say whether the solver can be used, without importing it."""
        if importlib.util.find_spec(self.package) is None:
            return Availability(False, reason=f"{self.title} is not installed: {self.install}")
        return Availability(True, self.version(), self.licence)

    def version(self) -> str:
        """Return the version of the installed package."""
        return importlib.metadata.version(self.package)

    def check(self, program: Program) -> None:  # noqa: B027 - most solvers ask no more
        """Refuse a program that `capabilities` admit and the solver cannot take all the same.

        Raises
        ------
        UnsupportedProblemError
            Naming the variable or coefficient.
        """

    def run(self, program: Program, options: Options) -> Run:
        """Solve.

        An answer "infeasible or unbounded" is decided by a second solve without objective,
        and the value of the incumbent is computed from the program, so that a solver's
        tolerance on an epigraph row does not enter it.

        Parameters
        ----------
        program : Program
        options : Options

        Returns
        -------
        Run
            With a status.
        """
        start = time.perf_counter()
        sign = -1.0 if program.maximise else 1.0
        plain = program.minimised()
        run = self._solve(plain, options)
        if run.status is None:
            run = self._decide(plain, options, time.perf_counter() - start)

        def own(value: float | None) -> float | None:
            if value is None or not math.isfinite(value):
                return None
            return sign * value + program.offset

        objective, bound, x = None, own(run.bound), None
        if run.x is not None and run.status is not None and run.status.has_incumbent:
            x = np.where(program.integer, np.round(run.x), run.x) + 0.0  # no -0.0
            objective = program.value(x)
            if bound is None and run.status == Status.OPTIMAL:
                bound = own(run.objective)
            if bound is not None:  # beyond the value of a point is rounding
                bound = sign * min(sign * bound, sign * objective)
        return replace(
            run,
            x=x,
            objective=objective,
            bound=bound,
            history=[(seconds, own(value), own(b)) for seconds, value, b in run.history],
        )

    def _decide(self, plain: Program, options: Options, spent: float) -> Run:
        """Tell infeasible from unbounded: without costs only the former can fail."""
        left = None if options.time_limit is None else options.time_limit - spent
        if left is None or left > 0:
            found = self._solve(plain.without_costs(), replace(options, time_limit=left)).status
            if found == Status.OPTIMAL:
                return Run(status=Status.UNBOUNDED)
            if found == Status.INFEASIBLE:
                return Run(status=Status.INFEASIBLE)
        return Run(
            status=Status.NO_INCUMBENT,
            message="infeasible or unbounded; the time limit came before the difference",
        )

    @abstractmethod
    def _solve(self, program: Program, options: Options) -> Run:
        """Minimise a program whose offset is zero."""


def finite(value: float, infinity: float = math.inf) -> float | None:
    """Return a value, or None for what a solver means as infinite."""
    return value if abs(value) < infinity else None


Record = Callable[[float, float | None, float | None], None]
"""Takes seconds, incumbent and bound of one moment of a solve."""


def recorder(history: list[tuple[float, float | None, float | None]]) -> Record:
    """Return a function that keeps the moments at which incumbent or bound changed."""

    def record(seconds: float, incumbent: float | None, bound: float | None) -> None:
        if not history or history[-1][1:] != (incumbent, bound):
            history.append((seconds, incumbent, bound))

    return record
