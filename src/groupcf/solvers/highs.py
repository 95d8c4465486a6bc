"""HiGHS without a modelling layer: linear and mixed-integer programs given as arrays.

Column generation, set covers and DEA solve many small linear programs and need duals; they
call `solve_matrix` once or keep a `HighsLP` to which columns are added.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from groupcf.errors import DataError
from groupcf.solution import Status

_threads: int | None = None
_greeted = False
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class MatrixResult:
    """Answer to ``min c.x + offset, row_lower <= A x <= row_upper, col_lower <= x <= col_upper``.

    Attributes
    ----------
    status : Status
    objective : float or None
        Value of `x`; None without one.
    bound : float or None
        Proven lower bound on the optimum: the optimal value of a linear program, the dual bound
        of a mixed-integer one; None if none is known.
    x : ndarray of shape (n,) or None
    duals : ndarray of shape (m,) or None
        Change of the optimum per unit of a row's active side; only for linear programs solved
        to optimality. Non-negative for an active lower side, non-positive for an upper one.
    reduced_costs : ndarray of shape (n,) or None
        ``c - A.T @ duals``.
    seconds : float
        Wall-clock time.
    iterations, nodes : int
        Simplex iterations; nodes of the branch and bound.
    message : str
        What a person should know; empty if there is nothing to say.
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    x: NDArray[np.float64] | None = None
    duals: NDArray[np.float64] | None = None
    reduced_costs: NDArray[np.float64] | None = None
    seconds: float = 0.0
    iterations: int = 0
    nodes: int = 0
    message: str = ""


