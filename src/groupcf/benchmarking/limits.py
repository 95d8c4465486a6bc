"""Between which values the goods of a unit may move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.benchmarking.units import Side, Units, named
from groupcf.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Bound = float | Mapping[str, Any] | None
"""One number for all columns, or by column: a number, or a Series by unit."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Allowed new values of the goods that may change.

    Attributes
    ----------
    lower, upper : ndarray of shape (K, n)
        In the user's own units of measurement; upper may be infinite. Equal where frozen.
    whole : ndarray of shape (n,) of bool
        A good that changes ends at a whole number.
    """

    lower: Floats
    upper: Floats
    whole: NDArray[np.bool_]


def read_limits(
    units: Units,
    change: Side,
    *,
    frozen: Sequence[str] = (),
    integer: Sequence[str] = (),
    lower: Bound = None,
    upper: Bound = None,
    relative_lower: Bound = None,
    relative_upper: Bound = None,
) -> Limits:
    """Read what the user allows.

    Parameters
    ----------
    units : Units
    change : {"input", "output"}
        Which goods may change; all columns named must be among them.
    frozen, integer : sequence of str
        Columns that keep their value; columns that change to whole numbers only.
    lower, upper : number or mapping
        Bounds of the new value, in the units of the column.
    relative_lower, relative_upper : number or mapping
        Bounds as multiples of the present value.

    Raises
    ------
    ConfigError
        For an unknown column or something that is not a number.
    DataError
        When no value is allowed; the message names unit and column.
    """
    names = units.inputs if change == "input" else units.outputs
    now = units.X if change == "input" else units.Y
    low = np.maximum(
        read_amounts(lower, units, names, "lower", 0.0),
        now * read_amounts(relative_lower, units, names, "relative_lower", 0.0),
    )
    times = read_amounts(relative_upper, units, names, "relative_upper", np.inf)
    relative = np.where(np.isinf(times), np.inf, now * np.where(np.isinf(times), 0.0, times))
    high = np.minimum(read_amounts(upper, units, names, "upper", np.inf), relative)
    whole = np.isin(names, _names(integer, names, "integer"))
    fixed = np.isin(names, _names(frozen, names, "frozen"))
    for j in np.flatnonzero(fixed):
        bad = np.flatnonzero((now[:, j] < low[:, j]) | (now[:, j] > high[:, j]))
        if len(bad):
            raise DataError(
                f"unit {named(units.labels[bad[0]])}: {names[j]!r} is frozen at "
                f"{now[bad[0], j]:g}, outside its bounds"
            )
        low[:, j] = high[:, j] = now[:, j]
    for k, j in np.argwhere(low > high)[:1]:
        raise DataError(
            f"unit {named(units.labels[k])}: {names[j]!r} would have to be at least {low[k, j]:g} "
            f"and at most {high[k, j]:g}"
        )
    return Limits(low, high, whole)


def _names(given: Sequence[str], names: tuple[str, ...], key: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"{key}: give a list of column names, not {given!r}")
    for name in given:
        if name not in names:
            raise ConfigError(f"{key}: {name!r} is not among the columns that may change: {names}")
    return list(given)


def read_amounts(
    bound: Bound, units: Units, names: tuple[str, ...], key: str, none: float
) -> Floats:
    """Return amounts by unit and column, shape (K, n); `none` where nothing is given.

    Raises
    ------
    ConfigError
        For an unknown column, a missing unit, or what is not a non-negative number.
    """
    values = np.full((len(units), len(names)), none)
    if bound is None:
        return values
    given = bound if isinstance(bound, Mapping) else dict.fromkeys(names, bound)
    for name, value in given.items():
        if name not in names:
            raise ConfigError(f"{key}: {name!r} is not among the columns that may change: {names}")
        if isinstance(value, pd.Series):
            missing = units.labels.difference(value.index)
            if len(missing):
                raise ConfigError(f"{key}: {name!r} has no value for unit {named(missing[0])}")
            value = value.reindex(units.labels).to_numpy()
        try:
            values[:, names.index(name)] = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ConfigError(f"{key}: {value!r} for {name!r} is not a number") from None
    if np.isnan(values).any() or (values < 0).any():
        name = names[int(np.argmax((np.isnan(values) | (values < 0)).any(axis=0)))]
        raise ConfigError(f"{key}: give numbers that are not negative for {name!r}")
    return values
