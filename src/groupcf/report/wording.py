"""How numbers, parameters and methods are written, in figures, tables and sentences alike."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SYMBOLS = {
    "nu": "ν",
    "lam_ind": "λ_ind",
    "lam_glob": "λ_glob",
    "F_max": "F_max",
    "S_star": "S*",
    "tau": "τ",
}
"""Parameter of a record -> its symbol in models.md; other parameters keep their name."""

DIGITS = 4


def symbol(parameter: str) -> str:
    """Return how a parameter is written."""
    return SYMBOLS.get(parameter, parameter)


def number(value: Any, digits: int = DIGITS) -> str:
    """Write a number with `digits` significant digits and no trailing zeros.

    Whole numbers below a billion are written in full, whatever `digits` says. None and NaN
    become "–", infinity "∞".
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = float(value)
        except (TypeError, ValueError):
            return str(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value)}".replace("-", "−")
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def seconds(value: float | None) -> str:
    """Write a duration so that short and long ones are both readable."""
    if value is None or not math.isfinite(value):
        return "–"
    if value < 0.001:
        return "< 1 ms"
    if value < 1.0:
        return f"{1000 * value:.0f} ms"
    if value < 100.0:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def percent(share: float | None) -> str:
    """Write a share as a percentage; "0 %" only for exactly nothing or a rounding error."""
    if share is None or math.isnan(share):
        return "–"
    if math.isinf(share):
        return "∞"
    return "0 %" if abs(share) < 1e-9 else f"{number(100 * share, 2)} %"


def pair(before: Any, after: Any) -> tuple[str, str]:
    """Write two values with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, 17):
        a, b = number(before, digits), number(after, digits)
        if a != b:
            return a, b
    return str(before), str(after)


def value_of(value: Any) -> str:
    """Write a parameter's value: number, text, list or mapping."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)) or value is None:
        return number(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {value_of(v)}" for k, v in value.items())
    if isinstance(value, Sequence):
        return ", ".join(value_of(v) for v in value)
    return str(value)


def settings(parameters: Mapping[str, Any], leave_out: Iterable[str] = ()) -> str:
    """Write parameters as "λ_glob = 0.2, ν = 0.5"; unset ones (None) are left out."""
    skip = set(leave_out)
    return ", ".join(
        f"{symbol(k)} = {value_of(v)}"
        for k, v in parameters.items()
        if k not in skip and v is not None
    )


def canonical(parameters: Mapping[str, Any]) -> str:
    """Return parameters as JSON with sorted keys, for files that machines read."""
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def listing(names: Sequence[str]) -> str:
    """Write names as "a, b and c"."""
    names = [str(n) for n in names]
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def count(n: int, thing: str, things: str | None = None) -> str:
    """Write "1 feature", "2 features"."""
    return f"{n} {thing if n == 1 else things or thing + 's'}"


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` characters, with an ellipsis in place of what is lost."""
    return text if len(text) <= width else text[: max(1, width - 1)].rstrip() + "…"