class HighsLP:
    """A linear (or mixed-integer) program that stays in memory and grows.

    After a change the next `solve` starts from the last basis.

    Parameters
    ----------
    c : array-like of shape (n,)
        Costs, to be minimised.
    A : sparse or dense matrix of shape (m, n)
        Rows; n = 0 is allowed with ``A`` of shape (m, 0).
    row_lower, row_upper : array-like of shape (m,)
        Sides of the rows, infinite where there is none; scalars hold for all.
    col_lower, col_upper : array-like of shape (n,)
        Bounds; scalars hold for all.
    integrality : array-like of shape (n,) of bool, optional
        Which columns are integer.
    offset : float
        Constant of the objective.
    threads : int
        Threads of the branch and bound (the simplex method uses one).
    seed : int
        Random seed of the solver.
    gap : float
        Relative and absolute gap at which a mixed-integer program counts as solved.

    Raises
    ------
    DataError
        If shapes do not fit or a number is NaN.
    """

    def __init__(
        self,
        c: ArrayLike,
        A: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        col_lower: ArrayLike = 0.0,
        col_upper: ArrayLike = np.inf,
        *,
        integrality: ArrayLike | None = None,
        offset: float = 0.0,
        threads: int = 1,
        seed: int = 0,
        gap: float = 1e-9,
    ) -> None:
        import highspy

        self._h = new_highs()
        costs = np.ascontiguousarray(c, dtype=np.float64)
        rows = sparse.csr_matrix(A, dtype=np.float64)
        rows.sum_duplicates()  # HiGHS refuses them
        m, n = rows.shape
        if costs.shape != (n,):
            raise DataError(f"c has shape {costs.shape}; A with {n} columns asks for ({n},)")
        for option, value in (
            ("threads", threads),
            ("random_seed", seed),
            ("mip_rel_gap", gap),
            ("mip_abs_gap", gap),
        ):
            self._h.setOptionValue(option, value)
        self._threads = threads
        self._integer = np.zeros(n, dtype=bool)
        if integrality is not None:
            self._integer = _filled(np.asarray(integrality) != 0, n, "integrality") != 0
        status = self._h.passModel(
            n,
            m,
            rows.nnz,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            float(offset),
            _checked(costs, "c"),
            _filled(col_lower, n, "col_lower"),
            _filled(col_upper, n, "col_upper"),
            _filled(row_lower, m, "row_lower"),
            _filled(row_upper, m, "row_upper"),
            rows.indptr[:-1].astype(np.int32),  # the end of the last row is nnz
            rows.indices.astype(np.int32),
            _checked(rows.data, "A"),
            self._integer.astype(np.int32),
        )
        if status == highspy.HighsStatus.kError:
            raise DataError("HiGHS refuses the model: look for infinite costs or coefficients")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self._h.getNumRow(), self._h.getNumCol()

    def add_columns(
        self,
        c: ArrayLike,
        A: Any,
        col_lower: ArrayLike = 0.0,
        col_upper: ArrayLike = np.inf,
    ) -> None:
        """Append continuous columns.

        Parameters
        ----------
        c : array-like of shape (k,)
        A : sparse or dense matrix of shape (m, k)
            The new columns.
        col_lower, col_upper : array-like of shape (k,) or scalar

        Raises
        ------
        DataError
            If shapes do not fit or a number is NaN.
        """
        columns = sparse.csc_matrix(A, dtype=np.float64)
        columns.sum_duplicates()
        m, k = columns.shape
        if m != self.shape[0]:
            raise DataError(f"the new columns have {m} rows, the model {self.shape[0]}")
        self._h.addCols(
            k,
            _filled(c, k, "c"),
            _filled(col_lower, k, "col_lower"),
            _filled(col_upper, k, "col_upper"),
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            _checked(columns.data, "A"),
        )
        self._integer = np.concatenate([self._integer, np.zeros(k, dtype=bool)])

    def add_rows(self, A: Any, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Append rows (cuts).

        Parameters
        ----------
        A : sparse or dense matrix of shape (k, n)
        row_lower, row_upper : array-like of shape (k,) or scalar

        Raises
        ------
        DataError
            If shapes do not fit or a number is NaN.
        """
        rows = sparse.csr_matrix(A, dtype=np.float64)
        rows.sum_duplicates()
        k, n = rows.shape
        if n != self.shape[1]:
            raise DataError(f"the new rows have {n} columns, the model {self.shape[1]}")
        self._h.addRows(
            k,
            _filled(row_lower, k, "row_lower"),
            _filled(row_upper, k, "row_upper"),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            _checked(rows.data, "A"),
        )

    def set_costs(self, c: ArrayLike) -> None:
        """Replace all costs; `c` of shape (n,)."""
        n = self.shape[1]
        self._h.changeColsCost(n, np.arange(n, dtype=np.int32), _filled(c, n, "c"))

    def set_bounds(self, col_lower: ArrayLike, col_upper: ArrayLike) -> None:
        """Replace the bounds of all columns; each of shape (n,) or scalar."""
        n = self.shape[1]
        self._h.changeColsBounds(
            n,
            np.arange(n, dtype=np.int32),
            _filled(col_lower, n, "col_lower"),
            _filled(col_upper, n, "col_upper"),
        )

    def set_sides(self, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Replace the sides of all rows; each of shape (m,) or scalar."""
        m = self.shape[0]
        self._h.changeRowsBounds(
            m,
            np.arange(m, dtype=np.int32),
            _filled(row_lower, m, "row_lower"),
            _filled(row_upper, m, "row_upper"),
        )

    def solve(
        self, time_limit: float | None = None, hint: NDArray[np.float64] | None = None
    ) -> MatrixResult:
        """Solve from where the last solve ended.

        Parameters
        ----------
        time_limit : float, optional
            Seconds for this call.
        hint : ndarray of shape (n,), optional
            A point to start a mixed-integer search from; NaN where nothing is known.

        Returns
        -------
        MatrixResult
        """
        start = time.perf_counter()
        if self.shape[1] == 0:
            return self._constant(time.perf_counter() - start)
        if hint is not None:
            known = np.flatnonzero(~np.isnan(hint)).astype(np.int32)
            self._h.setSolution(len(known), known, np.asarray(hint, dtype=np.float64)[known])
        status = self._run(start, time_limit)
        message = ""
        if status == "unbounded or infeasible":
            status = self._feasible_somewhere(start, time_limit)
            if status == Status.NO_INCUMBENT:
                message = "infeasible or unbounded; the time limit came before the difference"
        return self._read(status, time.perf_counter() - start, message)

    def _constant(self, seconds: float) -> MatrixResult:
        """Answer for a model without columns, whose rows HiGHS does not look at."""
        lp = self._h.getLp()
        if np.any(np.asarray(lp.row_lower_) > 0) or np.any(np.asarray(lp.row_upper_) < 0):
            return MatrixResult(status=Status.INFEASIBLE, seconds=seconds)
        return MatrixResult(
            status=Status.OPTIMAL,
            objective=lp.offset_,
            bound=lp.offset_,
            x=np.empty(0),
            duals=np.zeros(lp.num_row_),
            reduced_costs=np.empty(0),
            seconds=seconds,
        )

    def _run(self, start: float, time_limit: float | None) -> Status | str:
        import highspy

        # HiGHS counts the time of all runs of an object together
        if time_limit is None:
            limit = highspy.kHighsInf
        else:
            left = time_limit - (time.perf_counter() - start)
            limit = self._h.getRunTime() + max(left, 0.0)
        self._h.setOptionValue("time_limit", limit)
        use_threads(self._threads)
        self._h.run()
        return _status(self._h)

    def _feasible_somewhere(self, start: float, time_limit: float | None) -> Status:
        """Tell infeasible from unbounded: without costs only the former can fail."""
        costs = np.asarray(self._h.getLp().col_cost_, dtype=np.float64)
        self.set_costs(np.zeros(len(costs)))
        found = self._run(start, time_limit)
        self.set_costs(costs)
        if found == Status.OPTIMAL:
            return Status.UNBOUNDED
        return Status.INFEASIBLE if found == Status.INFEASIBLE else Status.NO_INCUMBENT

    def _read(self, status: Status | str, seconds: float, message: str) -> MatrixResult:
        info = self._h.getInfo()
        mip = bool(self._integer.any())
        facts: dict[str, Any] = {
            "status": Status(status),
            "seconds": seconds,
            "iterations": max(0, info.simplex_iteration_count),
            "nodes": max(0, info.mip_node_count) if mip else 0,
            "message": message,
        }
        if mip and np.isfinite(info.mip_dual_bound) and status != Status.UNBOUNDED:
            facts["bound"] = float(info.mip_dual_bound)
        if not Status(status).has_incumbent:
            return MatrixResult(**facts)
        solution = self._h.getSolution()
        facts["objective"] = float(info.objective_function_value)
        facts["x"] = np.array(solution.col_value)
        if status == Status.OPTIMAL:
            if mip:
                facts["bound"] = min(float(info.mip_dual_bound), facts["objective"])
            else:
                facts["bound"] = facts["objective"]
                facts["duals"] = np.array(solution.row_dual)
                facts["reduced_costs"] = np.array(solution.col_dual)
        return MatrixResult(**facts)


def solve_matrix(
    c: ArrayLike,
    A: Any,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    col_lower: ArrayLike = 0.0,
    col_upper: ArrayLike = np.inf,
    *,
    integrality: ArrayLike | None = None,
    offset: float = 0.0,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 1e-9,
    hint: NDArray[np.float64] | None = None,
) -> MatrixResult:
    """Minimise ``c.x + offset`` over rows and bounds with HiGHS.

    Parameters are those of `HighsLP` and `HighsLP.solve`.

    Returns
    -------
    MatrixResult
        With duals and reduced costs if there is no integer column.

    Raises
    ------
    DataError
        If shapes do not fit or a number is NaN.

    Examples
    --------
    >>> r = solve_matrix([1.0, 1.0], [[1.0, 2.0]], 4.0, np.inf)
    >>> r.objective, r.duals.tolist()
    (2.0, [0.5])
    """
    model = HighsLP(
        c,
        A,
        row_lower,
        row_upper,
        col_lower,
        col_upper,
        integrality=integrality,
        offset=offset,
        threads=threads,
        seed=seed,
        gap=gap,
    )
    return model.solve(time_limit, hint)


def new_highs() -> Any:
    """Create a silent HiGHS object.

    The first one in a process writes a banner to file descriptor 1, whatever its options: it
    is sent away, so that a program which prints a table or JSON prints nothing else.
    """
    global _greeted
    import highspy

    if _greeted:
        h: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    else:
        sys.stdout.flush()
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            h = highspy.Highs()  # type: ignore[no-untyped-call]
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)
        _greeted = True
    h.silent()
    return h


