"""The features of a table together, and the encoding of its rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from groupcf.checks import number
from groupcf.errors import DataError, FeatureError
from groupcf.features.feature import Direction, Feature, Kind, plain
from groupcf.features.inference import infer

CHANGE_TOLERANCE = 1e-9
"""Encoded differences at or below this do not count as a change."""


@dataclass(frozen=True)
class FeatureSpace:
    """An ordered set of features and the encoding of rows of the user's table.

    Attributes
    ----------
    features : tuple of Feature
        J features; together they have D encoded columns.
    """

    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        names = [f.name for f in self.features]
        if not names:
            raise FeatureError("a feature space needs at least one feature")
        if len(set(names)) != len(names):
            repeated = sorted({n for n in names if names.count(n) > 1})
            raise FeatureError(f"feature names repeat: {repeated}")

    # -- construction ----------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        kinds: Mapping[str, str | Kind] | None = None,
        orders: Mapping[str, Sequence[Hashable]] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        frozen: Iterable[str] = (),
        increasing: Iterable[str] = (),
        decreasing: Iterable[str] = (),
        weights: Mapping[str, float] | None = None,
        allowed: Mapping[str, Sequence[Any]] | None = None,
        scaling: Literal["minmax", "none"] = "minmax",
    ) -> FeatureSpace:
        """Infer a feature space from a table; every keyword overrides the inference.

        Floats become numerical, integers integer, booleans and columns with two values
        binary, ordered categoricals ordinal, other text or categoricals nominal. Bounds
        are the column's minimum and maximum.

        Parameters
        ----------
        frame : DataFrame
            Representative rows (the training data, say); it fixes bounds and categories.
        kinds : mapping, optional
            Column -> "numerical", "integer", "binary", "ordinal" or "nominal".
        orders : mapping, optional
            Column -> categories from low to high; makes the column ordinal.
        bounds : mapping, optional
            Column -> (lower, upper) in the user's units.
        frozen, increasing, decreasing : iterable of str, optional
            Columns that may not change, not fall, not rise.
        weights : mapping, optional
            Column -> weight in the cost.
        allowed : mapping, optional
            Column -> values that a counterfactual may newly take.
        scaling : {"minmax", "none"}
            Unit in which changes of numerical, integer and ordinal features are measured:
            the column's range, or the user's own unit.

        Raises
        ------
        DataError
            For an empty table, a repeated column name or a missing value.
        FeatureError
            When an override names no column or contradicts the data.
        """
        if not isinstance(frame, pd.DataFrame):
            raise DataError(
                "the table is no pandas DataFrame; a feature space is inferred from one"
            )
        if scaling not in ("minmax", "none"):
            raise FeatureError(f"scaling: {scaling!r} is neither 'minmax' nor 'none'")
        if len(frame) == 0:
            raise DataError("the table has no rows; a feature space is inferred from data")
        if not frame.columns.is_unique:
            names = sorted(map(str, frame.columns[frame.columns.duplicated()]))
            raise DataError(f"column names repeat: {names}")
        overrides: dict[str, Iterable[str]] = {
            "kinds": kinds or (),
            "orders": orders or (),
            "bounds": bounds or (),
            "frozen": frozen,
            "increasing": increasing,
            "decreasing": decreasing,
            "weights": weights or (),
            "allowed": allowed or (),
        }
        named = {key: ([v] if isinstance(v, str) else list(v)) for key, v in overrides.items()}
        for key, columns in named.items():
            for column in columns:
                if column not in frame.columns:
                    raise FeatureError(
                        f"{key}: no column {column!r} in the table; "
                        f"columns are {[str(c) for c in frame.columns]}"
                    )
        both = set(named["increasing"]) & set(named["decreasing"])
        if both:
            raise FeatureError(
                f"{sorted(both)} both increasing and decreasing; use frozen= for a fixed feature"
            )
        features = []
        for column in frame.columns:
            series = frame[column]
            if series.isna().any():
                row = plain(series.index[int(np.argmax(series.isna().to_numpy()))])
                raise DataError(f"column {column!r}, row {row!r}: missing value; fill or drop it")
            order = None if orders is None else orders.get(column)
            kind = None if kinds is None else kinds.get(column)
            feature = infer(str(column), series, kind, order, (bounds or {}).get(column), scaling)
            direction: Direction = "any"
            if column in named["increasing"]:
                direction = "increasing"
            elif column in named["decreasing"]:
                direction = "decreasing"
            features.append(
                replace(
                    feature,
                    actionable=column not in named["frozen"],
                    direction=direction,
                    weight=number(
                        f"feature {column!r}: weight",
                        (weights or {}).get(column, 1.0),
                        FeatureError,
                    ),
                    allowed=None if allowed is None else _tuple(allowed.get(column)),
                )
            )
        return cls(tuple(features))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FeatureSpace:
        """Rebuild a space from :meth:`to_dict`."""
        features = []
        for entry in data["features"]:
            entry = dict(entry)
            entry["categories"] = tuple(entry.get("categories") or ())
            entry["codes"] = tuple(entry.get("codes") or ())
            entry["allowed"] = _tuple(entry.get("allowed"))
            features.append(Feature(**entry))
        return cls(tuple(features))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {"features": [f.to_dict() for f in self.features]}

    def with_feature(self, name: str, **changes: Any) -> FeatureSpace:
        """Return a space in which one feature has other attributes."""
        at = self.index(name)
        features = list(self.features)
        features[at] = replace(features[at], **changes)
        return FeatureSpace(tuple(features))

    # -- shape -----------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of the J features."""
        return [f.name for f in self.features]

    @property
    def n_features(self) -> int:
        """Number J of features, a nominal one counted once."""
        return len(self.features)

    @property
    def n_columns(self) -> int:
        """Number D of encoded columns."""
        return sum(f.width for f in self.features)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Encoded columns of each feature."""
        stops = np.cumsum([f.width for f in self.features])
        return tuple(
            slice(int(b) - f.width, int(b)) for f, b in zip(self.features, stops, strict=True)
        )

    @cached_property
    def columns(self) -> list[str]:
        """Names of the D encoded columns; ``feature=category`` for nominal ones."""
        out: list[str] = []
        for f in self.features:
            if f.kind is Kind.NOMINAL:
                out += [f"{f.name}={c}" for c in f.categories]
            else:
                out.append(f.name)
        return out

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """Feature index of each encoded column, shape (D,)."""
        return np.repeat(np.arange(self.n_features), [f.width for f in self.features])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Cost weight of each feature, shape (J,)."""
        return np.array([f.weight for f in self.features], dtype=float)

    def index(self, name: str) -> int:
        """Return the position of a feature.

        Raises
        ------
        FeatureError
            If there is no such feature.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise FeatureError(f"no feature {name!r}; features are {self.names}") from None

    # -- encoding --------------------------------------------------------------------

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Encode rows of the user's table to shape (S, D).

        Extra columns are ignored. Bounds are not enforced here; a problem does that.

        Raises
        ------
        DataError
            For a missing column, a repeated row label, a missing value or an unknown
            category; the message names column and row.
        """
        missing = [n for n in self.names if n not in frame.columns]
        if missing:
            raise DataError(
                f"missing columns {missing}; the table has {[str(c) for c in frame.columns]}"
            )
        if not frame.columns.is_unique:
            repeated = sorted(map(str, frame.columns[frame.columns.duplicated()]))
            raise DataError(f"column names repeat: {repeated}")
        if not frame.index.is_unique:
            label = plain(frame.index[frame.index.duplicated()][0])
            raise DataError(
                f"row label {label!r} occurs more than once; use frame.reset_index(drop=True)"
            )
        if not len(frame):
            return np.empty((0, self.n_columns))
        return np.hstack([f.encode(frame[f.name]) for f in self.features])

    def decode(self, X: ArrayLike, index: Iterable[Hashable] | None = None) -> pd.DataFrame:
        """Decode encoded rows of shape (S, D) to the user's columns and categories."""
        X = np.atleast_2d(np.asarray(X, dtype=float))
        if X.shape[1] != self.n_columns:
            raise DataError(f"{X.shape[1]} encoded columns given, {self.n_columns} expected")
        parts = [f.decode(X[:, b]) for f, b in zip(self.features, self.blocks, strict=True)]
        frame = pd.concat(parts, axis=1)
        if index is not None:
            frame.index = pd.Index(list(index))
        return frame

    # -- comparison of instances and counterfactuals ---------------------------------------

    def differences(self, X0: ArrayLike, X: ArrayLike) -> NDArray[np.float64]:
        """Return x - x0 by feature, shape (S, J).

        Encoded difference for one-column features; 1 for a changed nominal feature, so
        that a change of category is charged once and not as two dummies.
        """
        X0, X = np.atleast_2d(np.asarray(X0, float)), np.atleast_2d(np.asarray(X, float))
        out = np.empty((X.shape[0], self.n_features))
        for j, (f, b) in enumerate(zip(self.features, self.blocks, strict=True)):
            if f.kind is Kind.NOMINAL:
                out[:, j] = np.abs(X[:, b] - X0[:, b]).sum(axis=1) / 2
            else:
                out[:, j] = X[:, b.start] - X0[:, b.start]
        return out

    def changed(self, X0: ArrayLike, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which features differ, shape (S, J)."""
        return np.asarray(np.abs(self.differences(X0, X)) > CHANGE_TOLERANCE)

    def violations(self, X0: ArrayLike, X: ArrayLike, tolerance: float = 1e-7) -> list[str]:
        """Return every way in which counterfactuals leave their feasible set.

        Checks bounds, integrality, one-hot rows, allowed values, frozen and monotone
        features of row i of `X` against row i of `X0`, both of shape (S, D).
        """
        X0, X = np.atleast_2d(np.asarray(X0, float)), np.atleast_2d(np.asarray(X, float))
        diff = self.differences(X0, X)
        found: list[str] = []

        def report(rows: NDArray[np.bool_], name: str, what: str) -> None:
            found.extend(f"row {i}, feature {name!r}: {what}" for i in np.flatnonzero(rows))

        for j, (f, b) in enumerate(zip(self.features, self.blocks, strict=True)):
            block, moved = X[:, b], np.abs(diff[:, j]) > tolerance
            report(~np.isfinite(block).all(axis=1), f.name, "not a finite number")
            if not f.actionable:
                report(moved, f.name, "frozen but changed")
            if f.direction == "increasing":
                report(diff[:, j] < -tolerance, f.name, "decreased but may only increase")
            if f.direction == "decreasing":
                report(diff[:, j] > tolerance, f.name, "increased but may only decrease")
            if f.kind is Kind.NOMINAL:
                onehot = (np.abs(block.sum(axis=1) - 1) <= tolerance) & (
                    np.minimum(np.abs(block), np.abs(block - 1)).max(axis=1) <= tolerance
                )
                report(~onehot, f.name, "not exactly one category")
                barred = ~f.allowed_mask()[block.argmax(axis=1)]
                report(barred & moved, f.name, "category not allowed")
            elif f.discrete:
                values = f.values()
                far = (
                    np.abs(block - values[None, :]).min(axis=1) > tolerance
                    if len(values)
                    else np.ones(len(block), dtype=bool)
                )
                report(far & moved, f.name, "not one of its values")
            else:
                lo, hi = (f.lower - f.offset) / f.scale, (f.upper - f.offset) / f.scale
                slack = tolerance * max(1.0, abs(lo), abs(hi))
                outside = (block[:, 0] < lo - slack) | (block[:, 0] > hi + slack)
                report(outside & moved, f.name, f"outside [{f.lower}, {f.upper}]")
        return found


def _tuple(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
