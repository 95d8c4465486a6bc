"""What changed for whom: the one table behind heat maps, sentences and counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.errors import DataError

if TYPE_CHECKING:
    from groupcf.features import FeatureSpace

TOLERANCE = 1e-9
"""Encoded differences at or below this are no change (as in groupcf.features)."""


@dataclass(frozen=True, eq=False)
class Changes:
    """Instances against features: from, to, and the signed difference.

    Attributes
    ----------
    rows : tuple of str
        S labels, one for each (instance, counterfactual) pair or outlier.
    features : tuple of str
        J names.
    diff : ndarray of shape (S, J)
        Signed difference in encoded units; 1 for another category of a nominal feature;
        0 for unchanged and for outliers.
    before, after : ndarray of shape (S, J) of object
        Values in the user's units, or category labels.
    nominal : ndarray of shape (J,) of bool
        Features without an order, whose changes have no direction.
    flipped : ndarray of shape (S,) of bool
        False for an instance that was left where it is (an outlier, or unreachable).
    cost : ndarray of shape (S,)
        Cost of each row; NaN where unknown.
    """

    rows: tuple[str, ...]
    features: tuple[str, ...]
    diff: NDArray[np.float64]
    before: NDArray[np.object_]
    after: NDArray[np.object_]
    nominal: NDArray[np.bool_]
    flipped: NDArray[np.bool_]
    cost: NDArray[np.float64]

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which feature of which row changed, shape (S, J)."""
        return np.asarray(self.diff != 0.0)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which feature changed in any row, shape (J,)."""
        return np.asarray((self.diff != 0.0).any(axis=0), dtype=bool)

    @property
    def largest(self) -> float:
        """Largest absolute difference of a feature with an order; 0 without any."""
        ordered = np.abs(self.diff[:, ~self.nominal])
        return float(ordered.max()) if ordered.size else 0.0

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Changes:
        """Return the given rows, in the given order."""
        at = np.asarray(rows, dtype=np.intp)
        return Changes(
            tuple(self.rows[i] for i in at),
            self.features,
            self.diff[at],
            self.before[at],
            self.after[at],
            self.nominal,
            self.flipped[at],
            self.cost[at],
        )

    @classmethod
    def from_instances(cls, frame: pd.DataFrame, kinds: Mapping[str, str] | None = None) -> Changes:
        """Read the instances table of a record.

        Parameters
        ----------
        frame : DataFrame
            Columns "row", "flipped", "cost" and, for each feature f, "from f", "to f" and
            "diff f". A repeated row label is an instance with several counterfactuals.
        kinds : mapping, optional
            Feature -> kind. Without it, a feature whose values are text and whose every
            change is exactly 1 counts as nominal.

        Raises
        ------
        DataError
            When a column is missing; the message names it.
        """
        names = [str(c)[len("from ") :] for c in frame.columns if str(c).startswith("from ")]
        wanted = ["row", "flipped", *(f"{p} {n}" for n in names for p in ("to", "diff"))]
        for column in wanted:
            if column not in frame.columns:
                raise DataError(f"instances table: no column {column!r}; solve the study again")
        flipped = frame["flipped"].to_numpy(dtype=bool)
        shape = (len(frame), len(names))
        diff = np.zeros(shape)
        before, after = np.empty(shape, dtype=object), np.empty(shape, dtype=object)
        nominal = np.zeros(len(names), dtype=bool)
        for j, name in enumerate(names):
            raw = frame[f"diff {name}"].to_numpy(dtype=float)
            diff[:, j] = np.where(np.isfinite(raw) & (np.abs(raw) > TOLERANCE), raw, 0.0)
            before[:, j] = frame[f"from {name}"].to_list()
            after[:, j] = frame[f"to {name}"].to_list()
            nominal[j] = (
                _looks_nominal(before[:, j], diff[:, j])
                if kinds is None or name not in kinds
                else kinds[name] == "nominal"
            )
        diff[~flipped] = 0.0
        cost = (
            frame["cost"].to_numpy(dtype=float)
            if "cost" in frame.columns
            else np.full(len(frame), np.nan)
        )
        rows = _row_labels(frame["row"].to_list())
        return cls(rows, tuple(names), diff, before, after, nominal, flipped, cost)

    @classmethod
    def from_encoded(
        cls,
        space: FeatureSpace,
        X0: NDArray[np.float64],
        X: NDArray[np.float64],
        labels: Sequence[str],
    ) -> Changes:
        """Compare encoded instances with their counterfactuals, both of shape (S, D)."""
        diff = space.differences(X0, X)
        frames = space.decode(X0), space.decode(X)
        before, after = (f.astype(object).to_numpy() for f in frames)
        nothing = np.full(len(diff), np.nan)
        return cls(
            tuple(str(v) for v in labels),
            tuple(space.names),
            np.where(np.abs(diff) > TOLERANCE, diff, 0.0),
            before,
            after,
            np.array([str(f.kind) == "nominal" for f in space.features]),
            np.ones(len(diff), dtype=bool),
            nothing,
        )

    def counts(self) -> dict[str, tuple[int, int, int]]:
        """Return feature -> how many rows raise, lower, or switch it; unused ones left out."""
        out = {}
        for j, name in enumerate(self.features):
            d = self.diff[:, j]
            if self.nominal[j]:
                triple = (0, 0, int(np.count_nonzero(d)))
            else:
                triple = (int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0)), 0)
            if sum(triple):
                out[name] = triple
        return out


def is_text(value: Any) -> bool:
    """Whether a value is a label rather than a number."""
    return not isinstance(value, (bool, int, float, np.number, np.bool_)) and value is not None


def _looks_nominal(before: NDArray[np.object_], diff: NDArray[np.float64]) -> bool:
    moved = diff[diff != 0.0]
    return bool(len(moved) and (moved == 1.0).all() and any(is_text(v) for v in before))


def _row_labels(values: Sequence[Hashable]) -> tuple[str, ...]:
    """Return labels as text; several rows of one instance are numbered."""
    seen: dict[Hashable, int] = {}
    repeated = len(set(values)) < len(values)
    labels = []
    for value in values:
        seen[value] = seen.get(value, 0) + 1
        labels.append(f"{value} ({seen[value]})" if repeated else str(value))
    return tuple(labels)
