"""What each instance may become: actionability, bounds, allowed values (models.md section 0).

The feasible set of one instance is a product over features: an interval for a continuous
feature, a finite list of values or categories for a discrete one. The instance's own value
always belongs to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import DataError
from groupcf.features import CHANGE_TOLERANCE, Feature, FeatureSpace, Kind
from groupcf.features.feature import plain


def check_instances(space: FeatureSpace, X0: NDArray[np.float64]) -> None:
    """Check that instances lie in the feature space's own bounds.

    Parameters
    ----------
    space : FeatureSpace
    X0 : ndarray of shape (S, D)

    Raises
    ------
    DataError
        For a wrong shape, a value that is not finite, or one outside the bounds; the
        message names feature and row.
    """
    if X0.ndim != 2 or X0.shape[1] != space.n_columns:
        raise DataError(f"instances have shape {X0.shape}; expected (S, {space.n_columns})")
    if not np.isfinite(X0).all():
        row, column = np.argwhere(~np.isfinite(X0))[0]
        raise DataError(f"instance {row}, column {space.columns[column]!r}: not a finite number")
    for f, block in zip(space.features, space.blocks, strict=True):
        values = X0[:, block]
        if f.kind is Kind.NOMINAL:
            bad = (np.sort(values, axis=1) != np.eye(f.width)[-1]).any(axis=1)
            what = "is not exactly one category"
        else:
            lo, hi = encoded_bounds(f)
            slack = 1e-9 * max(1.0, abs(lo), abs(hi))
            bad = ((values < lo - slack) | (values > hi + slack))[:, 0]
            what = f"is outside [{f.lower}, {f.upper}]; widen the feature's bounds"
        if bad.any():
            at = int(np.argmax(bad))
            shown = f.decode(values[at : at + 1]).iloc[0] if f.width == 1 else values[at].tolist()
            raise DataError(
                f"instance {at} (counted from 0), feature {f.name!r}: {plain(shown)!r} {what}"
            )


def encoded_bounds(feature: Feature) -> tuple[float, float]:
    """Return the encoded range of a one-column feature, before `allowed` is applied."""
    if feature.kind in (Kind.NUMERICAL, Kind.INTEGER):
        raw = (feature.lower, feature.upper)
    elif feature.codes:
        raw = (feature.codes[0], feature.codes[-1])
    else:
        raw = (0.0, float(len(feature.categories) - 1))
    return (raw[0] - feature.offset) / feature.scale, (raw[1] - feature.offset) / feature.scale


def feasible_box(
    space: FeatureSpace,
    X0: NDArray[np.float64],
    within: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper bounds by instance and encoded column, each (S, D).

    Frozen and monotone features and barred categories are taken into account; integrality,
    gaps between allowed values and the one-hot equation are not. The instance itself lies
    in its box, unless `within` (lower and upper values, as in a problem) says otherwise; a
    lower bound above its upper bound means that nothing is left.
    """
    lower, upper = X0.copy(), X0.copy()
    for f, block in zip(space.features, space.blocks, strict=True):
        if not f.actionable:
            continue
        if f.kind is Kind.NOMINAL:
            lower[:, block] = 0.0
            upper[:, block] = np.maximum(X0[:, block], f.allowed_mask()[None, :])
            continue
        if f.discrete:
            values = f.values()
            lo, hi = (values[0], values[-1]) if len(values) else (np.inf, -np.inf)
        else:
            lo, hi = encoded_bounds(f)
        own = X0[:, block.start]
        if f.direction != "increasing":
            lower[:, block.start] = np.minimum(own, lo)
        if f.direction != "decreasing":
            upper[:, block.start] = np.maximum(own, hi)
    if within is not None:
        lower, upper = np.maximum(lower, within[0]), np.minimum(upper, within[1])
    return lower, upper


def options(feature: Feature, own: float | int) -> NDArray[np.float64]:
    """Return what one instance may take in one discrete feature, its own value first.

    Parameters
    ----------
    feature : Feature
        A discrete feature.
    own : float or int
        The instance's encoded value; for a nominal feature the position of its category.

    Returns
    -------
    ndarray of shape (n,)
        Encoded values; for a nominal feature positions of categories.
    """
    if not feature.actionable:
        return np.array([own], dtype=float)
    if feature.kind is Kind.NOMINAL:
        others = np.flatnonzero(feature.allowed_mask()).astype(float)
        return np.concatenate([[own], others[others != own]])
    values = feature.values()
    if feature.direction == "increasing":
        values = values[values > own]
    elif feature.direction == "decreasing":
        values = values[values < own]
    return np.concatenate([[own], values[np.abs(values - own) > CHANGE_TOLERANCE]])
