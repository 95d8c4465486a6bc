"""The process at the other end of `groupcf.solvers.isolation`.

Reads pickled requests from standard input and answers on what was standard output; whatever
a solver prints goes to standard error. Imports nothing but the standard library before a
request names a function.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from groupcf.errors import SolverCrashedError
from groupcf.solvers.isolation import HEADER, READY, after_answer


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a signal from outside ends the process
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while True:
        answers.write(READY)
        answers.flush()
        header = requests.read(HEADER)
        if len(header) < HEADER:
            return
        _answer(requests.read(int.from_bytes(header, "little")), answers)
        for release in after_answer:
            release()


def _answer(request: bytes, answers: IO[bytes]) -> None:
    answer: tuple[str, Any]
    try:
        function, args, kwargs, imports, memory_limit_mb = pickle.loads(request)
        for module in imports:
            importlib.import_module(module)
        with _memory(memory_limit_mb):
            answer = ("value", function(*args, **kwargs))
    except Exception as error:
        answer = ("error", error)
    try:
        payload = pickle.dumps(answer)
        pickle.loads(payload)  # some exceptions can be written but not read
    except Exception as error:
        reason = f"the answer {answer[1]!r} cannot be pickled: {error}"
        payload = pickle.dumps(("error", SolverCrashedError(reason)))
    answers.write(len(payload).to_bytes(HEADER, "little"))
    answers.write(payload)
    answers.flush()


@contextlib.contextmanager
def _memory(limit_mb: float | None) -> Iterator[None]:
    """Limit the address space to what is in use now and so much more."""
    if limit_mb is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _in_use() + int(limit_mb * 2**20)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _in_use() -> int:
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    main()
