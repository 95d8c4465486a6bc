"""What a fitted estimator reads, as functions of the encoded columns of a feature space.

Every column that reaches the estimator depends on one feature only. It is either *measured*
(a chain of floating-point operations on one encoded column) or *listed* (one number for each
category of a discrete feature). The chains keep the operations of decoding and of the
fitted preprocessing one by one and in their order, so that rounding is reproduced as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import ClassifierError
from groupcf.features import FeatureSpace, Kind

Operation = tuple[Literal["multiply", "divide", "add", "subtract", "clip", "round"], float, float]


def apply(operation: Operation, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Apply one operation in double precision, as numpy and scikit-learn do."""
    name, a, b = operation
    with np.errstate(over="ignore"):
        if name == "multiply":
            return np.asarray(values * a)
        if name == "divide":
            return np.asarray(values / a)
        if name == "add":
            return np.asarray(values + a)
        if name == "subtract":
            return np.asarray(values - a)
        if name == "clip":
            return np.clip(values, a, b)
        return np.asarray(np.rint(values))


@dataclass(frozen=True)
class Measured:
    """A non-decreasing function of one encoded column.

    Attributes
    ----------
    name : str
        Feature it comes from.
    column : int
        Encoded column.
    operations : tuple of (name, constant, constant)
        Applied in order; multipliers and divisors are positive.
    """

    name: str
    column: int
    operations: tuple[Operation, ...] = ()

    def then(self, *operations: Operation) -> Measured:
        """Return the column after further operations."""
        return replace(self, operations=self.operations + operations)

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the estimator reads where the encoded column holds `x`."""
        for operation in self.operations:
            x = apply(operation, x)
        return x

    def affine(self) -> tuple[float, float]:
        """Return slope and intercept in the encoded column.

        Rounding to integers is left out: at valid points it changes nothing.

        Raises
        ------
        ClassifierError
            When the chain clips.
        """
        slope, intercept = 1.0, 0.0
        for name, a, _ in self.operations:
            if name == "multiply":
                slope, intercept = slope * a, intercept * a
            elif name == "divide":
                slope, intercept = slope / a, intercept / a
            elif name == "add":
                intercept += a
            elif name == "subtract":
                intercept -= a
            elif name == "clip":
                raise ClassifierError(
                    f"feature {self.name!r}: MinMaxScaler(clip=True) is not linear; "
                    "fit the pipeline with clip=False"
                )
        return slope, intercept


@dataclass(frozen=True)
class Listed:
    """One value for each category of a binary, ordinal or nominal feature.

    Attributes
    ----------
    name : str
    feature : int
        Position of the feature in its space.
    values : tuple
        Labels before an encoder, numbers after it; in the order of the feature's categories.
    """

    name: str
    feature: int
    values: tuple[Hashable, ...]

    def then(self, *operations: Operation) -> Listed:
        """Return the column after operations on its numbers."""
        numbers = self.numbers()
        for operation in operations:
            numbers = apply(operation, numbers)
        return replace(self, values=tuple(numbers.tolist()))

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers.

        Raises
        ------
        ClassifierError
            When they are text.
        """
        try:
            return np.array([float(v) for v in self.values])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ClassifierError(
                f"feature {self.name!r}: its categories {list(self.values)} reach the estimator "
                "as text; put a OneHotEncoder or OrdinalEncoder before it"
            ) from None


Column = Measured | Listed


@dataclass(frozen=True)
class Inputs:
    """All columns that reach an estimator.

    Attributes
    ----------
    columns : tuple of Measured or Listed
        In the order in which the estimator reads them.
    sparse : bool
        Whether they arrive as a sparse matrix (XGBoost takes its zeros for missing values).
    """

    columns: tuple[Column, ...]
    sparse: bool = False

    def affine(self, space: FeatureSpace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return A of shape (D, K) and a of shape (K,): the estimator reads x @ A + a.

        Exact at every valid point (one-hot rows with a single 1).

        Raises
        ------
        ClassifierError
            When a column is not affine in the encoded columns; the message names the feature.
        """
        A = np.zeros((space.n_columns, len(self.columns)))
        a = np.zeros(len(self.columns))
        for k, column in enumerate(self.columns):
            if isinstance(column, Measured):
                A[column.column, k], a[k] = column.affine()
                continue
            feature, block = space.features[column.feature], space.blocks[column.feature]
            numbers = column.numbers()
            if feature.kind is Kind.NOMINAL:
                A[block, k] = numbers
                continue
            points = replace(feature, allowed=None).values()
            slope = (
                (numbers[-1] - numbers[0]) / (points[-1] - points[0]) if len(points) > 1 else 0.0
            )
            line = numbers[0] + slope * (points - points[0])
            if np.abs(line - numbers).max() > 1e-12 * max(1.0, np.abs(numbers).max()):
                raise ClassifierError(
                    f"feature {feature.name!r}: the pipeline turns its ordered categories into "
                    f"{numbers.tolist()}, which is not linear in their codes {points.tolist()}; "
                    "declare the feature nominal, or let the encoder's numbers and the codes of "
                    "the feature agree"
                )
            A[block.start, k], a[k] = slope, numbers[0] - slope * points[0]
        return A, a


def _entrance(estimator: Any) -> Any:
    """Return the step that sees the data first; a Pipeline that starts with none hides it."""
    while type(estimator).__name__ == "Pipeline":
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        estimator = steps[0]
    return estimator


def feature_names(estimator: Any) -> list[str] | None:
    """Return the names of the user's columns that an estimator was fitted on, if it was."""
    names = getattr(_entrance(estimator), "feature_names_in_", None)
    return None if names is None else [str(n) for n in names]


def source(estimator: Any, space: FeatureSpace) -> Inputs:
    """Return what a fitted estimator or Pipeline is given, before its own preprocessing.

    Raises
    ------
    ClassifierError
        When the estimator was fitted on columns that the feature space does not have.
    """
    names = feature_names(estimator)
    if names is None:
        n = getattr(_entrance(estimator), "n_features_in_", None)
        if n is None:
            raise ClassifierError(
                f"{type(estimator).__name__} is not fitted; call fit(X, y) before asking for "
                "counterfactuals"
            )
        if n != space.n_columns:
            raise ClassifierError(
                f"{type(estimator).__name__} was fitted on an array of {n} columns, the feature "
                f"space encodes to {space.n_columns}; fit it on space.encode(frame), or on the "
                f"table with the columns {space.names}"
            )
        owners = [space.features[j].name for j in space.owner]
        return Inputs(tuple(Measured(name, d) for d, name in enumerate(owners)))
    unknown = [n for n in names if n not in space.names]
    if unknown:
        raise ClassifierError(
            f"{type(estimator).__name__} was fitted on columns {unknown} that the feature space "
            f"does not describe; it has {space.names} (for a table that is encoded already, fit "
            "on the array space.encode(frame))"
        )
    columns: list[Column] = []
    for name in names:
        j = space.index(name)
        feature, block = space.features[j], space.blocks[j]
        if feature.kind in (Kind.NUMERICAL, Kind.INTEGER):
            column = Measured(name, block.start).then(
                ("multiply", feature.scale, 0.0), ("add", feature.offset, 0.0)
            )
            whole = feature.kind is Kind.INTEGER
            columns.append(column.then(("round", 0.0, 0.0)) if whole else column)
        else:
            columns.append(Listed(name, j, feature.categories))
    return Inputs(tuple(columns))
