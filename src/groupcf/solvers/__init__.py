"""Solvers: one file each, one call for a Pyomo model, and a matrix interface to HiGHS.

`solve` is for models; `groupcf.solvers.highs` and `groupcf.solvers.set_cover` are for methods
that need linear programs, duals or covers without a modelling layer;
`groupcf.solvers.isolation` runs anything that may crash in a process of its own. Nothing is
imported before it is used: a solver process must start quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "SOLVERS": "groupcf.solvers.dispatch",
    "Availability": "groupcf.solvers.base",
    "Capability": "groupcf.solvers.base",
    "SolveResult": "groupcf.solvers.dispatch",
    "Solver": "groupcf.solvers.base",
    "available": "groupcf.solvers.dispatch",
    "choose": "groupcf.solvers.dispatch",
    "classify": "groupcf.solvers.dispatch",
    "run_isolated": "groupcf.solvers.isolation",
    "solve": "groupcf.solvers.dispatch",
}

__all__ = [
    "SOLVERS",
    "Availability",
    "Capability",
    "SolveResult",
    "Solver",
    "available",
    "choose",
    "classify",
    "run_isolated",
    "solve",
]

if TYPE_CHECKING:
    from groupcf.solvers.base import Availability, Capability, Solver
    from groupcf.solvers.dispatch import (
        SOLVERS,
        SolveResult,
        available,
        choose,
        classify,
        solve,
    )
    from groupcf.solvers.isolation import run_isolated


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'groupcf.solvers' has no attribute {name!r}")
