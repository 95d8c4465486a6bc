"""Fitted preprocessing, followed column by column.

Supported transformers act on single columns: scalers, encoders, ColumnTransformer and
nested Pipelines of them. Each is followed with the operations that it really carries out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.classifiers.inputs import Column, Inputs, Listed, Measured, Operation
from groupcf.errors import ClassifierError


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the transformers and the final estimator of a Pipeline (or an estimator)."""
    if type(estimator).__name__ != "Pipeline":
        return [], estimator
    steps = [step for _, step in estimator.steps]
    before, final = split_pipeline(steps[-1])
    return [s for s in steps[:-1] if not _passes(s)] + before, final


def follow(transformer: Any, inputs: Inputs) -> Inputs:
    """Return the columns after a fitted transformer.

    Raises
    ------
    ClassifierError
        When the transformer is not supported; the message names it.
    """
    name = type(transformer).__name__
    known = type(transformer).__module__.split(".")[0] == "sklearn"
    if not known or name not in _FOLLOW:
        raise ClassifierError(
            f"{name} cannot be folded into a score model; supported before a classifier are "
            f"{', '.join(sorted(_FOLLOW))}"
        )
    n = getattr(transformer, "n_features_in_", len(inputs.columns))
    if n != len(inputs.columns):
        raise ClassifierError(f"{name} was fitted on {n} columns and gets {len(inputs.columns)}")
    return _FOLLOW[name](transformer, inputs)


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _pipeline(pipeline: Any, inputs: Inputs) -> Inputs:
    for _, step in pipeline.steps:
        if not _passes(step):
            inputs = follow(step, inputs)
    return inputs


def _column_transformer(transformer: Any, inputs: Inputs) -> Inputs:
    names = [str(n) for n in getattr(transformer, "feature_names_in_", ())]
    columns: list[Column] = []
    for _, step, selection in transformer.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        chosen = _selected(selection, names, len(inputs.columns))
        part = Inputs(tuple(inputs.columns[i] for i in chosen), inputs.sparse)
        if chosen:
            columns += (part if _passes(step) else follow(step, part)).columns
    return Inputs(tuple(columns), bool(transformer.sparse_output_))


def _selected(selection: Any, names: list[str], n: int) -> list[int]:
    """Return positions from a ColumnTransformer's columns (names, numbers, mask or slice)."""

    def position(name: str) -> int:
        return names.index(name)

    if isinstance(selection, str):
        return [position(selection)]
    if isinstance(selection, slice):
        start, stop, step = selection.start, selection.stop, selection.step
        if isinstance(start, str) or isinstance(stop, str):  # a slice of names takes in its end
            start = None if start is None else position(start)
            stop = None if stop is None else position(stop) + 1
        return list(range(n))[start:stop:step]
    if np.isscalar(selection):
        return [int(np.arange(n)[int(selection)])]  # type: ignore[arg-type]
    chosen = list(selection)
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        return [i for i, keep in enumerate(chosen) if keep]
    return [position(c) if isinstance(c, str) else int(np.arange(n)[int(c)]) for c in chosen]


def _chain(inputs: Inputs, operations: Callable[[int], list[Operation]]) -> Inputs:
    columns = tuple(c.then(*operations(i)) for i, c in enumerate(inputs.columns))
    return Inputs(columns, inputs.sparse)


def _min_max(scaler: Any, inputs: Inputs) -> Inputs:
    low, high = scaler.feature_range

    def operations(i: int) -> list[Operation]:
        chain: list[Operation] = [
            ("multiply", float(scaler.scale_[i]), 0.0),
            ("add", float(scaler.min_[i]), 0.0),
        ]
        return [*chain, ("clip", float(low), float(high))] if scaler.clip else chain

    return _chain(inputs, operations)


def _divide(scale: float, sparse: bool) -> Operation:
    # a sparse matrix is multiplied by the reciprocal, which rounds differently
    return ("multiply", 1.0 / scale, 0.0) if sparse else ("divide", scale, 0.0)


def _standard(scaler: Any, inputs: Inputs) -> Inputs:
    def operations(i: int) -> list[Operation]:
        chain: list[Operation] = []
        if scaler.with_mean:
            chain.append(("subtract", float(scaler.mean_[i]), 0.0))
        if scaler.with_std:
            chain.append(_divide(float(scaler.scale_[i]), inputs.sparse))
        return chain

    return _chain(inputs, operations)


def _max_abs(scaler: Any, inputs: Inputs) -> Inputs:
    def operations(i: int) -> list[Operation]:
        chain = [_divide(float(scaler.scale_[i]), inputs.sparse)]
        return [*chain, ("clip", -1.0, 1.0)] if getattr(scaler, "clip", False) else chain

    return _chain(inputs, operations)


