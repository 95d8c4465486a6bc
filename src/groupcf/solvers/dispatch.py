"""Which solver for which model, and the one call that solves a Pyomo model."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import (
    ConfigError,
    GroupcfError,
    SolverCrashedError,
    SolverUnavailableError,
    UnsupportedProblemError,
)
from groupcf.solution import Outcome, Progress, Status
from groupcf.solvers.base import Availability, Capability, Options, Run, Solver
from groupcf.solvers.cpsat import CpSat
from groupcf.solvers.gurobi import Gurobi
from groupcf.solvers.highs import Highs
from groupcf.solvers.isolation import WorkerDiedError, run_isolated
from groupcf.solvers.program import Program
from groupcf.solvers.pyomo_models import translate
from groupcf.solvers.scip import Scip

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

SOLVERS: Mapping[str, Solver] = {s.name: s for s in (Highs(), Scip(), CpSat(), Gurobi())}
"""All solvers by name."""

_AUTO = ("highs", "scip", "gurobi")
_GRACE = 20.0
_POOL = 20
_INTERRUPTS = {2, 15}  # SIGINT, SIGTERM: sent by someone, not by a fault


@dataclass(frozen=True, kw_only=True)
class SolveResult(Outcome):
    """Answer to one solve of a model.

    `bound` is a lower bound when minimising and an upper bound when maximising. `method` is
    the title of the solver.

    Attributes
    ----------
    solver, version : str
        Name and version of the solver.
    nodes : int
        Nodes of the search tree.
    values : mapping of str to float
        Values by name of variable; empty without an incumbent. Integer variables are rounded.
    pool : tuple of mappings of str to float
        Feasible points met on the way, the best first (HiGHS, SCIP, Gurobi).
    """

    solver: str = ""
    version: str = ""
    nodes: int = 0
    values: Mapping[str, float] = field(default_factory=dict)
    pool: tuple[Mapping[str, float], ...] = ()

    @property
    def gap(self) -> float | None:
        """Relative gap |objective - bound| / max(|objective|, 1e-9)."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.objective - self.bound) / max(abs(self.objective), 1e-9)


@functools.cache
def available(name: str) -> Availability:
    """Say whether a solver can be used; asked once a process."""
    return SOLVERS[name].available()


def classify(model: ConcreteModel) -> frozenset[Capability]:
    """Return what a solver must take to solve a Pyomo model.

    Parameters
    ----------
    model : ConcreteModel

    Returns
    -------
    frozenset of Capability
        LP if there are continuous variables, MILP if there are integer ones, and so on.
        Convexity is judged numerically.

    Raises
    ------
    UnsupportedProblemError
        If the model is not linear or quadratic.
    """
    return translate(model).program.needs()


def choose(needs: Iterable[Capability], preferred: str = "auto") -> tuple[Solver, str]:
    """Choose a solver.

    Parameters
    ----------
    needs : iterable of Capability
        What the model contains.
    preferred : str
        Name of a solver; "auto" takes the first of HiGHS, SCIP and Gurobi that takes the
        model and is installed, so that the choice does not depend on a licence.

    Returns
    -------
    solver : Solver
    why : str
        The reason, in a sentence.

    Raises
    ------
    ConfigError
        If there is no solver of this name.
    SolverUnavailableError
        If none is installed that takes the model; the message says what to install.
    UnsupportedProblemError
        If the preferred solver does not take the model; the message says what it lacks.
    """
    wanted = frozenset(needs)
    if preferred != "auto":
        if preferred not in SOLVERS:
            names = ", ".join(["auto", *SOLVERS])
            raise ConfigError(f"solver: unknown value {preferred!r}; use one of {names}")
        solver, state = SOLVERS[preferred], available(preferred)
        if not state.ok:
            raise SolverUnavailableError(state.reason)
        lacks = wanted - solver.capabilities
        if lacks:
            able = " or ".join(s.name for s in SOLVERS.values() if wanted <= s.capabilities)
            raise UnsupportedProblemError(
                f"{solver.title} cannot take this model: it has {_words(lacks)}; "
                f"use {able or 'another formulation'}"
            )
        return solver, f"{solver.title} was asked for"
    missing = []
    for name in _AUTO:
        solver, state = SOLVERS[name], available(name)
        if wanted <= solver.capabilities:
            if state.ok:
                return solver, f"{solver.title} takes {_words(wanted)}"
            missing.append(state.reason)
    raise SolverUnavailableError(
        f"no solver here takes a model with {_words(wanted)}: {'; or '.join(missing)}"
    )


def _words(capabilities: Iterable[Capability]) -> str:
    return ", ".join(sorted(capabilities)) or "nothing at all"


