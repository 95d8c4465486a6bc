"""Tables of the report and the summary file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from groupcf.records import Record
from groupcf.report import wording
from groupcf.report.parameters import name_of, varying
from groupcf.report.targets import new_values
from groupcf.report.wording import listing, number

SUMMARY = (
    "study",
    "dataset",
    "classifier",
    "model",
    "method",
    "parameters",
    "status",
    "objective",
    "bound",
    "gap",
    "seconds",
    "verified",
    "published",
    "note",
)
"""Columns of the summary file."""

COMPARISON = (
    "study",
    "classifier",
    "parameters",
    "quantity",
    "published",
    "ours",
    "agrees",
    "difference",
    "note",
)
"""Columns of the comparison with published values."""


def summary(records: Sequence[Record]) -> pd.DataFrame:
    """Return one row per solve, in the columns of `SUMMARY`.

    "parameters" and "published" are JSON (the latter empty when nothing is published);
    "dataset" names the variant unless it is the published one; numbers keep full precision.
    """
    rows = []
    for r in sorted_by_study(records):
        rows.append(
            {
                "study": r.study,
                "dataset": _dataset(r.dataset),
                "classifier": name_of(r.classifier),
                "model": r.model,
                "method": r.method,
                "parameters": wording.canonical(r.parameters),
                "status": r.status,
                "objective": r.objective,
                "bound": r.bound,
                "gap": r.gap,
                "seconds": r.seconds,
                "verified": "" if r.verified is None else str(r.verified).lower(),
                "published": wording.canonical(r.published) if r.published else "",
                "note": " ".join(t for t in (r.note, r.message) if t),
            }
        )
    return pd.DataFrame(rows, columns=list(SUMMARY))


def comparison(records: Sequence[Record]) -> pd.DataFrame:
    """Compare published values with ours, one row per value, in the columns of `COMPARISON`.

    "parameters" names those that vary within the study.
    A number agrees when it rounds to the published one, a set when it is the same set, a
    status when it is the same; "max_features" is compared with the most features that any
    solve of the same study and classifier changes. "agrees" is "yes", "no" or, where we have
    no answer, "".
    """
    rows: list[dict[str, Any]] = []
    told: set[tuple[str, str]] = set()
    for r in sorted_by_study(records):
        published = r.published or {}
        for quantity, value in published.items():
            if quantity == "note" or quantity in BESIDE:
                continue
            study = [p for p in records if p.study == r.study]
            peers = [p for p in study if name_of(p.classifier) == name_of(r.classifier)]
            parameters = wording.settings({k: r.parameters.get(k) for k in varying(study)})
            if quantity == "max_features":
                if (r.study, _classifier(r)) in told:
                    continue
                told.add((r.study, _classifier(r)))
                parameters = "all"
            ours = _ours(quantity, r, peers)
            agrees, difference = compare(value, ours)
            if quantity == "incumbent" and agrees == "no" and ours < value:
                agrees, difference = "yes", f"{number(value - ours)} fewer"
            rows.append(
                {
                    "study": r.study,
                    "classifier": _classifier(r),
                    "parameters": parameters,
                    "quantity": QUANTITIES.get(quantity, quantity.replace("_", " ")),
                    "published": _written(value),
                    "ours": _written(ours),
                    "agrees": agrees,
                    "difference": difference,
                    "note": " ".join(t for t in (str(published.get("note") or ""), r.note) if t),
                }
            )
    return pd.DataFrame(rows, columns=list(COMPARISON))


BESIDE = ("cg_seconds", "milp", "milp_seconds")
"""Published facts that are shown beside ours but not compared with them."""

QUANTITIES = {
    "objective": "objective",
    "incumbent": "value at the time limit (ours is to be at most that)",
    "status": "outcome",
    "features": "features changed",
    "n_features": "number of features changed",
    "max_features": "most features changed",
    "outliers": "outliers",
    "n_outliers": "number of outliers",
    "plans": "new values by unit",
    "mean_changed": "goods changed, mean",
    "shares": "share of units that change a good",
}
"""Published quantity -> how it is called."""

_OURS: dict[str, Callable[[Record, Sequence[Record]], Any]] = {
    "objective": lambda r, _: r.objective,
    "incumbent": lambda r, _: r.objective,
    "status": lambda r, _: r.status,
    "features": lambda r, _: list(r.changed_features) if _solved(r) else None,
    "n_features": lambda r, _: len(r.changed_features) if _solved(r) else None,
    "max_features": lambda _, peers: max(
        (len(p.changed_features) for p in peers if _solved(p)), default=None
    ),
    "outliers": lambda r, _: list(r.outliers) if _solved(r) else None,
    "n_outliers": lambda r, _: len(r.outliers) if _solved(r) else None,
    "plans": lambda r, _: new_values(r),
    "mean_changed": lambda r, _: r.details.get("mean_changed") if _solved(r) else None,
    "shares": lambda r, _: {u["good"]: u["share"] for u in r.details.get("use", ())},
}


def compare(published: Any, ours: Any) -> tuple[str, str]:
    """Return whether our value agrees with a published one ("yes", "no", ""), and how not.

    Parameters
    ----------
    published : number, text, or list
        A number agrees with ours when ours rounds to it in its own digits.
    ours : same, or None
        None when there is no answer.
    """
    if ours is None:
        return "", "no answer here"
    if isinstance(published, str):
        return ("yes", "") if published == str(ours) else ("no", f"{ours} here")
    if isinstance(published, Mapping):
        return _compare_by_name(published, ours)
    if isinstance(published, Sequence):
        theirs, mine = [str(v) for v in published], [str(v) for v in ours]
        if set(theirs) == set(mine):
            return "yes", ""
        common = len(set(theirs) & set(mine))
        parts = [f"{common} in common"]
        for who, these, those in (("published", theirs, mine), ("here", mine, theirs)):
            if only := [v for v in these if v not in those]:
                parts.append(f"only {who}: {listing(only)}")
        return "no", "; ".join(parts)
    error = float(ours) - float(published)
    if abs(error) <= half_unit(published):
        return "yes", "" if error == 0 else "equal to the digits published"
    relative = f" ({wording.percent(error / abs(published))})" if published else ""
    return "no", f"{'+' if error > 0 else ''}{number(error)}{relative}"


def _compare_by_name(published: Mapping[str, Any], ours: Mapping[str, Any]) -> tuple[str, str]:
    """Compare named numbers, or named lists of numbers, each in its published digits."""
    apart = []
    for name, value in published.items():
        mine = ours.get(name)
        theirs = value if isinstance(value, list) else [value]
        found = mine if isinstance(mine, list) else [mine]
        if len(theirs) != len(found) or None in found:
            apart.append(f"{name}: no answer here")
        elif any(compare(a, b)[0] != "yes" for a, b in zip(theirs, found, strict=True)):
            apart.append(f"{name}: {wording.value_of(mine)} here")
    return ("no", "; ".join(apart)) if apart else ("yes", "equal to the digits published")


def half_unit(published: float) -> float:
    """Return half a unit in the last published digit; 0 for whole numbers, which are exact."""
    if isinstance(published, int):
        return 0.0
    digits = repr(published).lower()
    if "e" in digits or "." not in digits:
        return 1e-9 * abs(published)
    # a hair more than half: 20.7799 itself is not a binary number
    return 0.5 * 10.0 ** -len(digits.split(".")[1]) + 4.0 * math.ulp(published)


def sorted_by_study(records: Sequence[Record]) -> list[Record]:
    """Sort records by study, 2.9 before 2.10, keeping the order within a study."""
    return sorted(records, key=lambda r: natural(r.study))


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key under which numbers inside a text count as numbers."""
    pieces = (p for p in re.split(r"([0-9]+)", text) if p)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in pieces]


def _ours(quantity: str, record: Record, peers: Sequence[Record]) -> Any:
    if record.status in ("skipped", "failed"):
        return None
    if quantity in _OURS:
        return _OURS[quantity](record, peers)
    return record.details.get(quantity)


def _solved(record: Record) -> bool:
    return record.status in ("optimal", "feasible")


def _written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(v) for v in value) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {wording.value_of(v)}" for k, v in value.items()) or "none"
    return number(value, 7) if isinstance(value, (int, float)) else wording.status(str(value))


def _classifier(record: Record) -> str:
    return wording.classifier(name_of(record.classifier))


def _dataset(described: Mapping[str, Any] | None) -> str:
    name = name_of(described)
    variant = (described or {}).get("variant")
    return name if variant in (None, "", "published") else f"{name}-{variant}"