def _imputer(imputer: Any, inputs: Inputs) -> Inputs:
    """Follow an imputer, which changes nothing as instances have no missing values."""
    missing = imputer.missing_values
    if not (missing is None or (isinstance(missing, float) and np.isnan(missing))):
        raise ClassifierError(
            f"SimpleImputer(missing_values={missing!r}) replaces ordinary values; mark missing "
            "values by NaN"
        )
    if imputer.add_indicator:
        raise ClassifierError("SimpleImputer(add_indicator=True): fit it with add_indicator=False")
    dropped = [
        column.name
        for column, statistic in zip(inputs.columns, imputer.statistics_, strict=True)
        if pd.isna(statistic)
    ]
    filled = [
        c.name
        for c in inputs.columns
        if isinstance(c, Listed) and any(v != v for v in c.values)  # NaN
    ]
    if filled:
        raise ClassifierError(
            f"SimpleImputer would fill what the encoder made of {filled}; put it before the encoder"
        )
    if dropped:
        raise ClassifierError(f"SimpleImputer dropped columns {dropped}, empty in training")
    return inputs


def _identity(transformer: Any, inputs: Inputs) -> Inputs:
    if transformer.func is not None:
        raise ClassifierError("FunctionTransformer(func): only the identity, func=None, can be")
    return inputs


def _encode(encoder: Any, inputs: Inputs) -> tuple[NDArray[np.float64], list[Listed]]:
    """Return what a fitted encoder makes of each category: row r holds the r-th of each."""
    listed: list[Listed] = []
    kind = type(encoder).__name__
    for column, known in zip(inputs.columns, encoder.categories_, strict=True):
        if isinstance(column, Measured):
            raise ClassifierError(
                f"{kind} reads feature {column.name!r}, which is no categorical feature of the "
                "space; declare it nominal, ordinal or binary (kinds={...}), and fit the "
                "pipeline on the table in the user's own columns"
            )
        unknown = [v for v in column.values if v not in set(known.tolist())]
        if unknown and encoder.handle_unknown == "error":
            raise ClassifierError(
                f"feature {column.name!r}: {kind} never saw the categories {unknown}; fit it "
                "with these categories or take them out of the feature space"
            )
        listed.append(column)
    if np.dtype(encoder.dtype).kind == "f" and np.dtype(encoder.dtype) != np.float64:
        raise ClassifierError(f"{kind}(dtype={encoder.dtype}): use dtype=float64")
    longest = max(len(c.values) for c in listed)
    data = {i: [c.values[r % len(c.values)] for r in range(longest)] for i, c in enumerate(listed)}
    frame = pd.DataFrame(data)
    names = getattr(encoder, "feature_names_in_", None)
    if names is not None:
        frame.columns = pd.Index(names)
        table: Any = frame
    elif all(pd.api.types.is_numeric_dtype(t) for t in frame.dtypes):
        table = frame.to_numpy(dtype=float)
    else:
        table = frame.to_numpy(dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # unknown categories, as configured
        encoded = encoder.transform(table)
    dense = encoded.toarray() if hasattr(encoded, "toarray") else encoded
    return np.asarray(dense, dtype=float), listed


def _listed(column: Listed, encoded: NDArray[np.float64]) -> Listed:
    values: tuple[Hashable, ...] = tuple(encoded[: len(column.values)].tolist())
    return Listed(column.name, column.feature, values)


def _one_hot(encoder: Any, inputs: Inputs) -> Inputs:
    table, listed = _encode(encoder, inputs)
    rare = getattr(encoder, "infrequent_categories_", None)
    columns: list[Column] = []
    at = 0
    for i, column in enumerate(listed):
        width = len(encoder.categories_[i])
        if rare is not None and rare[i] is not None:
            width -= len(rare[i]) - 1
        if encoder.drop_idx_ is not None and encoder.drop_idx_[i] is not None:
            width -= 1
        columns += [_listed(column, table[:, k]) for k in range(at, at + width)]
        at += width
    if at != table.shape[1]:
        raise ClassifierError("OneHotEncoder: its columns cannot be told apart")
    return Inputs(tuple(columns), bool(encoder.sparse_output))


def _ordinal(encoder: Any, inputs: Inputs) -> Inputs:
    table, listed = _encode(encoder, inputs)
    return Inputs(tuple(_listed(c, table[:, i]) for i, c in enumerate(listed)))


_FOLLOW: dict[str, Callable[[Any, Inputs], Inputs]] = {
    "ColumnTransformer": _column_transformer,
    "FunctionTransformer": _identity,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "Pipeline": _pipeline,
    "SimpleImputer": _imputer,
    "StandardScaler": _standard,
}
