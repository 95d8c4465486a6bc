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
    "f_max": "F_max",
    "b_max": "B_max",
    "target": "E*",
    "target_cost": "cost",
    "rts": "returns to scale",
    "lam0": "λ₀",
    "lam2": "λ₂",
    "s_star": "S*",
    "s_share": "S*/S",
    "tau": "τ",
}
"""Parameter of a record -> its symbol in models.md; other parameters keep their name."""

CLASSIFIERS = {
    "logistic": "logistic regression",
    "linear_svm": "linear support vector machine",
    "random_forest": "random forest",
    "hard_forest": "random forest (hard vote)",
    "xgboost": "XGBoost",
    "network": "ReLU network",
    "deep_network": "deep ReLU network",
}
DATASETS = {
    "boston": "Boston housing",
    "compas": "COMPAS",
    "credit": "Taiwanese credit",
    "students": "Student performance",
    "german": "German credit",
    "compas_binned": "COMPAS (binned)",
    "students_binned": "Student performance (binned)",
    "german_binned": "German credit (binned)",
    "ItalyPowerDemand": "power demand in Italy",
    "NATOPS": "gestures (NATOPS)",
    "BasicMotions": "motions (BasicMotions)",
    "firms": "the four firms of Table 4.1",
    "banks1": "banks (banks1)",
    "branches_synthetic": "invented bank branches",
    "branches_canadian": "Canadian bank branches",
}
STATUSES = {
    "optimal": "proven optimal",
    "feasible": "not proven",
    "infeasible": "proven infeasible",
    "unbounded": "unbounded",
    "no_incumbent": "no answer in time",
    "solver_missing": "solver missing",
    "licence_missing": "licence missing",
    "crashed": "solver crashed",
    "interrupted": "interrupted",
    "skipped": "skipped",
    "failed": "failed",
}

DIGITS = 4


def symbol(parameter: str) -> str:
    """Return how a parameter is written."""
    return SYMBOLS.get(parameter, parameter)


def classifier(name: str) -> str:
    """Return how a classifier of the studies is called."""
    return CLASSIFIERS.get(name, name.replace("_", " "))


def dataset(name: str) -> str:
    """Return how a data set is called."""
    return DATASETS.get(name, name)


def status(name: str) -> str:
    """Return what a status means in two or three words."""
    return STATUSES.get(name, name.replace("_", " "))


def capital(text: str) -> str:
    """Return a text with its first letter in upper case and the rest as it is."""
    return text[:1].upper() + text[1:]


def number(value: Any, digits: int = DIGITS) -> str:
    """Write a number with `digits` significant digits and no trailing zeros.

    Digits before the decimal point are all written, whatever `digits` says, below a billion.
    None and NaN become "–", infinity "∞".
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
    if not 1e-5 <= abs(value) < 1e9:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    else:
        # rounding first: 9.9996 has another number of digits than 10.00
        size = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
        decimals = max(0, digits - 1 - size)
        text = f"{value:.{decimals}f}"
        if decimals:
            text = text.rstrip("0").rstrip(".")
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


def percent(share: float | None, digits: int = 2) -> str:
    """Write a share as a percentage; "0 %" only for exactly nothing or a rounding error."""
    if share is None or math.isnan(share):
        return "–"
    if math.isinf(share):
        return "∞"
    return "0 %" if abs(share) < 1e-9 else f"{number(100 * share, digits)} %"


def pair(before: Any, after: Any) -> tuple[str, str]:
    """Write two values with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, 18):
        a, b = number(before, digits), number(after, digits)
        if a != b or before == after:
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


def choices(values: Sequence[Any]) -> str:
    """Write the values that a parameter takes: "0.1 or 10", "1, 2, ..., 13"."""
    whole = all(isinstance(v, (int, float)) and float(v).is_integer() for v in values)
    if (
        len(values) > 3
        and whole
        and list(values) == list(range(int(values[0]), int(values[-1]) + 1))
    ):
        return f"{number(values[0])}, {number(values[1])}, …, {number(values[-1])}"
    words = [value_of(v) for v in values]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


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
