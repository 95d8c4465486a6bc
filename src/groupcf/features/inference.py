"""Guess a feature's kind, categories, bounds and unit from a column of data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from groupcf.checks import number
from groupcf.errors import FeatureError
from groupcf.features.feature import Feature, Kind, plain


def infer(
    name: str,
    series: pd.Series,
    kind: str | Kind | None,
    order: Sequence[Hashable] | None,
    bounds: tuple[float, float] | None,
    scaling: str,
) -> Feature:
    """Describe one column; `kind`, `order` and `bounds` override what the data say."""
    dtype = series.dtype
    if order is not None:
        kind = Kind.ORDINAL
    elif kind is None:
        kind = _infer_kind(series)
    try:
        kind = Kind(kind)
    except ValueError:
        raise FeatureError(
            f"feature {name!r}: kind {kind!r} is none of {[str(k) for k in Kind]}"
        ) from None
    if kind in (Kind.NUMERICAL, Kind.INTEGER):
        if not pd.api.types.is_numeric_dtype(dtype):
            raise FeatureError(f"feature {name!r}: declared {kind} but the column holds text")
        lower, upper = _bounds(name, bounds, series)
        offset, scale = (float(lower), float(upper - lower)) if scaling == "minmax" else (0.0, 1.0)
        return Feature(
            name,
            kind,
            lower=float(lower),
            upper=float(upper),
            offset=offset,
            scale=scale if scale > 0 else 1.0,
        )
    if bounds is not None:
        raise FeatureError(f"feature {name!r}: bounds are for numerical and integer features")
    if order is not None:
        categories = tuple(order)
        beyond = [plain(v) for v in series.unique() if v not in categories]
        if beyond:
            raise FeatureError(f"feature {name!r}: orders leaves out the categories {beyond}")
    elif isinstance(dtype, pd.CategoricalDtype):
        categories = tuple(dtype.categories)
    else:
        categories = tuple(plain(v) for v in sorted(series.unique()))
    if kind is Kind.ORDINAL:
        numeric = all(
            isinstance(c, int | float | np.number) and not isinstance(c, bool) for c in categories
        )
        codes = tuple(float(c) for c in categories) if numeric else ()  # type: ignore[arg-type]
        low = codes[0] if codes else 0.0
        high = codes[-1] if codes else float(len(categories) - 1)
        offset, scale = (low, high - low) if scaling == "minmax" and high > low else (0.0, 1.0)
        return Feature(name, kind, categories=categories, codes=codes, offset=offset, scale=scale)
    return Feature(name, kind, categories=categories)


def _infer_kind(series: pd.Series) -> Kind:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered:
            return Kind.ORDINAL
        return Kind.BINARY if len(dtype.categories) == 2 else Kind.NOMINAL
    if pd.api.types.is_bool_dtype(dtype):
        return Kind.BINARY if series.nunique() == 2 else Kind.NOMINAL
    if pd.api.types.is_numeric_dtype(dtype):
        if series.nunique() == 2 and set(series.unique()) <= {0, 1}:
            return Kind.BINARY
        return Kind.INTEGER if pd.api.types.is_integer_dtype(dtype) else Kind.NUMERICAL
    return Kind.BINARY if series.nunique() == 2 else Kind.NOMINAL


def _bounds(
    name: str, bounds: tuple[float, float] | None, series: pd.Series
) -> tuple[float, float]:
    if bounds is None:
        return float(series.min()), float(series.max())
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise FeatureError(f"feature {name!r}: bounds {bounds!r} are not (lower, upper)")
    low, high = (number(f"feature {name!r}: bound", b, FeatureError) for b in bounds)
    return low, high