def use_threads(threads: int) -> None:
    """Let HiGHS use this many threads from now on.

    HiGHS keeps one pool for the whole process and refuses a solve that asks for another
    number, so the pool is rebuilt when the number changes.
    """
    global _threads
    import highspy

    with _lock:
        if _threads is not None and _threads != threads:
            highspy.Highs.resetGlobalScheduler(True)
        _threads = threads


def _status(h: Any) -> Status | str:
    """Translate HiGHS' model status; one answer is left open for the caller."""
    import highspy

    of: Any = highspy.HighsModelStatus
    status = h.getModelStatus()
    if status in (of.kOptimal, of.kModelEmpty):
        return Status.OPTIMAL
    if status == of.kInfeasible:
        return Status.INFEASIBLE
    if status == of.kUnbounded:
        return Status.UNBOUNDED
    if status == of.kUnboundedOrInfeasible:
        return "unbounded or infeasible"
    feasible = h.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if status in (of.kHighsInterrupt, of.kInterrupt) and not feasible:
        return Status.INTERRUPTED
    return Status.FEASIBLE if feasible else Status.NO_INCUMBENT


def _filled(values: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """Return `values` as a checked array of shape (n,); a scalar stands for all."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, array)
    if array.shape != (n,):
        raise DataError(f"{name} has shape {array.shape}; the model asks for ({n},)")
    return _checked(np.ascontiguousarray(array), name)


def _checked(array: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if np.isnan(array).any():
        where = int(np.flatnonzero(np.isnan(array))[0])
        raise DataError(f"{name} is NaN at position {where}")
    return array
