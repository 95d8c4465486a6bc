"""One-for-one studies: CEsep and ColCE (models.md section 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from groupcf.classifiers import Classifier
from groupcf.costs import Cost
from groupcf.datasets import TabularData
from groupcf.pipeline.studies import Answer
from groupcf.pipeline.studies.instances import group, instance_table
from groupcf.problems import OneForOne, Problem
from groupcf.router import solve as route
from groupcf.verify import verify


def run(
    study: Mapping[str, Any],
    solve: Mapping[str, Any],
    data: TabularData,
    classifier: Classifier,
    options: Mapping[str, Any],
) -> Answer:
    """Solve one parameter setting of a one-for-one study."""
    rows = group(study, data, classifier)
    given = solve["parameters"]
    s_star = given.get("s_star")
    if "s_share" in given:
        # rounded to the nearest: the text says rounded up, but its numbers of outliers
        # (14 of 286, 144 of 2877, 13 of 258) are those of rounding
        s_star = math.floor(given["s_share"] * len(rows) + 0.5)
    problem = Problem(
        space=data.space,
        score=classifier.score,
        instances=data.X[rows],
        threshold=classifier.score.link.threshold(given["nu"]),
        allocation=OneForOne(
            s_star=s_star, f_max=given.get("f_max"), max_changed=given.get("max_changed")
        ),
        cost=Cost(
            gauge=given.get("gauge", "l2_squared"),
            lam_ind=given.get("lam_ind", 0.0),
            lam_glob=given.get("lam_glob", 0.0),
        ),
    )
    solution = route(
        problem,
        method=options["method"],
        solver=options["solver"],
        time_limit=options["time_limit"],
        threads=options["threads"],
    )
    collective = problem.cost.lam_glob > 0 or problem.one_for_one.f_max is not None
    answer: dict[str, Any] = {
        "model": "ColCE" if collective else "CEsep",
        "solution": solution,
        "verification": verify(problem, solution, classifier),
        "n_instances": len(rows),
    }
    if not solution.status.has_incumbent:
        return Answer(**answer, details=dict(solution.details))
    served = solution.pairs()[:, 0]
    stays = np.setdiff1d(np.arange(len(rows)), served)
    table, changed = instance_table(problem, solution, classifier, rows)
    counts = {n: int(c) for n, c in zip(data.space.names, changed.sum(axis=0), strict=True) if c}
    return Answer(
        **answer,
        n_flipped=len(served),
        changed_features=counts,
        outliers=[int(rows[i]) for i in stays],
        details=dict(solution.details) | {"s_star": s_star},
        instances=table,
    )
