"""Counterfactual curves: convex combinations of observed ones (models.md section 5)."""

from __future__ import annotations

from groupcf.functional.curves import CurveClassifier, classify_curves
from groupcf.functional.dtw import dtw_cost, solve_dtw
from groupcf.functional.problem import FunctionalProblem, FunctionalSolution
from groupcf.functional.prototypes import solve_euclidean
from groupcf.functional.verification import verify_curves

__all__ = [
    "CurveClassifier",
    "FunctionalProblem",
    "FunctionalSolution",
    "classify_curves",
    "dtw_cost",
    "solve_dtw",
    "solve_euclidean",
    "verify_curves",
]
