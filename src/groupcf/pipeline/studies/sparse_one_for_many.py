"""Sparse one-for-many studies: the fewest shared counterfactuals (models.md section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from groupcf.classifiers import Classifier
from groupcf.datasets import TabularData
from groupcf.features import Kind
from groupcf.pipeline.studies import Answer
from groupcf.pipeline.studies.instances import group, instance_table
from groupcf.problems import OneForMany, Problem
from groupcf.router import solve as route
from groupcf.solution import Solution
from groupcf.verify import verify

MODEL = "sparse one-for-many"
FEW = 60
"""Up to so many counterfactuals are kept as points for a figure."""


def run(
    study: Mapping[str, Any],
    solve: Mapping[str, Any],
    data: TabularData,
    classifier: Classifier,
    options: Mapping[str, Any],
) -> Answer:
    """Solve one cell: a group of S instances, at most J_max changed features a cluster."""
    given = solve["parameters"]
    rows = group(study, data, classifier, given.get("S"))
    problem = Problem(
        space=data.space,
        score=classifier.score,
        instances=data.X[rows],
        threshold=classifier.score.link.threshold(given["nu"]),
        allocation=OneForMany(max_changed=given["J_max"]),
    )
    if study.get("timed"):
        # compiled code is loaded, or compiled for the first time, before the clock runs
        route(replace(problem, instances=problem.instances[:2]), time_limit=60)
    solution = route(
        problem,
        method=given.get("method", options["method"]),
        solver=options["solver"],
        time_limit=options["time_limit"],
        threads=options["threads"],
    )
    answer: dict[str, Any] = {
        "model": MODEL,
        "solution": solution,
        "verification": verify(problem, solution, classifier),
        "n_instances": len(rows),
    }
    details = dict(solution.details)
    details["unreachable"] = [int(rows[i]) for i in details.get("unreachable", ())]
    if not solution.status.has_incumbent:
        return Answer(**answer, details=details)
    table, changed = instance_table(problem, solution, classifier, rows)
    served = int(table["flipped"].sum())
    counts = {n: int(c) for n, c in zip(data.space.names, changed.sum(axis=0), strict=True) if c}
    return Answer(
        **answer,
        n_flipped=served,
        changed_features=counts,
        outliers=details["unreachable"],
        details=details | {"points": _points(problem, solution)},
        instances=table,
    )


def _points(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Return the counterfactuals as they are drawn: columns, and their 0/1 values."""
    X = solution.counterfactuals
    if X is None or len(X) > FEW:
        return {}
    columns = []
    for feature in problem.space.features:
        if feature.kind is Kind.NOMINAL:
            columns += [f"{feature.name} = {c}" for c in feature.categories]
        elif feature.kind is Kind.BINARY and feature.categories:
            columns.append(f"{feature.name} = {feature.categories[-1]}")
        else:
            columns.append(feature.name)
    scale = np.maximum(np.abs(X).max(axis=0), 1.0)
    return {"columns": columns, "values": (X / scale).round(6).tolist()}
