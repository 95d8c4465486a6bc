"""Units with inputs and outputs, checked at the door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.errors import ConfigError, DataError

Scale = Literal["crs", "vrs", "drs", "irs", "fdh"]
"""Returns to scale: constant, variable, non-increasing, non-decreasing; free disposal hull."""
Side = Literal["input", "output"]


@dataclass(frozen=True, eq=False)
class Units:
    """K units that turn I inputs into O outputs.

    Attributes
    ----------
    labels : Index of length K
        Names of the units, all different.
    inputs, outputs : tuple of str
        Names of the columns.
    X : ndarray of shape (K, I)
        Inputs, non-negative, in the user's own units of measurement.
    Y : ndarray of shape (K, O)
        Outputs, likewise.
    """

    labels: pd.Index[Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    X: NDArray[np.float64]
    Y: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.labels)

    def position(self, label: Any) -> int:
        """Return the row of a unit.

        Raises
        ------
        ConfigError
            If there is no unit of this name.
        """
        try:
            return int(self.labels.get_loc(label))  # type: ignore[arg-type]  # labels are unique
        except (KeyError, TypeError):
            some = ", ".join(repr(v) for v in self.labels[:5].tolist())
            raise ConfigError(
                f"units: there is no unit {named(label)}; the table's index holds {some}"
                f"{', ...' if len(self) > 5 else ''}"
            ) from None


def read_units(frame: pd.DataFrame, inputs: Sequence[str], outputs: Sequence[str]) -> Units:
    """Take units out of a table and check them.

    Parameters
    ----------
    frame : DataFrame of K rows
        The index names the units.
    inputs, outputs : sequence of str
        Columns of `frame`.

    Returns
    -------
    Units

    Raises
    ------
    ConfigError
        If a column is named twice, or no input or output is named.
    DataError
        If a column is missing, not numeric, negative, unknown in some row or zero in all, if
        two units have one name, or a unit uses no input at all; the message names them.
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"units: give a pandas DataFrame, not {type(frame).__name__}")
    columns: dict[str, str] = {}
    for key, names in (("inputs", inputs), ("outputs", outputs)):
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ConfigError(f"{key}: give a list of column names, not {names!r}")
        if not names:
            raise ConfigError(f"{key}: name at least one column")
        for name in names:
            if name in columns:
                raise ConfigError(f"{key}: column {name!r} is named twice")
            columns[name] = key
            if name not in frame.columns:
                have = ", ".join(repr(c) for c in frame.columns)
                raise DataError(f"{key}: there is no column {name!r}; the table has {have}")
            if isinstance(frame[name], pd.DataFrame):
                raise DataError(f"{key}: the table has more than one column {name!r}")
    if not len(frame):
        raise DataError("units: the table has no rows")
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        raise DataError(f"units: more than one row is named {named(twice[0])}; make names unique")
    X = np.column_stack([_numbers(frame[name], "input") for name in inputs])
    Y = np.column_stack([_numbers(frame[name], "output") for name in outputs])
    idle = np.flatnonzero(~X.any(axis=1))
    if len(idle):
        label, made = frame.index[idle[0]], Y[idle[0]].any()
        raise DataError(
            f"unit {named(label)} uses no input at all{' and yet has outputs' if made else ''}: "
            "no efficiency is defined beside it; correct or remove the row"
        )
    return Units(frame.index, tuple(inputs), tuple(outputs), X, Y)


def _numbers(column: pd.Series[Any], kind: str) -> NDArray[np.float64]:
    """Return a column as finite non-negative numbers, not all zero."""
    name = column.name
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        read = pd.to_numeric(column, errors="coerce")
        bad = (read.isna() & column.notna()).to_numpy()
        at = int(np.argmax(bad)) if bad.any() else 0
        raise DataError(
            f"{kind} {name!r}: {column.iloc[at]!r} in row {named(column.index[at])} is not a number"
        ) from None
    for bad, words in (
        (np.isnan(values), "has no value"),
        (np.isinf(values), "is infinite"),
        (values < 0, "is negative"),
    ):
        if bad.any():
            row = column.index[int(np.argmax(bad))]
            raise DataError(
                f"{kind} {name!r} {words} in row {named(row)}: correct the value or remove the row"
            )
    if not values.any():
        raise DataError(f"{kind} {name!r} is zero in every row: leave it out")
    return values


def check_scale(rts: str) -> Scale:
    """Return the returns to scale in lower case.

    Raises
    ------
    ConfigError
        If there are none of this name.
    """
    for known in get_args(Scale):
        if isinstance(rts, str) and rts.lower() == known:
            return known  # type: ignore[no-any-return]
    raise ConfigError(f"rts: {rts!r} is none of {', '.join(get_args(Scale))}")


def check_side(side: str, key: str) -> Side:
    """Return "input" or "output".

    Raises
    ------
    ConfigError
        If it is neither.
    """
    for known in get_args(Side):
        if side == known:
            return known  # type: ignore[no-any-return]
    raise ConfigError(f"{key}: {side!r} is neither 'input' nor 'output'")


def named(label: Any) -> str:
    """Write a label for a message: 3, not np.int64(3)."""
    return repr(label.item() if isinstance(label, np.generic) else label)
