"""Parameters of a fitted XGBClassifier, read from the booster's own JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.scores import Link
from groupcf.classifiers.tree_folding import NativeTrees, Rule
from groupcf.errors import ClassifierError


def xgboost_trees(estimator: Any, wanted: int, vote: str) -> NativeTrees:
    """Read the trees that predict_proba uses: up to the best iteration after early stopping."""
    if vote == "hard":
        raise ClassifierError(
            "vote: the trees of an XGBClassifier add up and have no vote of their own; "
            "vote='hard' is for forests"
        )
    model = json.loads(estimator.get_booster().save_raw("json"))["learner"]
    booster, objective = model["gradient_booster"], model["objective"]["name"]
    if booster["name"] != "gbtree":
        raise ClassifierError(f"XGBClassifier(booster={booster['name']!r}): use booster='gbtree'")
    if objective != "binary:logistic":
        raise ClassifierError(f"XGBClassifier(objective={objective!r}): use 'binary:logistic'")
    if not (isinstance(estimator.missing, float) and math.isnan(estimator.missing)):
        raise ClassifierError(
            f"XGBClassifier(missing={estimator.missing!r}): mark missing values by NaN"
        )
    ensemble = booster["model"]
    trees = ensemble["trees"]
    best = getattr(estimator, "best_iteration", None)
    if best is not None:
        trees = trees[: ensemble["iteration_indptr"][best + 1]]
    if any(any(t["split_type"]) for t in trees):
        raise ClassifierError(
            "XGBClassifier(enable_categorical=True) splits on sets of categories, which has no "
            "score model; fit it behind a OneHotEncoder"
        )
    sizes = [len(t["left_children"]) for t in trees]
    roots = np.cumsum([0, *sizes[:-1]])

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([np.asarray(t[name]) for t in trees])

    shift = np.repeat(roots, sizes)
    own_left, own_right = joined("left_children"), joined("right_children")
    leaf = own_left < 0
    # the JSON prints the shortest decimals that give back the single-precision number
    conditions = joined("split_conditions").astype(np.float32).astype(float)
    sign = 1.0 if wanted == 1 else -1.0
    return NativeTrees(
        column=np.where(leaf, -1, joined("split_indices")).astype(np.int64),
        threshold=np.where(leaf, 0.0, conditions),
        left=np.where(leaf, -1, own_left + shift).astype(np.int64),
        right=np.where(leaf, -1, own_right + shift).astype(np.int64),
        value=np.where(leaf, conditions, 0.0),
        roots=roots.astype(np.int64),
        weights=np.full(len(trees), sign),
        base=sign * _base_margin(model["learner_model_param"]["base_score"]),
        link=Link.LOGISTIC,
        rule=Rule.BELOW_SINGLE,
        missing_left=joined("default_left").astype(bool),
        single_precision=True,
        zeros_missing=True,
    )


def _base_margin(base_score: str) -> float:
    """Return the logit of the base score, with the booster's single-precision steps."""
    probability = np.float32(base_score.strip("[]"))
    odds = np.float32(1) / probability - np.float32(1)
    return float(np.float32(-math.log(odds)))
