"""One feature: its kind, its values, its encoding (models.md section 0, "Feature kinds")."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.checks import number
from groupcf.errors import DataError, FeatureError

Direction = Literal["any", "increasing", "decreasing"]


class Kind(StrEnum):
    """How a feature may vary."""

    NUMERICAL = "numerical"
    INTEGER = "integer"
    BINARY = "binary"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of the user's table.

    Attributes
    ----------
    name : str
        Column of the user's table.
    kind : Kind
    lower, upper : float
        Bounds in the user's units (numerical and integer features).
    categories : tuple
        Labels in the user's table. Two for binary (encoded 0 and 1), in ascending order
        for ordinal, any order for nominal. Empty for numerical and integer features.
    codes : tuple of float
        Number behind each category of an ordinal feature; 0, 1, ... when empty.
    offset, scale : float
        Encoded value = (value or code - offset) / scale.
    actionable : bool
        False freezes the feature.
    direction : {"any", "increasing", "decreasing"}
        Monotone restriction; not for nominal features.
    weight : float
        Weight of this feature in the cost, > 0.
    allowed : tuple or None
        Values a counterfactual may newly take (labels or numbers in the user's units);
        the instance's own value is always allowed. None allows all.

    Raises
    ------
    FeatureError
        When the description is contradictory; the message names the feature.
    """

    name: str
    kind: Kind
    lower: float = 0.0
    upper: float = 1.0
    categories: tuple[Hashable, ...] = ()
    codes: tuple[float, ...] = ()
    offset: float = 0.0
    scale: float = 1.0
    actionable: bool = True
    direction: Direction = "any"
    weight: float = 1.0
    allowed: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind(self.kind))
        for name in ("categories", "codes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.allowed is not None:
            object.__setattr__(self, "allowed", tuple(self.allowed))
        self._check()

    def _check(self) -> None:
        def fail(reason: str) -> None:
            raise FeatureError(f"feature {self.name!r}: {reason}")

        n = len(self.categories)
        if self.kind in (Kind.NUMERICAL, Kind.INTEGER):
            if n:
                fail(f"a {self.kind} feature has bounds, not categories")
            if not (np.isfinite(self.lower) and np.isfinite(self.upper)):
                fail("bounds must be finite numbers; pass bounds={name: (lower, upper)}")
            if self.lower > self.upper:
                fail(f"lower bound {self.lower} exceeds upper bound {self.upper}")
        elif self.kind is Kind.BINARY and n != 2:
            fail(f"a binary feature needs two categories, not {n}")
        elif n < 1:
            fail(f"an {self.kind} feature needs its categories")
        if len(set(self.categories)) != n:
            fail("categories repeat")
        if self.codes and len(self.codes) != n:
            fail(f"{len(self.codes)} codes for {n} categories")
        if self.codes and self.kind is not Kind.ORDINAL:
            fail("codes are for ordinal features")
        if any(b <= a for a, b in zip(self.codes, self.codes[1:], strict=False)):
            fail("codes of an ordinal feature must increase")
        if not (np.isfinite(self.scale) and self.scale > 0 and np.isfinite(self.offset)):
            fail("scale must be a positive number and offset finite")
        if self.kind in (Kind.BINARY, Kind.NOMINAL) and (self.scale, self.offset) != (1.0, 0.0):
            fail(f"a {self.kind} feature is encoded 0/1; it takes no scale or offset")
        if self.direction not in ("any", "increasing", "decreasing"):
            fail(f"direction {self.direction!r} is none of any, increasing, decreasing")
        if self.direction != "any" and self.kind is Kind.NOMINAL:
            fail("categories of a nominal feature have no order; use allowed= instead")
        if not (np.isfinite(self.weight) and self.weight > 0):
            fail("weight must be a positive number")
        if self.allowed is not None and not n:
            for value in self.allowed:
                number(f"feature {self.name!r}: allowed value", value, FeatureError)
        if self.allowed is not None and n:
            for value in self.allowed:
                if value not in self.categories:
                    fail(f"allowed value {value!r} is not one of its categories")

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.categories) if self.kind is Kind.NOMINAL else 1

    @property
    def discrete(self) -> bool:
        """Whether the feature takes finitely many values."""
        return self.kind is not Kind.NUMERICAL or self.allowed is not None

    def values(self) -> NDArray[np.float64]:
        """Return all encoded values of a discrete, one-column feature, ascending.

        `allowed` is applied; the instance's own value may lie outside of these.

        Raises
        ------
        FeatureError
            For a continuous or nominal feature, which has no such list.
        """
        if self.kind is Kind.NOMINAL or not self.discrete:
            raise FeatureError(f"feature {self.name!r}: a {self.kind} feature has no value list")
        if self.kind is Kind.INTEGER:
            raw = np.arange(np.ceil(self.lower), np.floor(self.upper) + 1)
            if self.allowed is not None:
                raw = np.intersect1d(raw, np.asarray(self.allowed, dtype=float))
        elif self.kind is Kind.NUMERICAL:
            raw = np.unique(np.asarray(self.allowed, dtype=float))
            raw = raw[(raw >= self.lower) & (raw <= self.upper)]
        else:
            keep = self.allowed_mask()
            raw = np.asarray(self._codes(), dtype=float)[keep]
        return np.asarray((raw - self.offset) / self.scale, dtype=float)

    def allowed_mask(self) -> NDArray[np.bool_]:
        """Return for each category whether a counterfactual may newly take it."""
        if self.allowed is None:
            return np.ones(len(self.categories), dtype=bool)
        return np.array([c in self.allowed for c in self.categories], dtype=bool)

    def _codes(self) -> tuple[float, ...]:
        return self.codes or tuple(float(i) for i in range(len(self.categories)))

    def encode(self, values: pd.Series) -> NDArray[np.float64]:
        """Encode one column of the user's table to shape (S, width).

        Raises
        ------
        DataError
            For a missing value, an unknown category or a text where a number belongs;
            the message names column and row.
        """
        missing = values.isna().to_numpy()
        if missing.any():
            row = plain(values.index[int(np.argmax(missing))])
            raise DataError(
                f"column {self.name!r}, row {row!r}: missing value; "
                "fill or drop it before asking for counterfactuals"
            )
        if self.kind in (Kind.NUMERICAL, Kind.INTEGER):
            return self._encode_numbers(values)[:, None]
        codes = pd.Index(list(self.categories)).get_indexer(pd.Index(values.to_list()))
        if (codes < 0).any():
            at = int(np.argmax(codes < 0))
            raise DataError(
                f"column {self.name!r}, row {plain(values.index[at])!r}: unknown category "
                f"{plain(values.iloc[at])!r}; known are {list(self.categories)}"
            )
        if self.kind is Kind.NOMINAL:
            return np.eye(self.width)[codes]
        if self.kind is Kind.BINARY:
            return codes.astype(float)[:, None]
        raw = np.asarray(self._codes(), dtype=float)[codes]
        return np.asarray((raw - self.offset) / self.scale, dtype=float)[:, None]

    def _cell(self, values: pd.Series, at: int) -> str:
        row, value = plain(values.index[at]), plain(values.iloc[at])
        return f"column {self.name!r}, row {row!r}: {value!r}"

    def _encode_numbers(self, values: pd.Series) -> NDArray[np.float64]:
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
        bad = ~np.isfinite(numbers)
        if bad.any():
            at = int(np.argmax(bad))
            raise DataError(f"{self._cell(values, at)} is not a finite number")
        if self.kind is Kind.INTEGER and (fractional := numbers != np.round(numbers)).any():
            at = int(np.argmax(fractional))
            raise DataError(
                f"{self._cell(values, at)} is not "
                "an integer; declare the column numerical or round it"
            )
        return (numbers - self.offset) / self.scale

    def decode(self, block: NDArray[np.float64]) -> pd.Series:
        """Decode an encoded block of shape (S, width) to the user's values."""
        if self.kind is Kind.NOMINAL:
            return pd.Series([self.categories[i] for i in block.argmax(axis=1)], name=self.name)
        column = block[:, 0]
        raw = column * self.scale + self.offset
        if self.kind is Kind.NUMERICAL:
            return pd.Series(raw, name=self.name)
        if self.kind is Kind.INTEGER:
            return pd.Series(np.rint(raw).astype(np.int64), name=self.name)
        codes = np.asarray(self._codes(), dtype=float)
        nearest = np.abs(raw[:, None] - codes[None, :]).argmin(axis=1)
        return pd.Series([self.categories[i] for i in nearest], name=self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        out: dict[str, Any] = {"name": self.name, "kind": str(self.kind)}
        for name in ("lower", "upper", "offset", "scale", "actionable", "direction", "weight"):
            out[name] = getattr(self, name)
        for name in ("categories", "codes", "allowed"):
            value = getattr(self, name)
            out[name] = None if value is None else [plain(v) for v in value]
        return out


def plain(value: Any) -> Any:
    """Return a numpy scalar as a plain Python value."""
    return value.item() if isinstance(value, np.generic) else value
