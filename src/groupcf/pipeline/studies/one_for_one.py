"""One-for-one studies: CEsep and ColCE (models.md section 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.classifiers import Classifier
from groupcf.costs import Cost
from groupcf.datasets import TabularData
from groupcf.errors import ConfigError
from groupcf.pipeline.studies import Answer
from groupcf.problems import OneForOne, Problem
from groupcf.router import solve as route
from groupcf.solution import Solution
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


def group(study: Mapping[str, Any], data: TabularData, classifier: Classifier) -> NDArray[np.int64]:
    """Return the rows of the group to be explained.

    Raises
    ------
    ConfigError
        When a row is not in the data set.
    """
    if study["instances"] == "predicted_negative":
        return np.flatnonzero(~classifier.predict_wanted(data.X))
    rows = np.asarray(study["rows"], dtype=np.int64)
    if rows.max(initial=0) >= len(data.frame) or rows.min(initial=0) < 0:
        raise ConfigError(
            f"study {study['id']}, key instances: row {int(rows.max())} is not among the "
            f"{len(data.frame)} rows of {data.name}"
        )
    return rows


def instance_table(
    problem: Problem, solution: Solution, classifier: Classifier, rows: NDArray[np.int64]
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Return the table of originals and counterfactuals, and which features changed.

    One row per (instance, counterfactual); an instance that stays has counterfactual -1
    and its own values on both sides.
    """
    assert solution.counterfactuals is not None
    space = problem.space
    pairs = solution.pairs()
    stays = np.setdiff1d(np.arange(len(rows)), pairs[:, 0])
    edges = np.vstack([pairs, np.column_stack([stays, np.full(len(stays), -1)])])
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    X0 = problem.instances[edges[:, 0]]
    X = np.where(edges[:, 1:] >= 0, solution.counterfactuals[edges[:, 1]], X0)
    changed, diff = space.changed(X0, X), space.differences(X0, X)
    before, after = space.decode(X0), space.decode(X)
    table = pd.DataFrame(
        {
            "row": rows[edges[:, 0]],
            "counterfactual": edges[:, 1],
            "flipped": edges[:, 1] >= 0,
            "cost": problem.cost.distances(space, X0, X)
            + problem.cost.lam_ind * changed.sum(axis=1),
            "score0": problem.score.decision(X0),
            "probability0": classifier.probability(X0),
            "score": problem.score.decision(X),
            "probability": classifier.probability(X),
        }
    )
    parts = [table]
    for j, name in enumerate(space.names):
        parts.append(
            pd.DataFrame(
                {
                    f"from {name}": before[name],
                    # a value that did not change is the same to the last digit
                    f"to {name}": after[name].where(changed[:, j], before[name]),
                    f"diff {name}": np.where(changed[:, j], diff[:, j], 0.0),
                }
            )
        )
    return pd.concat(parts, axis=1), changed
