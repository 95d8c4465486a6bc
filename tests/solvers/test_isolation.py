"""What happens in another process stays there."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from groupcf.errors import SolverCrashedError
from groupcf.solution import Status
from groupcf.solvers import isolation, run_isolated, solve
from groupcf.solvers.isolation import WorkerDiedError


def test_a_result_comes_back_and_the_process_is_used_again():
    assert run_isolated(math.comb, 5, 2) == 10
    first = run_isolated(os.getpid)
    assert first != os.getpid()
    assert run_isolated(os.getpid) == first


def test_keywords_and_large_data_pass():
    data = list(range(300_000))
    assert run_isolated(sorted, data, reverse=True) == data[::-1]


def test_an_exception_is_raised_here():
    with pytest.raises(ValueError, match="math domain"):
        run_isolated(math.sqrt, -1)
    assert run_isolated(math.sqrt, 4) == 2


def test_abort_is_named():
    with pytest.raises(SolverCrashedError, match="SIGABRT") as caught:
        run_isolated(os.abort)
    assert isinstance(caught.value, WorkerDiedError)
    assert caught.value.signal == signal.SIGABRT
    assert run_isolated(math.sqrt, 4) == 2


def test_the_last_output_is_kept():
    code = "import os; os.write(1, b'first\\nfree(): invalid pointer\\n'); os.abort()"
    with pytest.raises(SolverCrashedError, match=r"free\(\): invalid pointer"):
        run_isolated(exec, code)


def test_kill_and_exit_are_named():
    with pytest.raises(SolverCrashedError, match=r"SIGKILL \(often: out of memory\)"):
        run_isolated(signal.raise_signal, signal.SIGKILL)
    with pytest.raises(SolverCrashedError, match="exit code 3"):
        run_isolated(os._exit, 3)


def test_a_hang_is_killed():
    with pytest.raises(TimeoutError):
        run_isolated(time.sleep, 60, time_limit=0.2)
    assert run_isolated(math.sqrt, 4, time_limit=30) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="address space limits are Linux's")
def test_memory_is_limited_for_one_call():
    with pytest.raises(MemoryError):
        run_isolated(bytearray, 500_000_000, memory_limit_mb=100)
    assert len(run_isolated(bytes, 5_000_000, memory_limit_mb=100)) == 5_000_000
    assert run_isolated(eval, "len(bytearray(300_000_000))") == 300_000_000


def test_what_cannot_be_pickled_is_an_error():
    with pytest.raises(SolverCrashedError, match="cannot be pickled"):
        run_isolated(eval, "lambda: 1")


def test_threads_have_processes_of_their_own():
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(run_isolated(os.getpid))) for _ in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({*seen, run_isolated(os.getpid)}) == 3


def test_ctrl_c_kills_the_process():
    code = (
        "import os, threading, time\n"
        "from groupcf.solvers.isolation import run_isolated\n"
        "print(run_isolated(os.getpid), flush=True)\n"
        "try:\n"
        "    print('asleep', flush=True)\n"
        "    run_isolated(time.sleep, 60)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    worker = int(child.stdout.readline())
    assert child.stdout.readline() == "asleep\n"
    assert psutil.pid_exists(worker)
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=30)
    assert rest == "stopped\n"
    assert not _runs(worker)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal at the parent's death")
def test_a_killed_parent_takes_its_process_with_it():
    code = (
        "import os, time\n"
        "from groupcf.solvers.isolation import run_isolated\n"
        "print(run_isolated(os.getpid), flush=True)\n"
        "run_isolated(time.sleep, 60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    worker = int(child.stdout.readline())
    child.kill()
    child.wait()
    child.stdout.close()
    for _ in range(100):
        if not _runs(worker):
            break
        time.sleep(0.05)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGABRT, Status.CRASHED),
        (signal.SIGKILL, Status.CRASHED),
        (signal.SIGSEGV, Status.CRASHED),
        (signal.SIGTERM, Status.INTERRUPTED),
        (signal.SIGINT, Status.INTERRUPTED),
    ],
)
def test_a_solver_that_dies_is_a_status(models, monkeypatch, number, status):
    """The real path of a solve, with a solver whose run is a signal."""

    def die(function, *args, **kwargs):
        return isolation.run_isolated(signal.raise_signal, number)

    monkeypatch.setattr("groupcf.solvers.dispatch.run_isolated", die)
    r = solve(models.knapsack(), solver="highs", isolate=True)
    assert r.status == status
    assert number.name in r.message
    assert not r.values


def test_a_solver_that_does_not_stop_is_a_status(models, monkeypatch):
    def hang(function, *args, time_limit, **kwargs):
        return isolation.run_isolated(time.sleep, 60, time_limit=0.2)

    monkeypatch.setattr("groupcf.solvers.dispatch.run_isolated", hang)
    r = solve(models.knapsack(), solver="highs", isolate=True, time_limit=0.2)
    assert r.status == Status.NO_INCUMBENT
    assert "killed" in r.message


def test_lack_of_memory_is_a_status(models, solver):
    m = models.market_split(8, 80, equal=False)
    r = solve(m, solver=solver, memory_limit_mb=1, time_limit=5)
    assert r.status in (Status.CRASHED, Status.NO_INCUMBENT)
    assert "mem" in r.message.lower() or "MB" in r.message
    assert solve(models.knapsack(), solver=solver, isolate=True).status == Status.OPTIMAL


def test_ctrl_c_stops_a_solver(solver):
    code = (
        "import numpy as np, pyomo.environ as pyo\n"
        "from groupcf.solvers import solve\n"
        "a = np.random.default_rng(0).integers(0, 100, (6, 50))\n"
        "m = pyo.ConcreteModel()\n"
        "m.x = pyo.Var(range(50), domain=pyo.Binary)\n"
        "m.o = pyo.Objective(expr=m.x[0])\n"
        f"assert solve(m, solver={solver!r}).status == 'optimal'\n"
        "rows = [sum(int(v) * m.x[j] for j, v in enumerate(r)) == int(r.sum()) // 2 for r in a]\n"
        "m.c = pyo.Constraint(range(6), rule=lambda m, i: rows[i])\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    print(solve(m, solver={solver!r}, time_limit=60))\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.8)  # into the search
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=40)
    assert rest.endswith("stopped\n")  # Gurobi says a word of its own before
    assert child.returncode == 0
