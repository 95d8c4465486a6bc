"""Checks at the door: an argument of the wrong type or size is an error with its name."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from groupcf.errors import ConfigError, GroupcfError


def number(name: str, value: Any, error: type[GroupcfError] = ConfigError) -> float:
    """Return a finite number.

    Raises
    ------
    ConfigError
        Or the given `error`: when it is no number, or not finite; names the argument.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise error(f"{name}: {value!r} is not a finite number")
    return float(value)


def whole(name: str, value: Any, minimum: int = 0) -> int:
    """Return a whole number not below a minimum.

    Raises
    ------
    ConfigError
        When it is none; names the argument.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not math.isfinite(value)
        or not float(value).is_integer()
        or value < minimum
    ):
        raise ConfigError(f"{name}: {value!r} must be a whole number >= {minimum}")
    return int(float(value))


def instance_of(name: str, value: Any, *kinds: type) -> None:
    """Check a value's type.

    Raises
    ------
    ConfigError
        When it is of another type; names the argument and the types that it may have.
    """
    if not isinstance(value, kinds):
        expected = " or ".join(k.__name__ for k in kinds)
        raise ConfigError(f"{name}: expected {expected}, not {type(value).__name__}")


def listed(name: str, value: Any) -> tuple[Any, ...]:
    """Return the entries of a list, tuple or array.

    Raises
    ------
    ConfigError
        For anything else, such as a text or a single value; names the argument.
    """
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        return tuple(value.tolist())
    if not isinstance(value, (tuple, list)):
        raise ConfigError(f"{name}: give a tuple or a list, not {type(value).__name__}")
    return tuple(value)