def solve(
    model: ConcreteModel,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
    gap: float = 1e-9,
    mip_start: bool | Mapping[Any, float] = False,
    seed: int = 0,
    isolate: bool | Literal["auto"] = "auto",
    log: str | os.PathLike[str] | None = None,
    memory_limit_mb: float | None = None,
) -> SolveResult:
    """Solve a Pyomo model and write the incumbent's values into it.

    Parameters
    ----------
    model : ConcreteModel
        Linear or quadratic, with SOS constraints and, through a suffix ``indicator``,
        indicator rows (`groupcf.solvers.pyomo_models`). Minimised or maximised.
    solver : str
        "auto", "highs", "scip", "cpsat" or "gurobi"; see `choose`.
    time_limit : float, optional
        Seconds for the solver; translation is not counted.
    threads : int
        Threads of the solver; SCIP uses one.
    gap : float
        Relative and absolute gap at which a search ends.
    mip_start : bool or mapping
        True starts from the values the variables have; a ``ComponentMap`` gives values of some.
    seed : int
        Random seed of the solver.
    isolate : bool or "auto"
        Run the solver in a process of its own, so that a crash is an outcome. "auto" does so
        for SCIP, and for every solver if there is a memory limit.
    log : path, optional
        File that the solver's log is written to.
    memory_limit_mb : float, optional
        Megabytes that the solver may take.

    Returns
    -------
    SolveResult
        A missing solver, a licence that does not suffice, a crash and every limit are
        statuses with a message.

    Raises
    ------
    ConfigError
        If there is no solver of this name.
    UnsupportedProblemError
        If the model, or its combination with the solver, is not supported.
    KeyboardInterrupt
        On Ctrl-C, after the solver has been stopped.
    """
    start = time.perf_counter()
    translation = translate(model)
    program = translation.program
    if program.contradiction:
        return SolveResult(
            status=Status.INFEASIBLE,
            message=program.contradiction,
            seconds=time.perf_counter() - start,
        )
    try:
        chosen, why = choose(program.needs(), solver)
    except SolverUnavailableError as error:
        missing = solver == "auto" or not available(solver).version
        return SolveResult(
            status=Status.SOLVER_MISSING if missing else Status.LICENCE_MISSING,
            message=str(error),
            solver=solver,
            seconds=time.perf_counter() - start,
        )
    chosen.check(program)
    hint = None
    if mip_start is not False:
        hint = translation.point(None if mip_start is True else mip_start)
    options = Options(
        time_limit=time_limit,
        threads=threads,
        gap=gap,
        seed=seed,
        hint=hint,
        memory_limit_mb=memory_limit_mb,
        log=None if log is None else os.fspath(log),
    )
    translated = time.perf_counter() - start
    apart = (chosen.isolated or memory_limit_mb is not None) if isolate == "auto" else isolate
    run = _run_apart(chosen, program, options) if apart else chosen.run(program, options)
    assert run.status is not None
    if run.x is not None:
        translation.load(run.x)
    seconds = time.perf_counter() - start

    def named(x: NDArray[np.float64]) -> dict[str, float]:
        rounded = np.where(program.integer, np.round(x), x)
        return dict(zip(program.names, rounded.tolist(), strict=True))

    return SolveResult(
        status=run.status,
        objective=run.objective,
        bound=run.bound,
        method=chosen.title,
        why=why,
        message=run.message,
        seconds=seconds,
        phases={"translate": translated, "solve": seconds - translated},
        history=tuple(Progress(*moment) for moment in run.history),
        solver=chosen.name,
        version=chosen.version(),
        nodes=run.nodes,
        values={} if run.x is None else named(run.x),
        pool=tuple(named(x) for x in run.pool[:_POOL]),
    )


def _run_apart(solver: Solver, program: Program, options: Options) -> Run:
    """Run a solver in another process and turn its end into a status."""
    limit = None
    if options.time_limit is not None:  # a solver needs a while to notice; start-up counts too
        limit = 1.25 * options.time_limit + _GRACE
    try:
        return run_isolated(
            solver.run,
            program,
            options,
            time_limit=limit,
            memory_limit_mb=options.memory_limit_mb,
            imports=(solver.module,),
        )
    except WorkerDiedError as error:
        interrupted = error.signal in _INTERRUPTS
        return Run(
            status=Status.INTERRUPTED if interrupted else Status.CRASHED,
            message=f"{solver.title}: {error}",
        )
    except SolverCrashedError as error:
        return Run(status=Status.CRASHED, message=f"{solver.title}: {error}")
    except TimeoutError:
        return Run(
            status=Status.NO_INCUMBENT,
            message=f"{solver.title} did not stop at its time limit and was killed",
        )
    except GroupcfError:
        raise
    except Exception as error:  # without memory a library may raise anything (SystemError, ...)
        given = options.memory_limit_mb
        if given is None and not isinstance(error, MemoryError):
            raise
        words = "of memory" if given is None else f"of the {given:g} MB that it was given"
        return Run(status=Status.CRASHED, message=f"{solver.title} ran out {words} ({error})")
