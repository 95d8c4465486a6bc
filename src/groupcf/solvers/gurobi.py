"""Gurobi, if it is installed, with whatever licence is there.

Without a licence file the wheel solves models of at most 2000 variables and 2000 rows, far
fewer with quadratic terms. What exceeds a licence is an outcome with a message.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.solution import Status
from groupcf.solvers.base import Availability, Capability, Options, Record, Run, Solver, recorder
from groupcf.solvers.program import Program, Quadratic

_INFINITY = 1e100
_LICENCE_ERRORS = {10009, 10010, 10031, 10032}
_PROBE = 2001  # one variable more than the wheel's own licence carries


class Gurobi(Solver):
    """Adapter for gurobipy."""

    name = "gurobi"
    title = "Gurobi"
    package = "gurobipy"
    module = "gurobipy"
    install = 'pip install "groupcf[gurobi]"'
    licence = ""
    capabilities = frozenset(Capability)

    def available(self) -> Availability:
        """Say whether Gurobi starts, and how large a model its licence carries."""
        installed = super().available()
        if not installed.ok:
            return installed
        licence, problem = _probe()
        return Availability(not problem, installed.version, licence, problem)

    def _solve(self, program: Program, options: Options) -> Run:
        import gurobipy as gp

        try:
            with _environment() as env, gp.Model(env=env) as model:
                return _run(model, program, options)
        except gp.GurobiError as error:
            if error.errno in _LICENCE_ERRORS:
                return Run(status=Status.LICENCE_MISSING, message=_licence_message(error))
            if error.errno == 10001:
                raise MemoryError(str(error)) from error
            return Run(status=Status.CRASHED, message=f"Gurobi stopped: {error}")


@contextmanager
def _environment() -> Iterator[Any]:
    import gurobipy as gp

    with gp.Env(empty=True) as env:
        env.setParam("OutputFlag", 0)
        env.start()
        yield env


@functools.cache
def _probe() -> tuple[str, str]:
    """Return the licence found, and why Gurobi cannot be used (empty if it can)."""
    import gurobipy as gp

    try:
        with _environment() as env, gp.Model(env=env) as model:
            model.addMVar(_PROBE)
            model.optimize()
    except gp.GurobiError as error:
        if error.errno == 10010:
            return "of the wheel: at most 2000 variables and 2000 rows", ""
        return "none", _licence_message(error)
    return "full size", ""


def _licence_message(error: Any) -> str:
    if error.errno == 10010:
        return (
            "the model is larger than Gurobi's licence carries (without a licence file 2000 "
            "variables, 2000 rows, fewer with quadratic terms): set GRB_LICENSE_FILE, or "
            "choose another solver"
        )
    return f"Gurobi has no valid licence ({error}): set GRB_LICENSE_FILE, or choose another solver"


def _run(model: Any, program: Program, options: Options) -> Run:
    parameters: dict[str, Any] = {
        "Threads": options.threads,
        "MIPGap": options.gap,
        "MIPGapAbs": options.gap,
        "Seed": options.seed,
    }
    if options.time_limit is not None:
        parameters["TimeLimit"] = max(0.0, options.time_limit)
    if options.memory_limit_mb is not None:
        parameters["SoftMemLimit"] = 0.8 * options.memory_limit_mb / 1000
    if options.log is not None:
        parameters |= {"OutputFlag": 1, "LogToConsole": 0, "LogFile": options.log}
    for name, value in parameters.items():
        model.setParam(name, value)
    x = _build(model, program)
    if options.hint is not None:
        known = ~np.isnan(options.hint)
        x[known].Start = options.hint[known]
    history: list[tuple[float, float | None, float | None]] = []
    model.optimize(_watch(recorder(history)) if program.integer.any() else None)
    return _read(model, x, program, history)


def _matrix(form: Quadratic, n: int) -> Any:
    from scipy import sparse

    return sparse.coo_matrix((form.v, (form.i, form.j)), shape=(n, n)).tocsr()


def _build(model: Any, program: Program) -> Any:
    import gurobipy as gp
    from scipy import sparse

    n = len(program.c)
    binary = program.integer & (program.lower >= 0) & (program.upper <= 1)
    kinds = np.where(binary, "B", np.where(program.integer, "I", "C"))
    x = model.addMVar(n, lb=program.lower, ub=program.upper, vtype=kinds)
    if program.quadratic is None:
        model.setObjective(program.c @ x)
    else:
        model.setMObjective(_matrix(program.quadratic, n), program.c, 0.0, x, x, x)
    rows = program.rows
    if len(rows):
        A = sparse.csr_matrix((rows.value, rows.index, rows.start), shape=(len(rows), n))
        equal = rows.lower == rows.upper
        for kept, sense, side in (
            (equal, "=", rows.lower),
            (~equal & np.isfinite(rows.lower), ">", rows.lower),
            (~equal & np.isfinite(rows.upper), "<", rows.upper),
        ):
            if kept.any():
                model.addMConstr(A[kept], x, sense, side[kept])

    def senses(lower: float, upper: float) -> list[tuple[str, float]]:
        if lower == upper:
            return [("=", upper)]
        both = ((">", lower), ("<", upper))
        return [(sense, at) for sense, at in both if np.isfinite(at)]

    def dense(index: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(index, value, minlength=n).astype(np.float64)

    for row in program.quadratic_rows:
        for sense, at in senses(row.lower, row.upper):
            form, linear = _matrix(row.quadratic, n), dense(row.index, row.value)
            model.addMQConstr(form, linear, sense, at, x, x, x)
    for s in program.sets:
        kind = gp.GRB.SOS_TYPE1 if s.kind == 1 else gp.GRB.SOS_TYPE2
        model.addSOS(kind, [x[k].item() for k in s.index.tolist()], s.weight.tolist())
    for indicator in program.indicators:
        terms = [x[k].item() for k in indicator.index.tolist()]
        expression = gp.LinExpr(indicator.value.tolist(), terms)
        switch = x[indicator.binary].item()
        for sense, at in senses(indicator.lower, indicator.upper):
            model.addGenConstrIndicator(switch, indicator.active, expression, sense, at)
    return x


def _watch(record: Record) -> Any:
    import gurobipy as gp

    def callback(model: Any, where: int) -> None:
        if where == gp.GRB.Callback.MIP:
            best = model.cbGet(gp.GRB.Callback.MIP_OBJBST)
            bound = model.cbGet(gp.GRB.Callback.MIP_OBJBND)
            seconds = model.cbGet(gp.GRB.Callback.RUNTIME)
            record(seconds, _finite(best), _finite(bound))

    return callback


def _finite(value: float) -> float | None:
    return value if abs(value) < _INFINITY else None


def _read(
    model: Any,
    x: Any,
    program: Program,
    history: list[tuple[float, float | None, float | None]],
) -> Run:
    import gurobipy as gp

    code, of = model.Status, gp.GRB.Status
    mip = bool(model.IsMIP)
    if code == of.INTERRUPTED:
        raise KeyboardInterrupt  # Gurobi takes Ctrl-C for itself
    if code == of.INFEASIBLE:
        return Run(status=Status.INFEASIBLE)
    if code == of.INF_OR_UNBD or (code == of.UNBOUNDED and mip):
        return Run(status=None)  # an unbounded relaxation says nothing about integer points
    if code == of.UNBOUNDED:
        return Run(status=Status.UNBOUNDED)
    found = model.SolCount > 0
    status = Status.NO_INCUMBENT
    if found:
        status = Status.OPTIMAL if code == of.OPTIMAL else Status.FEASIBLE
    objective = model.ObjVal if found else None
    bound = _finite(model.ObjBound) if mip else None
    history.append((model.Runtime, objective, bound))
    return Run(
        status=status,
        x=np.asarray(x.X, dtype=np.float64) if found else None,
        objective=objective,
        bound=bound,
        nodes=int(model.NodeCount),
        history=history,
        message="" if status == Status.OPTIMAL else f"Gurobi stopped with its status {code}",
        pool=_pool(model, x) if found and mip else [],
    )


def _pool(model: Any, x: Any) -> list[NDArray[np.float64]]:
    points = []
    for k in range(min(model.SolCount, 20)):
        model.Params.SolutionNumber = k
        points.append(np.asarray(x.Xn, dtype=np.float64))
    return points
