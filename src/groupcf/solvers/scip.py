"""SCIP through PySCIPOpt: mixed-integer quadratic programs, convex or not, and all sets.

The wheel brings the solver but neither an executable nor the libraries for several threads.
It is run in a process of its own (`groupcf.solvers.isolation`): a bug in native code must not
take a study of hundreds of solves with it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.solution import Status
from groupcf.solvers import isolation
from groupcf.solvers.base import Capability, Options, Record, Run, Solver, finite, recorder
from groupcf.solvers.program import Program, Quadratic

_INFINITY = 1e20
_kept: list[Any] = []
isolation.after_answer.append(_kept.clear)


class Scip(Solver):
    """Adapter for PySCIPOpt."""

    name = "scip"
    title = "SCIP"
    package = "pyscipopt"
    module = "pyscipopt"
    install = "pip install pyscipopt"
    licence = "Apache 2.0"
    capabilities = frozenset(Capability)
    isolated = True

    def _solve(self, program: Program, options: Options) -> Run:
        start = time.perf_counter()
        run = self._attempt(program, options, diving=True)
        if run.status == Status.CRASHED and program.sets:
            # SCIP 10.0 gives up when a dive sets a fixed member of an SOS1 to zero
            left = options.time_limit
            if left is not None:
                left = max(0.0, left - (time.perf_counter() - start))
            run = self._attempt(program, replace(options, time_limit=left), diving=False)
        return run

    def _attempt(self, program: Program, options: Options, diving: bool) -> Run:
        import pyscipopt

        model = pyscipopt.Model()
        _kept[:] = [model]  # freed after the answer is sent, should freeing it abort
        model.hideOutput()
        parameters = {
            "limits/gap": options.gap,
            "limits/absgap": options.gap,
            "randomization/randomseedshift": options.seed,
        }
        if options.time_limit is not None:
            parameters["limits/time"] = options.time_limit
        if options.memory_limit_mb is not None:
            parameters["limits/memory"] = 0.8 * options.memory_limit_mb
        if not diving:
            dives = [name for name in model.getParams() if name.endswith("diving/freq")]
            parameters |= dict.fromkeys(dives, -1)
        model.setParams(parameters)
        if options.log is not None:
            model.hideOutput(False)
            model.setLogfile(options.log)
        variables, epigraph = _build(model, program)
        if options.hint is not None:
            _start(model, variables, epigraph, program, options.hint)
        history: list[tuple[float, float | None, float | None]] = []
        watcher = _watch(recorder(history))
        model.includeEventhdlr(watcher, "groupcf", "history of incumbent and bound")
        try:
            model.optimize()
        except MemoryError:
            raise
        except Exception as error:  # PySCIPOpt raises the bare class for any SCIP return code
            return Run(status=Status.CRASHED, message=f"SCIP stopped: {error}")
        return _read(model, variables, history)


def _build(model: Any, program: Program) -> tuple[list[Any], Any]:
    from pyscipopt.scip import Expr, ExprCons, Term

    def side(value: float) -> float | None:
        return None if abs(value) >= _INFINITY else float(value)

    variables = []
    for k in range(len(program.c)):
        lower, upper = float(program.lower[k]), float(program.upper[k])
        kind = "C"
        if program.integer[k]:
            kind = "B" if lower >= 0 and upper <= 1 else "I"
        variables.append(
            model.addVar(vtype=kind, lb=side(lower), ub=side(upper), obj=float(program.c[k]))
        )
    terms = [Term(v) for v in variables]

    def linear(index: NDArray[np.int64], value: NDArray[np.float64]) -> dict[Any, float]:
        coefficients: dict[Any, float] = {}
        for k, a in zip(index.tolist(), value.tolist(), strict=True):
            coefficients[terms[k]] = coefficients.get(terms[k], 0.0) + a
        return coefficients

    def curved(form: Quadratic, coefficients: dict[Any, float]) -> dict[Any, float]:
        for i, j, a in zip(form.i.tolist(), form.j.tolist(), form.v.tolist(), strict=True):
            term = Term(variables[i], variables[j])
            coefficients[term] = coefficients.get(term, 0.0) + a
        return coefficients

    def add(coefficients: dict[Any, float], lower: float, upper: float) -> None:
        low, high = side(lower), side(upper)
        if low is not None or high is not None:
            model.addCons(ExprCons(Expr(coefficients), lhs=low, rhs=high))

    rows = program.rows
    for k in range(len(rows)):
        add(linear(*rows.row(k)), rows.lower[k], rows.upper[k])
    for row in program.quadratic_rows:
        add(curved(row.quadratic, linear(row.index, row.value)), row.lower, row.upper)
    epigraph = None
    if program.quadratic is not None:
        epigraph = model.addVar(lb=None, obj=1.0)
        add(curved(program.quadratic, {Term(epigraph): -1.0}), -np.inf, 0.0)
    for s in program.sets:
        members = [variables[k] for k in s.index]
        (model.addConsSOS1 if s.kind == 1 else model.addConsSOS2)(members, s.weight.tolist())
    for indicator in program.indicators:
        for sign, bound in ((-1.0, indicator.lower), (1.0, indicator.upper)):
            if side(bound) is not None:
                expression = Expr(linear(indicator.index, sign * indicator.value))
                model.addConsIndicator(
                    ExprCons(expression, rhs=float(sign * bound)),
                    variables[indicator.binary],
                    activeone=indicator.active,
                )
    return variables, epigraph


def _start(
    model: Any, variables: list[Any], epigraph: Any, program: Program, hint: NDArray[np.float64]
) -> None:
    known = np.flatnonzero(~np.isnan(hint))
    complete = len(known) == len(variables)
    solution = model.createSol() if complete else model.createPartialSol()
    for k in known.tolist():
        model.setSolVal(solution, variables[k], float(hint[k]))
    if complete and epigraph is not None and program.quadratic is not None:
        model.setSolVal(solution, epigraph, program.quadratic.value(hint))
    model.addSol(solution)


def _watch(record: Record) -> Any:
    import pyscipopt

    best_found = pyscipopt.scip.PY_SCIP_EVENTTYPE.BESTSOLFOUND

    class Watcher(pyscipopt.Eventhdlr):
        """Records the bound whenever there is a better incumbent."""

        def eventinit(self) -> None:
            self.model.catchEvent(best_found, self)

        def eventexit(self) -> None:
            self.model.dropEvent(best_found, self)

        def eventexec(self, event: Any) -> None:
            value = self.model.getSolObjVal(self.model.getBestSol())
            bound = finite(self.model.getDualbound(), _INFINITY)
            record(self.model.getSolvingTime(), value, bound)

    return Watcher()


def _read(
    model: Any, variables: list[Any], history: list[tuple[float, float | None, float | None]]
) -> Run:
    word = model.getStatus()
    if word == "inforunbd":
        return Run(status=None)
    if word == "infeasible":
        return Run(status=Status.INFEASIBLE)
    if word == "unbounded":
        return Run(status=Status.UNBOUNDED)
    found = model.getNSols() > 0
    if word in ("optimal", "gaplimit"):
        status = Status.OPTIMAL
    elif found:
        status = Status.FEASIBLE
    else:
        status = (
            Status.INTERRUPTED if word in ("userinterrupt", "terminate") else Status.NO_INCUMBENT
        )
    x = objective = None
    if found:
        best = model.getBestSol()
        x = np.array([model.getSolVal(best, v) for v in variables], dtype=np.float64)
        objective = model.getSolObjVal(best)
    bound = finite(model.getDualbound(), _INFINITY)
    history.append((model.getSolvingTime(), objective, bound))
    return Run(
        status=status,
        x=x,
        objective=objective,
        bound=bound,
        nodes=int(model.getNTotalNodes()),
        history=history,
        message="" if status == Status.OPTIMAL else f"SCIP stopped at its {word}",
        pool=[np.array([sol[v] for v in variables]) for sol in model.getSols()[:20]],
    )
