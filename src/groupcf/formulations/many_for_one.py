"""Many-for-one: several different counterfactuals for each instance (models.md section 2).

Instances do not depend on each other unless features are priced over the whole group, so each
is a reference formulation of its own with a row for each of its counterfactuals.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from groupcf.formulations.one_for_one import solve_reference
from groupcf.problems import ManyForOne, Problem, one_by_one
from groupcf.solution import Solution, Status

METHOD = "reference formulation by instance"


def solve_many_for_one(
    problem: Problem, *, time_limit: float | None = None, **options: Any
) -> Solution:
    """Solve a many-for-one problem.

    Parameters
    ----------
    problem : Problem
    time_limit : float or None
        Seconds for all instances together.
    **options
        Passed on to :func:`groupcf.formulations.one_for_one.solve_reference`.

    Returns
    -------
    Solution
        Counterfactual ``s * R + r`` is the r-th of instance s. `details`: costs by
        counterfactual, solver.
    """
    assert isinstance(problem.allocation, ManyForOne)
    start, each = time.perf_counter(), problem.allocation.each
    rows = np.arange(problem.n_instances)
    groups = [rows] if problem.cost.lam_glob > 0 else [rows[s : s + 1] for s in rows]
    parts: list[Solution] = []
    for k, group in enumerate(groups):
        spent = time.perf_counter() - start
        left = None if time_limit is None else max(0.1, (time_limit - spent) / (len(groups) - k))
        part = solve_reference(
            one_by_one(replace(problem, instances=problem.instances[group])),
            time_limit=left,
            **options,
        )
        parts.append(part)
        if not part.status.has_incumbent:
            who = f"instance {group[0]}" if len(group) == 1 else "the group"
            return Solution(
                status=part.status,
                method=METHOD,
                message=f"{who} (counted from 0): {part.message or part.status}",
                seconds=time.perf_counter() - start,
            )
    proven = all(p.status is Status.OPTIMAL for p in parts)
    bounds = [p.bound for p in parts]
    n = problem.n_instances * each
    values = [p.counterfactuals for p in parts if p.counterfactuals is not None]
    return Solution(
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        objective=float(sum(p.objective or 0.0 for p in parts)),
        bound=float(sum(b for b in bounds if b is not None)) if None not in bounds else None,
        method=METHOD,
        message=" ".join(sorted({p.message for p in parts if p.message})),
        seconds=time.perf_counter() - start,
        counterfactuals=np.vstack(values),
        edges=np.column_stack([np.repeat(rows, each), np.arange(n)]).astype(np.int64),
        details={
            "costs": [c for p in parts for c in p.details["costs"]],
            "solver": parts[0].details["solver"],
        },
    )
