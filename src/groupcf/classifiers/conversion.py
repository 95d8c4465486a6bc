"""From a fitted estimator or Pipeline to its score model.

A registry maps class names to convertors, so that nothing is imported for an estimator
that is not used. A convertor reads the estimator's parameters into a score on the columns
that the estimator itself reads; the preprocessing in front of it is then folded in.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal

import numpy as np

from groupcf.classifiers.inputs import Inputs, source
from groupcf.classifiers.scores import LinearScore, Score
from groupcf.errors import ClassifierError
from groupcf.features import FeatureSpace

Vote = Literal["soft", "hard"]

# class -> (root package, module of this package, function)
REGISTRY: dict[str, tuple[str, str, str]] = {
    "LogisticRegression": ("sklearn", "sklearn_models", "logistic"),
}


def as_score(estimator: Any, space: FeatureSpace, *, positive: Any, vote: Vote = "soft") -> Score:
    """Return the score model of a fitted estimator, on the encoded columns of a space.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Fitted on a DataFrame in the user's own columns (matched by name) or on the array
        ``space.encode(frame)``.
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
    native = native_score(estimator, positive, vote)
    return fold(native, source(estimator, space), space)


def native_score(estimator: Any, positive: Any, vote: Vote) -> LinearScore:
    """Return the score on the columns that the estimator itself reads."""
    if vote not in ("soft", "hard"):
        raise ClassifierError(f"vote: {vote!r} is neither 'soft' nor 'hard'")
    name, root = type(estimator).__name__, type(estimator).__module__.split(".")[0]
    package, module, function = REGISTRY.get(name, ("", "", ""))
    if not name or package != root:
        raise ClassifierError(
            f"{root}.{name} has no score model; supported are {', '.join(sorted(REGISTRY))}, "
            "also behind a Pipeline"
        )
    convert = getattr(importlib.import_module(f"groupcf.classifiers.{module}"), function)
    score: LinearScore = convert(estimator, class_index(estimator, positive), vote)
    return score


def class_labels(estimator: Any) -> list[Any]:
    """Return the two classes of a fitted estimator, as plain Python values.

    Raises
    ------
    ClassifierError
        When it is not fitted or has more than two classes.
    """
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise ClassifierError(
            f"{type(estimator).__name__} is not fitted; call fit(X, y) before asking for "
            "counterfactuals"
        )
    labels = np.asarray(classes).tolist()
    if len(labels) != 2:
        raise ClassifierError(
            f"{type(estimator).__name__} has {len(labels)} classes {labels}; two are supported: "
            "fit it on y == wanted"
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


def fold(native: LinearScore, inputs: Inputs, space: FeatureSpace) -> Score:
    """Return a score on encoded columns from one on the estimator's columns."""
    A, a = inputs.affine(space)
    return LinearScore(
        A @ native.weights, float(a @ native.weights) + native.intercept, native.link
    )
