"""CP-SAT of OR-Tools: programs whose variables are all integer and bounded.

Coefficients must be integers or become integers when a row is multiplied by a power of ten
up to 10^6; anything else is refused rather than rounded.

Methods that build their own model for CP-SAT call `new_model` and `solve_model`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import UnsupportedProblemError
from groupcf.solution import Status
from groupcf.solvers.base import Capability, Options, Run, Solver, recorder
from groupcf.solvers.program import Program

_LARGEST_SCALE = 6
_LARGEST = 2**53


@dataclass(frozen=True, kw_only=True)
class CpResult:
    """Answer of CP-SAT.

    Attributes
    ----------
    status : Status
    objective, bound : float or None
        Value of the incumbent, and proven bound.
    value : callable
        Gives the integer value of a variable or expression in the incumbent.
    nodes : int
        Branches.
    history : list of (seconds, incumbent, bound)
    message : str
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    value: Callable[[Any], int]
    nodes: int = 0
    history: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    message: str = ""


def new_model() -> Any:
    """Return an empty ``ortools.sat.python.cp_model.CpModel``."""
    from ortools.sat.python import cp_model

    return cp_model.CpModel()


def solve_model(
    model: Any,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    log: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> CpResult:
    """Solve a CP-SAT model; with one thread the answer is the same every time.

    Parameters
    ----------
    model : CpModel
    time_limit : float, optional
        Seconds.
    threads, seed : int
    gap : float
        Relative gap at which the search ends.
    log : str, optional
        File that the log is written to.
    parameters : mapping, optional
        Further parameters of the solver by name.

    Returns
    -------
    CpResult

    Raises
    ------
    UnsupportedProblemError
        If CP-SAT finds the model invalid (say, an overflow).
    KeyboardInterrupt
        On Ctrl-C, after the search has stopped.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    settings: dict[str, Any] = {
        "num_workers": threads,
        "random_seed": seed,
        "relative_gap_limit": gap,
        "catch_sigint_signal": False,
        **(parameters or {}),
    }
    if time_limit is not None:
        settings["max_time_in_seconds"] = max(0.0, time_limit)
    for name, value in settings.items():
        setattr(solver.parameters, name, value)
    history: list[tuple[float, float | None, float | None]] = []
    record = recorder(history)

    class Watcher(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            record(self.wall_time, self.objective_value, self.best_objective_bound)

    with_objective = model.has_objective()
    lines: list[str] = []
    if log is not None:
        solver.parameters.log_search_progress = True
        solver.parameters.log_to_stdout = False
        solver.log_callback = lines.append
    code = _stoppable(
        lambda: solver.solve(model, Watcher() if with_objective else None), solver.stop_search
    )
    if log is not None:
        with open(log, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    if code == cp_model.MODEL_INVALID:
        raise UnsupportedProblemError(f"CP-SAT refuses the model: {model.validate()}")
    status = {
        cp_model.OPTIMAL: Status.OPTIMAL,
        cp_model.FEASIBLE: Status.FEASIBLE,
        cp_model.INFEASIBLE: Status.INFEASIBLE,
    }.get(code, Status.NO_INCUMBENT)
    objective = bound = None
    if with_objective and status != Status.INFEASIBLE:
        bound = float(solver.best_objective_bound)
        objective = float(solver.objective_value) if status.has_incumbent else None
        record(solver.wall_time, objective, bound)
    return CpResult(
        status=status,
        objective=objective,
        bound=bound,
        value=lambda expression: int(solver.value(expression)),
        nodes=int(solver.num_branches),
        history=history,
        message="CP-SAT stopped at its time limit"
        if status in (Status.FEASIBLE, Status.NO_INCUMBENT)
        else "",
    )


class CpSat(Solver):
    """Adapter for CP-SAT."""

    name = "cpsat"
    title = "OR-Tools CP-SAT"
    package = "ortools"
    module = "ortools.sat.python.cp_model"
    install = "pip install ortools"
    licence = "Apache 2.0"
    capabilities = frozenset({Capability.MILP, Capability.INDICATOR})

    def check(self, program: Program) -> None:
        """Refuse variables without bounds and coefficients that are not integers."""
        _integers(program)

    def _solve(self, program: Program, options: Options) -> Run:
        form = _integers(program)
        model = new_model()
        x = [
            model.new_int_var(int(low), int(high), "")
            for low, high in zip(program.lower, program.upper, strict=True)
        ]
        for row in form.rows:
            added = _add(model, x, row.index, row.value, row.lower, row.upper)
            if row.switch is not None:
                binary = x[row.switch[0]]
                added.only_enforce_if(binary if row.switch[1] else binary.negated())
        used = np.flatnonzero(form.c)
        if len(used):
            model.minimize(_sum(x, used, form.c[used]))
        if options.hint is not None:
            for k in np.flatnonzero(~np.isnan(options.hint)).tolist():
                model.add_hint(x[k], round(float(options.hint[k])))
        found = solve_model(
            model,
            time_limit=options.time_limit,
            threads=options.threads,
            seed=options.seed,
            gap=options.gap,
            log=options.log,
        )

        def own(value: float | None) -> float | None:
            return None if value is None else value / form.scale

        x_value = None
        if found.status.has_incumbent:
            x_value = np.array([found.value(v) for v in x], dtype=np.float64)
        nothing = None if found.status == Status.INFEASIBLE else 0.0
        return Run(
            status=found.status,
            x=x_value,
            objective=own(found.objective) if len(used) else nothing,
            bound=own(found.bound) if len(used) else nothing,
            nodes=found.nodes,
            history=[(seconds, own(value), own(b)) for seconds, value, b in found.history],
            message=found.message,
        )


@dataclass(frozen=True)
class _Row:
    index: NDArray[np.int64]
    value: NDArray[np.int64]
    lower: float
    upper: float
    switch: tuple[int, bool] | None = None


@dataclass(frozen=True)
class _IntegerForm:
    c: NDArray[np.int64]
    scale: int
    rows: list[_Row]


def _integers(program: Program) -> _IntegerForm:
    """Multiply objective and rows to integers, or say which one cannot be."""
    for k in np.flatnonzero(~(np.isfinite(program.lower) & np.isfinite(program.upper))).tolist():
        raise UnsupportedProblemError(
            f"OR-Tools CP-SAT needs bounds on every variable; {program.names[k]} has none"
        )
    c, scale = _scaled(program.c, program, np.arange(len(program.c)), "the objective")
    plain = [
        (*program.rows.row(k), program.rows.lower[k], program.rows.upper[k], None)
        for k in range(len(program.rows))
    ]
    switched = [
        (row.index, row.value, row.lower, row.upper, (row.binary, row.active))
        for row in program.indicators
    ]
    rows = []
    for index, value, lower, upper, switch in plain + switched:
        whole, factor = _scaled(value, program, index, "a row")
        rows.append(_Row(index, whole, lower * factor, upper * factor, switch))
    return _IntegerForm(c, scale, rows)


def _scaled(
    value: NDArray[np.float64], program: Program, index: NDArray[np.int64], where: str
) -> tuple[NDArray[np.int64], int]:
    for power in range(_LARGEST_SCALE + 1):
        scaled = value * 10**power
        whole = np.round(scaled)
        if np.all(np.abs(scaled - whole) <= 1e-12 * np.abs(scaled)):
            if np.abs(whole).max(initial=0.0) < _LARGEST:
                return whole.astype(np.int64), 10**power
            break
    worst = int(
        np.argmax(np.abs(value * 10**_LARGEST_SCALE - np.round(value * 10**_LARGEST_SCALE)))
    )
    raise UnsupportedProblemError(
        f"OR-Tools CP-SAT takes integer coefficients only; {where} has {value[worst]!r} "
        f"at {program.names[index[worst]]}: use HiGHS, or round the data yourself"
    )


def _sum(x: list[Any], index: NDArray[np.int64], value: NDArray[np.int64]) -> Any:
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum([x[k] for k in index.tolist()], value.tolist())


def _add(
    model: Any,
    x: list[Any],
    index: NDArray[np.int64],
    value: NDArray[np.int64],
    lower: float,
    upper: float,
) -> Any:
    from ortools.sat.python import cp_model

    low = int(np.ceil(lower - 1e-9 * max(1.0, abs(lower)))) if np.isfinite(lower) else None
    high = int(np.floor(upper + 1e-9 * max(1.0, abs(upper)))) if np.isfinite(upper) else None
    return model.add_linear_constraint(
        _sum(x, index, value),
        cp_model.INT_MIN if low is None else low,
        cp_model.INT_MAX if high is None else high,
    )


def _stoppable(run: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """Run in a second thread, so that Ctrl-C reaches Python while native code works."""
    if threading.current_thread() is not threading.main_thread():
        return run()
    answer: list[Any] = []
    failure: list[BaseException] = []
    ended = threading.Event()  # Thread.join, once interrupted, takes the thread for ended

    def target() -> None:
        try:
            answer.append(run())
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    threading.Thread(target=target, daemon=True).start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        stop()
        ended.wait()
        raise
    if failure:
        raise failure[0]
    return answer[0]
