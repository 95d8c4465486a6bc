"""``groupcf doctor``: what works on this machine, each claim tried rather than looked up."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import click

from groupcf.errors import GroupcfError, SolverCrashedError
from groupcf.solution import Status

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

REQUIRED_SOLVERS = ("highs", "scip", "cpsat")
_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "xgboost-cpu",
    "numba",
    "pyomo",
    "snakemake",
    "mlflow",
)
_OPTIONAL_PACKAGES = ("torch", "snakemake-executor-plugin-slurm")


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"  # something optional is not there
    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes
    ----------
    group, name : str
        What was looked at.
    verdict : Verdict
    detail : str
        What was found, and what to do about it.
    """

    group: str
    name: str
    verdict: Verdict
    detail: str


def checkup() -> list[Check]:
    """Look at Python, packages, solvers, isolation, the machine, data and tools.

    Returns
    -------
    list of Check
        In the order in which they are shown. FAILED stands only for what the default
        installation must have.
    """
    parts: tuple[Callable[[], Iterable[Check]], ...] = (
        _python,
        _packages,
        _solvers,
        _isolation,
        _machine,
        _data,
        _tools,
    )
    return [check for part in parts for check in part()]


def render(checks: Iterable[Check], width: int | None = None) -> str:
    """Return the checks as a text table, coloured on a terminal that shows colours.

    Parameters
    ----------
    checks : iterable of Check
    width : int, optional
        Columns of the terminal; found out by default.

    Returns
    -------
    str
    """
    import rich.box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {Verdict.OK: "green", Verdict.NOTE: "yellow", Verdict.FAILED: "bold red"}
    table = Table(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    for title, ratio in (("", None), ("", None), ("", None), ("found", 1)):
        table.add_column(title, ratio=ratio, overflow="fold")
    last = ""
    for check in checks:
        table.add_row(
            Text("" if check.group == last else check.group, style="bold"),
            Text(check.name),
            Text(check.verdict, style=colours[check.verdict]),
            Text(check.detail),
        )
        last = check.group
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def main() -> int:
    """Print the report; return 0 if everything that the default needs works, otherwise 1."""
    checks = checkup()
    print(render(checks))
    failed = [check for check in checks if check.verdict == Verdict.FAILED]
    for check in failed:
        print(f"failed: {check.group}, {check.name}: {check.detail}", file=sys.stderr)
    return 1 if failed else 0


@click.command(name="doctor")
def command() -> None:
    """Say what works on this machine; exit code 1 if a default solver does not."""
    sys.exit(main())


def _python() -> list[Check]:
    system = f"{platform.system()} {platform.machine()}"
    return [
        Check("groupcf", "version", Verdict.OK, importlib.metadata.version("groupcf")),
        Check("groupcf", "Python", Verdict.OK, f"{platform.python_version()}, {system}"),
    ]


def _packages() -> list[Check]:
    checks = []
    for name in (*_PACKAGES, *_OPTIONAL_PACKAGES):
        try:
            checks.append(Check("packages", name, Verdict.OK, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            optional = name in _OPTIONAL_PACKAGES
            checks.append(
                Check(
                    "packages",
                    name,
                    Verdict.NOTE if optional else Verdict.FAILED,
                    f"not installed{' (optional)' if optional else ''}: pip install {name}",
                )
            )
    return checks


def _solvers() -> list[Check]:
    from groupcf.solvers import SOLVERS

    return [_solver(name) for name in SOLVERS]


def _solver(name: str) -> Check:
    """Solve a tiny model of the hardest kind that the solver takes here by default."""
    from groupcf.solvers import SOLVERS, Capability, available, solve

    solver, state = SOLVERS[name], available(name)
    lack = Verdict.FAILED if name in REQUIRED_SOLVERS else Verdict.NOTE
    if not state.ok:
        return Check("solvers", solver.title, lack, state.reason)
    quadratic = Capability.MIQP in solver.capabilities
    try:
        result = solve(_tiny(quadratic), solver=name, time_limit=60)
    except GroupcfError as error:
        return Check("solvers", solver.title, lack, f"{state.version}: {error}")
    kinds = ", ".join(c.name for c in Capability if c in solver.capabilities)
    facts = f"{state.version}, licence {state.licence}, {kinds}"
    if result.status != Status.OPTIMAL or abs((result.objective or 0.0) - 2.0) > 1e-6:
        answer = f"{result.status} {result.objective}"
        wrong = f"a tiny model with optimum 2 gave {answer}: {result.message}"
        return Check("solvers", solver.title, lack, f"{facts}; {wrong}")
    proof = "mixed-integer quadratic" if quadratic else "integer linear"
    return Check("solvers", solver.title, Verdict.OK, f"{facts}; solved a tiny {proof} model")


def _tiny(quadratic: bool) -> ConcreteModel:
    """Return a model whose optimum is 2, at x = y = 1."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.row = pyo.Constraint(expr=3 * model.x + 2 * model.y >= 5)
    cost = model.x**2 + model.y**2 if quadratic else model.x + model.y
    model.cost = pyo.Objective(expr=cost)
    return model


def _isolation() -> list[Check]:
    from groupcf.solvers import run_isolated

    name = "crash isolation"
    try:
        run_isolated(signal.raise_signal, signal.SIGABRT, time_limit=60)
    except SolverCrashedError as error:
        if "SIGABRT" in str(error):
            return [Check("solvers", name, Verdict.OK, "an abort in a solver is survived")]
        return [Check("solvers", name, Verdict.FAILED, str(error))]
    except (OSError, TimeoutError) as error:
        return [Check("solvers", name, Verdict.FAILED, f"no process could be started: {error}")]
    return [Check("solvers", name, Verdict.FAILED, "an abort was not noticed")]


def _machine() -> list[Check]:
    import psutil

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory()
    free = f"{memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GB free"
    return [
        Check("machine", "threads", Verdict.OK, f"{usable} of {os.cpu_count()} may be used"),
        Check("machine", "memory", Verdict.OK, free),
    ]


def _data() -> list[Check]:
    from groupcf.datasets import names, where
    from groupcf.datasets.sources import MIRROR_VARIABLE, mirror, offline

    try:
        place = mirror()
    except GroupcfError as error:
        return [Check("data", "mirror", Verdict.FAILED, str(error))]
    checks = [
        Check("data", "mirror", Verdict.NOTE, f"{MIRROR_VARIABLE} is not set (optional)")
        if place is None
        else Check("data", "mirror", Verdict.OK, str(place))
    ]
    found: dict[str, list[str]] = {}
    for kind in ("tabular", "series", "units"):
        for name in names(kind):
            found.setdefault(where(name, kind=kind) or "", []).append(name)
    absent = found.pop("", [])
    for origin, sets in found.items():
        checks.append(Check("data", origin, Verdict.OK, ", ".join(sets)))
    if absent:
        how = "skipped, the network is switched off" if offline() else "fetched when first used"
        checks.append(Check("data", "not here", Verdict.NOTE, f"{', '.join(absent)}: {how}"))
    return checks


def _tools() -> list[Check]:
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        return [Check("tools", "SLURM", Verdict.NOTE, "no sbatch on PATH (optional)")]
    return [Check("tools", "SLURM", Verdict.OK, f"sbatch is {sbatch}")]
