"""Run a function in a process of its own: a crash, a hang or a lack of memory stays there.

A worker is kept and used again by the next call of the same thread, so that starting Python
and importing a solver is paid once. Workers are ordinary processes started with the running
interpreter, not forks: a fork would inherit the threads and locks of solver libraries.
POSIX only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from groupcf.errors import SolverCrashedError

T = TypeVar("T")

READY = b"\x06"
HEADER = 8
_TAIL = 8  # last lines of a dead worker that its error repeats

after_answer: list[Callable[[], None]] = []
"""Called in the worker after an answer is on its way: release what may crash when freed."""


class WorkerDiedError(SolverCrashedError):
    """The process ended before it answered.

    Attributes
    ----------
    signal : int or None
        Signal that ended it; None if it exited by itself.
    """

    def __init__(self, message: str, signal: int | None = None) -> None:
        super().__init__(message)
        self.signal = signal


def run_isolated(
    function: Callable[..., T],
    /,
    *args: Any,
    time_limit: float | None = None,
    memory_limit_mb: float | None = None,
    imports: tuple[str, ...] = (),
    **kwargs: Any,
) -> T:
    """Call a function in another process and return what it returns.

    Parameters
    ----------
    function : callable
        Defined at the top of an importable module; arguments and result can be pickled.
    *args, **kwargs
        Passed on.
    time_limit : float, optional
        Seconds after which the process and its children are killed.
    memory_limit_mb : float, optional
        Megabytes of address space that the call may take beyond what the process has.
    imports : tuple of str
        Modules to import before the memory limit holds.

    Returns
    -------
    object

    Raises
    ------
    WorkerDiedError
        If the process ends without an answer (`SolverCrashedError` with its signal and the
        last lines of its output).
    TimeoutError
        If the time limit is over.
    MemoryError
        If the function ran out of memory and could say so.
    Exception
        What the function raised.
    """
    if getattr(function, "__module__", None) == "__main__":
        raise TypeError(f"{function.__qualname__} must be defined in a module, not in a script")
    request = pickle.dumps((function, args, kwargs, imports, memory_limit_mb))
    start = time.monotonic()
    worker, _idle.worker = _idle.worker, None
    try:
        if worker is not None and not worker.ready():
            worker.kill()
            worker = None
        if worker is None:
            worker = _Worker()
        kind, answer = worker.ask(request, None if time_limit is None else start + time_limit)
    except BaseException:  # KeyboardInterrupt among them: nothing may go on in the background
        if worker is not None:
            worker.kill()
        raise
    _idle.worker = worker
    if kind == "error":
        raise answer
    return answer  # type: ignore[no-any-return]


class _Worker:
    """A process that answers requests, one at a time."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "groupcf.solvers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._fresh = True

    def ready(self) -> bool:
        """Whether the process is of this process, alive, and done with its last request."""
        if os.getpid() != self._owner:  # this is a fork: the worker is the parent's
            return False
        if self._process.poll() is not None:
            return False
        try:
            return self._read(1, time.monotonic() + 60) == READY
        except (WorkerDiedError, TimeoutError):
            return False

    def ask(self, request: bytes, deadline: float | None) -> tuple[str, Any]:
        """Send a request and wait for its answer."""
        if self._fresh and self._read(1, None) != READY:
            raise WorkerDiedError("the solver process does not speak the protocol")
        self._fresh = False
        try:
            self._output.seek(0)
            self._output.truncate()
            for part in (len(request).to_bytes(HEADER, "little"), request):
                view = memoryview(part)
                while view:
                    view = view[self._requests.write(view) or 0 :]
        except BrokenPipeError:
            raise self._death() from None
        length = int.from_bytes(self._read(HEADER, deadline), "little")
        kind, answer = pickle.loads(self._read(length, None))
        return kind, answer

    def _read(self, length: int, deadline: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._answers], [], [], left)[0]:
                raise TimeoutError("the solver process did not answer in time and was killed")
            part = os.read(self._answers.fileno(), min(length - len(parts), 1 << 20))
            if not part:
                raise self._death()
            parts += part
        return bytes(parts)

    def _death(self) -> WorkerDiedError:
        code = self._process.wait()
        number = -code if code < 0 else None
        how = f"ended with exit code {code}" if number is None else f"died of {_name(number)}"
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        hint = " (often: out of memory)" if number == signal.SIGKILL else ""
        if any("bad_alloc" in line or "MemoryError" in line for line in lines):
            hint = " (out of memory)"
        last = "; last output: " + " | ".join(lines[-_TAIL:]) if lines else ""
        return WorkerDiedError(f"the solver process {how}{hint}{last}", number)

    def kill(self) -> None:
        """End the process and whatever it started."""
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._requests.close()
        self._answers.close()
        self._output.close()


class _Idle(threading.local):
    """The worker that waits for the next call of this thread.

    One a thread: on Linux a worker dies with the thread that started it.
    """

    worker: _Worker | None = None


_idle = _Idle()


@atexit.register
def close() -> None:
    """End the idle worker of this thread; the next call starts another."""
    worker, _idle.worker = _idle.worker, None
    if worker is not None:
        worker.kill()


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
