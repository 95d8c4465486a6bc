"""The group of a tabular study, and the table of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.classifiers import Classifier
from groupcf.datasets import TabularData, train_test_rows
from groupcf.errors import ConfigError
from groupcf.problems import OneForMany, Problem
from groupcf.solution import Solution


def group(
    study: Mapping[str, Any],
    data: TabularData,
    classifier: Classifier,
    size: int | None = None,
) -> NDArray[np.int64]:
    """Return the rows of the group to be explained.

    Parameters
    ----------
    study : mapping
    data : TabularData
    classifier : Classifier
    size : int, optional
        Only the first so many of them.

    Raises
    ------
    ConfigError
        When a row is not in the data set, or there are fewer than `size`.
    """
    if study["instances"] == "predicted_negative":
        rows = np.flatnonzero(~classifier.predict_wanted(data.X))
    elif study["instances"] == "test_rows":
        rows = train_test_rows(data, study["test_share"])[1]
    else:
        rows = np.asarray(study["rows"], dtype=np.int64)
        if rows.max(initial=0) >= len(data.frame) or rows.min(initial=0) < 0:
            raise ConfigError(
                f"study {study['id']}, key instances: row {int(rows.max())} is not among the "
                f"{len(data.frame)} rows of {data.name}"
            )
    if size is not None and size > len(rows):
        raise ConfigError(
            f"study {study['id']}, key S: {size} is more than the {len(rows)} instances of the "
            "group; leave S out for all of them"
        )
    return rows[:size]


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
    # the fewest shared counterfactuals are chosen by number, and then by changed features
    moved = np.zeros(len(X))
    if not isinstance(problem.allocation, OneForMany):
        moved = problem.cost.distances(space, X0, X)
    price = 1.0 if isinstance(problem.allocation, OneForMany) else problem.cost.lam_ind
    table = pd.DataFrame(
        {
            "row": rows[edges[:, 0]],
            "counterfactual": edges[:, 1],
            "flipped": edges[:, 1] >= 0,
            "cost": moved + price * changed.sum(axis=1),
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
