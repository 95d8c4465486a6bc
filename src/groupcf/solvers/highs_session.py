"""What a process must know to use HiGHS: its banner, its thread pool, Ctrl-C, its statuses."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from groupcf.solution import Status

_greeted = False
_threads: int | None = None
_lock = threading.Lock()


def new_highs() -> Any:
    """Create a silent HiGHS object.

    The first one in a process writes a banner to file descriptor 1, whatever its options: it
    is sent away, so that a program which prints a table or JSON prints nothing else.
    """
    global _greeted
    import highspy

    with _lock:
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


@contextmanager
def stopped_by_ctrl_c(h: Any) -> Iterator[None]:
    """Let Ctrl-C stop a running HiGHS, then raise KeyboardInterrupt.

    Python handles a signal only between two of its instructions; HiGHS' callbacks give it
    these. Does nothing outside the main thread, where no signal arrives.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    h.HandleUserInterrupt = True
    pressed: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        pressed.append(number)
        h.cancelSolve()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def read_status(h: Any) -> Status | None:
    """Translate the status of the last run; None stands for "unbounded or infeasible"."""
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
        return None
    if status not in (
        of.kTimeLimit,
        of.kIterationLimit,
        of.kSolutionLimit,
        of.kInterrupt,
        of.kHighsInterrupt,
        of.kObjectiveBound,
        of.kObjectiveTarget,
        of.kUnknown,
    ):
        return Status.CRASHED  # an error inside HiGHS, or lack of memory
    feasible = h.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Status.FEASIBLE if feasible else Status.NO_INCUMBENT
