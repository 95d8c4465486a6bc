"""groupcf: group counterfactual analysis with proofs.

The public names are imported on first use, so that ``import groupcf`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Cost": "groupcf.costs",
    "Explanation": "groupcf.explanation",
    "Feature": "groupcf.features",
    "FeatureSpace": "groupcf.features",
    "Kind": "groupcf.features",
    "ManyForOne": "groupcf.problems",
    "OneForMany": "groupcf.problems",
    "OneForOne": "groupcf.problems",
    "Problem": "groupcf.problems",
    "Solution": "groupcf.solution",
    "Status": "groupcf.solution",
    "explain": "groupcf.explanation",
    "solve": "groupcf.router",
}

__all__ = [
    "Cost",
    "Explanation",
    "Feature",
    "FeatureSpace",
    "Kind",
    "ManyForOne",
    "OneForMany",
    "OneForOne",
    "Problem",
    "Solution",
    "Status",
    "explain",
    "solve",
]

if TYPE_CHECKING:
    from groupcf.costs import Cost
    from groupcf.explanation import Explanation, explain
    from groupcf.features import Feature, FeatureSpace, Kind
    from groupcf.problems import ManyForOne, OneForMany, OneForOne, Problem
    from groupcf.router import solve
    from groupcf.solution import Solution, Status


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'groupcf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
