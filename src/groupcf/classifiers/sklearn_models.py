"""Parameters of fitted scikit-learn classifiers, read into score models.

Each convertor takes the estimator, the position of the wanted class and the vote, and
returns a score on the columns that the estimator itself reads.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore, Link
from groupcf.classifiers.tree_folding import NativeTrees, Rule
from groupcf.errors import ClassifierError


def _linear(estimator: Any, wanted: int, link: Link) -> LinearScore:
    sign = 1.0 if wanted == 1 else -1.0
    coefficients = estimator.coef_
    if hasattr(coefficients, "toarray"):  # sparsify(), or a support vector machine on sparse data
        coefficients = coefficients.toarray()
    weights = np.asarray(coefficients, dtype=float).reshape(-1)
    intercept = np.asarray(estimator.intercept_, dtype=float).reshape(-1)
    return LinearScore(sign * weights, float(sign * intercept[0]), link)


def logistic(estimator: Any, wanted: int, vote: str) -> LinearScore:
    """Read a binary LogisticRegression."""
    if getattr(estimator, "multi_class", None) == "multinomial":
        raise ClassifierError(
            "LogisticRegression(multi_class='multinomial'): leave multi_class out for two classes"
        )
    return _linear(estimator, wanted, Link.LOGISTIC)


def margin(estimator: Any, wanted: int, vote: str) -> LinearScore:
    """Read a LinearSVC: a signed distance without a probability."""
    return _linear(estimator, wanted, Link.NONE)


def support_vectors(estimator: Any, wanted: int, vote: str) -> LinearScore:
    """Read an SVC with a linear kernel."""
    if estimator.kernel != "linear":
        raise ClassifierError(
            f"SVC(kernel={estimator.kernel!r}): only kernel='linear' has a score model"
        )
    return _linear(estimator, wanted, Link.NONE)


def stochastic_gradient(estimator: Any, wanted: int, vote: str) -> LinearScore:
    """Read an SGDClassifier with logistic or hinge loss."""
    links = {"log_loss": Link.LOGISTIC, "hinge": Link.NONE}
    if estimator.loss not in links:
        raise ClassifierError(f"SGDClassifier(loss={estimator.loss!r}): use 'log_loss' or 'hinge'")
    return _linear(estimator, wanted, links[estimator.loss])


def network(estimator: Any, wanted: int, vote: str) -> NetworkScore:
    """Read an MLPClassifier with ReLU layers."""
    if estimator.activation != "relu" or estimator.out_activation_ != "logistic":
        raise ClassifierError(
            f"MLPClassifier(activation={estimator.activation!r}): only 'relu' has a score model"
        )
    sign = 1.0 if wanted == 1 else -1.0
    weights = [np.asarray(W, dtype=float) for W in estimator.coefs_]
    biases = [np.asarray(b, dtype=float) for b in estimator.intercepts_]
    return NetworkScore((*weights[:-1], sign * weights[-1]), (*biases[:-1], sign * biases[-1]))


def _stack(
    trees: list[dict[str, NDArray[Any]]],
    *,
    weight: float,
    base: float,
    link: Link,
    rule: Rule = Rule.AT_MOST_SINGLE,
    takes_missing: bool = True,
) -> NativeTrees:
    """Join trees whose children are numbered within the tree, -1 at leaves."""
    sizes = [len(t["column"]) for t in trees]
    roots = np.cumsum([0, *sizes[:-1]])

    def children(side: str) -> NDArray[np.int64]:
        parts = [
            np.where(t[side] < 0, -1, t[side] + root) for t, root in zip(trees, roots, strict=True)
        ]
        return np.concatenate(parts).astype(np.int64)

    def joined(name: str, kind: type) -> NDArray[Any]:
        return np.concatenate([t[name] for t in trees]).astype(kind)

    left = children("left")
    return NativeTrees(
        column=np.where(left < 0, -1, joined("column", np.int64)),
        threshold=joined("threshold", float),
        left=left,
        right=children("right"),
        value=joined("value", float),
        roots=roots.astype(np.int64),
        weights=np.full(len(trees), weight),
        base=base,
        link=link,
        rule=rule,
        missing_left=joined("missing_left", bool) if takes_missing else None,
    )


def _tree(tree: Any, value: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {
        "column": tree.feature,
        "threshold": tree.threshold,
        "left": tree.children_left,
        "right": tree.children_right,
        "value": value,
        "missing_left": tree.missing_go_to_left,
    }


def forest(estimator: Any, wanted: int, vote: str) -> NativeTrees:
    """Read a decision tree, random forest or extra trees.

    Soft vote: mean of the class fractions in the leaves, as predict_proba. Hard vote: share
    of the trees that predict the class by themselves.
    """
    members = getattr(estimator, "estimators_", [estimator])
    trees = []
    for member in members:
        tree = member.tree_
        fractions = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        if vote == "hard":
            value = (tree.value[:, 0, :].argmax(axis=1) == wanted).astype(float)
        else:
            value = fractions[:, wanted]
        trees.append(_tree(tree, value))
    return _stack(trees, weight=1.0 / len(members), base=0.0, link=Link.IDENTITY)


def _soft_only(estimator: Any, vote: str) -> None:
    if vote == "hard":
        raise ClassifierError(
            f"vote: the trees of a {type(estimator).__name__} add up and have no vote of their "
            "own; vote='hard' is for forests"
        )


def gradient_boosting(estimator: Any, wanted: int, vote: str) -> NativeTrees:
    """Read a GradientBoostingClassifier with logistic loss."""
    _soft_only(estimator, vote)
    if estimator.loss != "log_loss":
        raise ClassifierError(f"GradientBoostingClassifier(loss={estimator.loss!r}): use log_loss")
    if estimator.init is not None and not isinstance(estimator.init, str):
        raise ClassifierError(
            "GradientBoostingClassifier(init=an estimator): its start is no constant; leave "
            "init out"
        )
    sign, rate = (1.0 if wanted == 1 else -1.0), float(estimator.learning_rate)
    members = estimator.estimators_[:, 0]
    trees = [_tree(m.tree_, sign * m.tree_.value[:, 0, 0]) for m in members]
    # the start is the same for every row: what is left of one decision without its trees
    row = np.zeros((1, estimator.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the row has no column names
        leaves = estimator.apply(row)[0, :, 0].astype(int)
        start = sign * float(estimator.decision_function(row)[0])
    values = [t["value"][leaf] for t, leaf in zip(trees, leaves, strict=True)]
    base = start - rate * float(np.sum(values))
    return _stack(trees, weight=rate, base=base, link=Link.LOGISTIC, takes_missing=False)


def histogram_boosting(estimator: Any, wanted: int, vote: str) -> NativeTrees:
    """Read a HistGradientBoostingClassifier on numerical columns."""
    _soft_only(estimator, vote)
    if estimator.is_categorical_ is not None and np.any(estimator.is_categorical_):
        raise ClassifierError(
            "HistGradientBoostingClassifier with categorical columns has no score model; fit it "
            "with categorical_features=None behind a OneHotEncoder"
        )
    sign = 1.0 if wanted == 1 else -1.0
    trees = []
    for (predictor,) in estimator._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        trees.append(
            {
                "column": nodes["feature_idx"],
                "threshold": nodes["num_threshold"],
                "left": np.where(leaf, -1, nodes["left"].astype(np.int64)),
                "right": np.where(leaf, -1, nodes["right"].astype(np.int64)),
                "value": sign * nodes["value"],
                "missing_left": nodes["missing_go_to_left"],
            }
        )
    return _stack(
        trees,
        weight=1.0,
        base=sign * float(np.ravel(estimator._baseline_prediction)[0]),
        link=Link.LOGISTIC,
        rule=Rule.AT_MOST_DOUBLE,
    )
