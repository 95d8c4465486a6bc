"""From a fitted estimator or Pipeline to its score model.

A registry maps class names to convertors, so that nothing is imported for an estimator
that is not used. A convertor reads the estimator's parameters into a score on the columns
that the estimator itself reads (its *native* score); the preprocessing in front of it is
then folded in.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from groupcf.classifiers.inputs import Inputs, source
from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.preprocessing import follow, split_pipeline
from groupcf.classifiers.scores import LinearScore
from groupcf.classifiers.tree_folding import NativeTrees, fold_trees
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import ClassifierError
from groupcf.features import FeatureSpace

Vote = Literal["soft", "hard"]
NativeScore = LinearScore | NetworkScore | NativeTrees

_SKLEARN = "sklearn_models"
REGISTRY: dict[str, tuple[str, str, str]] = {
    "DecisionTreeClassifier": ("sklearn", _SKLEARN, "forest"),
    "ExtraTreesClassifier": ("sklearn", _SKLEARN, "forest"),
    "GradientBoostingClassifier": ("sklearn", _SKLEARN, "gradient_boosting"),
    "HistGradientBoostingClassifier": ("sklearn", _SKLEARN, "histogram_boosting"),
    "LinearSVC": ("sklearn", _SKLEARN, "margin"),
    "LogisticRegression": ("sklearn", _SKLEARN, "logistic"),
    "MLPClassifier": ("sklearn", _SKLEARN, "network"),
    "RandomForestClassifier": ("sklearn", _SKLEARN, "forest"),
    "SGDClassifier": ("sklearn", _SKLEARN, "stochastic_gradient"),
    "SVC": ("sklearn", _SKLEARN, "support_vectors"),
    "TorchClassifier": ("groupcf", "torch_models", "network"),
    "XGBClassifier": ("xgboost", "xgboost_models", "xgboost_trees"),
}
"""Class name -> (root package, module of this package, convertor)."""


@dataclass(frozen=True, eq=False)
class NativeModel:
    """A fitted model in its own terms.

    Attributes
    ----------
    score : LinearScore, NetworkScore or NativeTrees
        On the columns that the final estimator reads.
    inputs : Inputs
        These columns as functions of the encoded columns.
    """

    score: NativeScore
    inputs: Inputs


def as_score(
    estimator: Any, space: FeatureSpace, *, positive: Any, vote: Vote = "soft"
) -> LinearScore | NetworkScore | TreeEnsembleScore:
    """Return the score model of a fitted estimator, on the encoded columns of a space.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Fitted on a DataFrame in the user's own columns (matched by name) or on the array
        ``space.encode(frame)``. A torch ``Sequential`` of Linear and ReLU layers counts as
        fitted on the array, with classes 0 and 1.
    space : FeatureSpace
    positive : label
        The wanted class; a higher score means this class.
    vote : {"soft", "hard"}
        For forests: mean of the leaf class fractions, or share of the trees.

    Returns
    -------
    LinearScore, TreeEnsembleScore or NetworkScore
        Equal to the estimator's own score at every valid point.

    Raises
    ------
    ClassifierError
        For an estimator that is not fitted or not supported, an unknown label, more than
        two classes, or columns that do not fit the feature space.
    """
    model = native_model(estimator, space, positive, vote)
    native, inputs = model.score, model.inputs
    if isinstance(native, NativeTrees):
        return fold_trees(native, inputs, space)
    A, a = inputs.affine(space)
    if isinstance(native, LinearScore):
        intercept = native.intercept + float(a @ native.weights)
        return LinearScore(A @ native.weights, intercept, native.link)
    first = native.weights[0]
    return NetworkScore(
        (A @ first, *native.weights[1:]),
        (native.biases[0] + a @ first, *native.biases[1:]),
        native.link,
    )


def native_model(estimator: Any, space: FeatureSpace, positive: Any, vote: Vote) -> NativeModel:
    """Read a fitted estimator without folding its preprocessing; see :func:`as_score`."""
    if vote not in ("soft", "hard"):
        raise ClassifierError(f"vote: {vote!r} is neither 'soft' nor 'hard'")
    estimator = adopt(estimator)
    transformers, final = split_pipeline(estimator)
    name, root = type(final).__name__, type(final).__module__.split(".")[0]
    package, module, function = REGISTRY.get(name, ("", "", ""))
    if package != root:
        raise ClassifierError(
            f"{root}.{name} has no score model; supported are {', '.join(sorted(REGISTRY))}, "
            "also as the last step of a Pipeline"
        )
    wanted = class_index(estimator, positive)
    convert = getattr(importlib.import_module(f"groupcf.classifiers.{module}"), function)
    inputs = source(estimator, space)
    for transformer in transformers:
        inputs = follow(transformer, inputs)
    n = getattr(final, "n_features_in_", len(inputs.columns))
    if n != len(inputs.columns):
        raise ClassifierError(f"{name} was fitted on {n} columns and gets {len(inputs.columns)}")
    return NativeModel(convert(final, wanted, vote), inputs)


def adopt(estimator: Any) -> Any:
    """Return a torch module as a classifier, anything else unchanged."""
    if type(estimator).__module__.split(".")[0] == "torch":
        from groupcf.classifiers.torch_models import TorchClassifier

        return TorchClassifier(estimator)
    return estimator


def class_labels(estimator: Any) -> list[Any]:
    """Return the two classes of a fitted estimator, as plain Python values.

    Raises
    ------
    ClassifierError
        When it is not fitted, has several outputs or more than two classes.
    """
    name = type(estimator).__name__
    try:
        classes = adopt(estimator).classes_
    except AttributeError:
        raise ClassifierError(
            f"{name} is no fitted classifier; call fit(X, y) before asking for counterfactuals"
        ) from None
    if isinstance(classes, list) and any(np.ndim(c) for c in classes):
        raise ClassifierError(f"{name} predicts several targets; fit it on one")
    labels = np.asarray(classes).tolist()
    if len(labels) != 2:
        raise ClassifierError(
            f"{name} has {len(labels)} classes {labels}; two are supported: fit it on y == wanted"
        )
    return list(labels)


def class_index(estimator: Any, positive: Any) -> int:
    """Return the position of the wanted class among the estimator's two classes.

    Raises
    ------
    ClassifierError
        For an unknown label.
    """
    labels = class_labels(estimator)
    try:
        return labels.index(positive)
    except ValueError:
        raise ClassifierError(
            f"positive: {positive!r} is no class of this {type(estimator).__name__}; its classes "
            f"are {labels}"
        ) from None
