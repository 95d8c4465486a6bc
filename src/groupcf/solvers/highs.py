"""HiGHS without a modelling layer: linear and mixed-integer programs given as arrays.

Column generation, set covers and DEA solve many small linear programs and need duals; they
call `solve_matrix` once or keep a `HighsLP` to which columns are added.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.errors import DataError
from groupcf.solution import Status
from groupcf.solvers.base import Capability, Options, Record, Run, Solver, recorder
from groupcf.solvers.highs_session import new_highs, read_status, stopped_by_ctrl_c, use_threads
from groupcf.solvers.program import Program, Quadratic, Rows


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
    A : sparse or dense matrix of shape (m, n), or Rows
        n = 0 is allowed with ``A`` of shape (m, 0).
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
        m, n, *rows = _compressed(A, len(costs))
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
            len(rows[2]),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            float(offset),
            _checked(costs, "c"),
            _filled(col_lower, n, "col_lower"),
            _filled(col_upper, n, "col_upper"),
            _filled(row_lower, m, "row_lower"),
            _filled(row_upper, m, "row_upper"),
            *rows,
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
        m, k, *columns = _compressed(A, by_columns=True)
        if m != self.shape[0]:
            raise DataError(f"the new columns have {m} rows, the model {self.shape[0]}")
        self._h.addCols(
            k,
            _filled(c, k, "c"),
            _filled(col_lower, k, "col_lower"),
            _filled(col_upper, k, "col_upper"),
            len(columns[2]),
            *columns,
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
        k, n, *rows = _compressed(A)
        if n != self.shape[1]:
            raise DataError(f"the new rows have {n} columns, the model {self.shape[1]}")
        self._h.addRows(
            k,
            _filled(row_lower, k, "row_lower"),
            _filled(row_upper, k, "row_upper"),
            len(rows[2]),
            *rows,
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

    def set_quadratic(self, form: Quadratic) -> None:
        """Add a convex quadratic form to the objective."""
        import highspy
        from scipy import sparse

        n = self.shape[1]
        low, high = np.maximum(form.i, form.j), np.minimum(form.i, form.j)
        # HiGHS minimises x.Q.x / 2 and wants the lower triangle of Q by columns
        value = np.where(low == high, 2.0, 1.0) * form.v
        triangle = sparse.coo_matrix((value, (low, high)), shape=(n, n)).tocsc()
        self._h.passHessian(
            n,
            triangle.nnz,
            int(highspy.HessianFormat.kTriangular),
            triangle.indptr.astype(np.int32),
            triangle.indices.astype(np.int32),
            triangle.data,
        )

    def watch(self, record: Record) -> list[NDArray[np.float64]]:
        """Call `record` with seconds, incumbent and bound during a mixed-integer search.

        Returns
        -------
        list of ndarray of shape (n,)
            Filled with the incumbents, each better than the one before.
        """
        met: list[NDArray[np.float64]] = []

        def keep(event: Any) -> None:
            met.append(np.array(event.data_out.mip_solution))

        def note(event: Any) -> None:
            out = event.data_out
            record(
                out.running_time,
                out.mip_primal_bound if np.isfinite(out.mip_primal_bound) else None,
                out.mip_dual_bound if np.isfinite(out.mip_dual_bound) else None,
            )

        # HiGHS reports its bounds only where it would also print them
        self._h.setOptionValue("output_flag", True)
        self._h.setOptionValue("log_to_console", False)
        self._h.cbMipImprovingSolution.subscribe(note)
        self._h.cbMipImprovingSolution.subscribe(keep)
        self._h.cbMipLogging.subscribe(note)
        return met

    def log_to(self, path: str) -> None:
        """Write the log of HiGHS to a file."""
        self._h.setOptionValue("output_flag", True)
        self._h.setOptionValue("log_to_console", False)
        self._h.setOptionValue("log_file", path)

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
        if status is None:
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

    def _run(self, start: float, time_limit: float | None) -> Status | None:
        import highspy

        # HiGHS counts the time of all runs of an object together
        if time_limit is None:
            limit = highspy.kHighsInf
        else:
            left = time_limit - (time.perf_counter() - start)
            limit = self._h.getRunTime() + max(left, 0.0)
        self._h.setOptionValue("time_limit", limit)
        use_threads(self._threads)
        with stopped_by_ctrl_c(self._h):
            self._h.run()
        return read_status(self._h)

    def _feasible_somewhere(self, start: float, time_limit: float | None) -> Status:
        """Tell infeasible from unbounded: without costs only the former can fail."""
        costs = np.asarray(self._h.getLp().col_cost_, dtype=np.float64)
        self.set_costs(np.zeros(len(costs)))
        found = self._run(start, time_limit)
        self.set_costs(costs)
        if found == Status.OPTIMAL:
            return Status.UNBOUNDED
        return Status.INFEASIBLE if found == Status.INFEASIBLE else Status.NO_INCUMBENT

    def _read(self, status: Status, seconds: float, message: str) -> MatrixResult:
        if status in (Status.FEASIBLE, Status.NO_INCUMBENT, Status.CRASHED) and not message:
            words = self._h.modelStatusToString(self._h.getModelStatus())
            message = f"HiGHS stopped: {words}"
        info = self._h.getInfo()
        mip = bool(self._integer.any())
        facts: dict[str, Any] = {
            "status": status,
            "seconds": seconds,
            "iterations": max(0, info.simplex_iteration_count),
            "nodes": max(0, info.mip_node_count) if mip else 0,
            "message": message,
        }
        if mip and np.isfinite(info.mip_dual_bound) and status != Status.UNBOUNDED:
            facts["bound"] = float(info.mip_dual_bound)
        if not status.has_incumbent:
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


class Highs(Solver):
    """Adapter for HiGHS: linear and mixed-integer programs, convex quadratic objectives."""

    name = "highs"
    title = "HiGHS"
    package = "highspy"
    module = "highspy"
    install = "pip install highspy"
    licence = "MIT"
    capabilities = frozenset({Capability.LP, Capability.MILP, Capability.QP})

    def _solve(self, program: Program, options: Options) -> Run:
        lp = HighsLP(
            program.c,
            program.rows,
            program.rows.lower,
            program.rows.upper,
            program.lower,
            program.upper,
            integrality=program.integer,
            threads=options.threads,
            seed=options.seed,
            gap=options.gap,
        )
        if program.quadratic is not None:
            lp.set_quadratic(program.quadratic)
        history: list[tuple[float, float | None, float | None]] = []
        met: list[NDArray[np.float64]] = []
        if program.integer.any():
            met = lp.watch(recorder(history))
        if options.log is not None:
            lp.log_to(options.log)
        found = lp.solve(options.time_limit, options.hint)
        history.append((found.seconds, found.objective, found.bound))
        return Run(
            status=found.status,
            x=found.x,
            objective=found.objective,
            bound=found.bound,
            nodes=found.nodes,
            history=history,
            message=found.message,
            pool=met[::-1],
        )


def _compressed(A: Any, width: int = 0, by_columns: bool = False) -> tuple[int, int, Any, Any, Any]:
    """Return both dimensions of a matrix, starts, indices and values by rows or columns."""
    if isinstance(A, Rows):  # without SciPy, whose import a solver process would pay for
        start, index, value, shape = A.start, A.index, A.value, (len(A), width)
    else:
        from scipy import sparse

        matrix = (sparse.csc_matrix if by_columns else sparse.csr_matrix)(A, dtype=np.float64)
        if not matrix.has_canonical_format:  # HiGHS refuses entries that occur twice
            matrix = matrix.copy()
            matrix.sum_duplicates()
        start, index, value, shape = matrix.indptr, matrix.indices, matrix.data, matrix.shape
    # the end of the last row or column is the number of entries: HiGHS does not want it
    return (*shape, start[:-1].astype(np.int32), index.astype(np.int32), _checked(value, "A"))


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
