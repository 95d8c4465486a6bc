"""Questions and answers of a study in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from groupcf.records import Record
from groupcf.report import parameters, targets, wording
from groupcf.report.changes import Changes, is_text
from groupcf.report.wording import choices, count, listing, number

GAUGES = {
    "l1": "the sum of absolute differences",
    "l2": "the Euclidean distance",
    "l2_squared": "the squared Euclidean distance",
    "linf": "the largest absolute difference",
    "gower": "the Gower distance",
    "chi2": "the chi-squared distance",
}
LIMITS = {
    "f_max": "At most {} features change over the whole group",
    "max_changed": "At most {} features change for any one instance",
    "s_star": "At least {} of the instances must be accepted, the others stay as they are",
    "s_share": "At least {} of the instances must be accepted, the others stay as they are",
    "tau": "Two counterfactuals are at most {} times as far apart as their instances",
}
"""Parameter -> what it demands; the braces take its value or values."""

SPARSE = "sparse one-for-many"
"""Model of the studies that look for the fewest shared counterfactuals."""

FEW = 24
"""Up to so many instances are listed by name in a sentence."""
LONG = 90
"""Up to so many characters of feature names are listed."""


def question(records: Sequence[Record]) -> list[str]:
    """Say what a study asks: data, classifiers, group, cost, demands.

    Parameters
    ----------
    records : sequence of Record
        All records of one study.
    """
    if not records:
        return []
    given = parameters.values(records)
    models = _distinct(r.model for r in records if r.model)
    sizes = _distinct(r.n_instances for r in records if r.n_instances is not None)
    who = f"{choices(sizes)} instances" if sizes else "the instances"
    if models == [SPARSE]:
        return _sparse_question(records, given, who)
    if targets.is_about(records):
        return targets.question(records, given)
    if models and set(models) <= {"CEF", "CEFDTW"}:
        return _curves_question(records, given)
    if not models or not set(models) <= {"CEsep", "ColCE"}:
        out = [f"{listing(models) or 'A model'} for {who} of {_dataset(records)}."]
        return out + ([f"Settings: {_settings(given, ())}."] if given else [])
    demand = f" with a probability of at least {choices(given['nu'])}" if "nu" in given else ""
    out = [
        f"For {who} of {_dataset(records)}, find the changes of least cost after which "
        f"{_classifiers(records)}{demand}.",
        cost(given),
    ]
    limits = [
        text.format(_amounts(name, given[name])) + "."
        for name, text in LIMITS.items()
        if given.get(name)
    ]
    known = {"nu", "gauge", "lam_ind", "lam_glob", *LIMITS}
    rest = _settings(given, known)
    return out + limits + ([f"Further settings: {rest}."] if rest else [])


def _sparse_question(
    records: Sequence[Record], given: Mapping[str, Sequence[Any]], who: str
) -> list[str]:
    demand = f" with a probability of at least {choices(given['nu'])}" if "nu" in given else ""
    out = [
        f"For {who} of {_dataset(records)}, find the fewest counterfactuals such that each "
        f"instance shares one that {_classifiers(records)}{demand}.",
    ]
    if given.get("J_max"):
        out.append(
            f"The instances that share a counterfactual change at most {choices(given['J_max'])} "
            "features between them."
        )
    known = {"nu", "J_max", "S", "method"}
    rest = _settings(given, known)
    return out + ([f"Further settings: {rest}."] if rest else [])


def _curves_question(records: Sequence[Record], given: Mapping[str, Sequence[Any]]) -> list[str]:
    warped = any(r.model == "CEFDTW" for r in records)
    distance = "dynamic time warping" if warped else "the squared Euclidean distance"
    out = [
        f"For a curve of {_dataset(records)}, find the nearest one, by {distance}, that "
        f"{_classifiers(records).replace('them', 'it')} with a probability of at least "
        f"{choices(given.get('nu', [0.5]))}.",
    ]
    if given.get("b_max"):
        out.append(
            "In each functional feature it is a convex combination of the curve itself and of at "
            f"most {choices(given['b_max'])} observed curves of the wanted class, the same ones in "
            "all features."
        )
    if any(given.get("lam0", ())):
        out.append(f"Each functional feature that changes costs {choices(given['lam0'])}.")
    rest = _settings(given, {"nu", "b_max", "lam0"})
    return out + ([f"Further settings: {rest}."] if rest else [])


def cost(values: Mapping[str, Sequence[Any]]) -> str:
    """Say what is minimised.

    Parameters
    ----------
    values : mapping
        Parameter -> the values it takes in a study.
    """
    gauges = values.get("gauge") or ["l2_squared"]
    parts = [
        " or ".join(GAUGES.get(str(g), f"the gauge {g}") for g in gauges) + " in encoded units"
    ]
    for name, what in (
        ("lam_ind", "for each feature that an instance changes"),
        ("lam_glob", "for each feature that at least one instance changes"),
    ):
        price = values.get(name) or []
        if any(price):
            parts.append(f"{choices(price)} {what}")
    return f"The cost of a change is {', plus '.join(parts)}."


def answer(record: Record) -> str:
    """Say in one or two sentences what a solve found, and how sure that is."""
    value, bound = number(record.objective, 7), number(record.bound, 7)
    message = f" {record.message}" if record.message else ""
    if record.model == SPARSE and record.objective is not None:
        return f"{wording.capital(record.message)}."
    match record.status:
        case "optimal" if record.bound is None:
            return f"Cost {value}.{message}"
        case "optimal":
            return f"Cost {value}, proven to be the least possible."
        case "feasible":
            lower = f"at least {bound} is needed" if record.bound is not None else "no bound"
            gap = f", gap {wording.percent(record.gap)}" if record.gap is not None else ""
            return f"Cost {value}; {lower}{gap}: not proven to be the least.{message}"
        case "infeasible":
            return f"No change fulfils all demands; that is proven.{message}"
        case "no_incumbent":
            lower = f" (any would cost at least {bound})" if record.bound is not None else ""
            return f"Stopped before an answer was found{lower}.{message}"
    return f"{wording.capital(wording.status(record.status))}.{message}"


def group(changes: Changes) -> list[str]:
    """Say how many instances change which feature, and who is left out."""
    served = int(changes.flipped.sum())
    counts = changes.counts()
    alike: dict[tuple[int, int, int], list[str]] = {}
    for feature in sorted(counts, key=lambda f: -sum(counts[f])):
        alike.setdefault(counts[feature], []).append(feature)
    parts = [f"{_share(sum(c), served)} {_deed(*c, features)}" for c, features in alike.items()]
    out = [wording.capital("; ".join(parts)) + "." if parts else "Nothing changes."]
    unused = [f for f in changes.features if f not in counts]
    if parts and unused:
        tail = listing(unused)
        if len(tail) > LONG:
            tail = f"The other {count(len(unused), 'feature')}"
        out.append(f"{tail} {'stays' if len(unused) == 1 else 'stay'} the same for everybody.")
    left = [r for r, ok in zip(changes.rows, changes.flipped, strict=True) if not ok]
    if left:
        names = f": {listing(left)}" if len(left) <= FEW else ""
        out.append(f"{count(len(left), 'outlier')} left unchanged{names}.")
    return out


def instance(changes: Changes, i: int) -> str:
    """Say what one instance changes: "lower LSTAT from 12.4 to 8.1; raise RM from ..."."""
    if not changes.flipped[i]:
        return "stays as it is (outlier)"
    parts = [
        change(
            changes.features[j],
            changes.before[i, j],
            changes.after[i, j],
            0.0 if changes.nominal[j] else float(changes.diff[i, j]),
        )
        for j in np.flatnonzero(changes.diff[i])
    ]
    return "; ".join(parts) if parts else "nothing changes"


def change(feature: str, before: Any, after: Any, diff: float) -> str:
    """Say one change of one feature; `diff` 0 means that it has no direction."""
    verb = "change" if diff == 0.0 else "raise" if diff > 0.0 else "lower"
    if is_text(before) or is_text(after):
        a, b = str(before), str(after)
    else:
        a, b = wording.pair(before, after)
    return f"{verb} {feature} from {a} to {b}"


def _amounts(name: str, given: Sequence[Any]) -> str:
    if name == "s_share":
        return choices([wording.percent(v, 4) for v in given])
    return choices(given)


def _share(n: int, total: int) -> str:
    return f"all {total}" if n == total > 1 else f"{n} of {total}"


def _deed(up: int, down: int, switched: int, features: Sequence[str]) -> str:
    """Say what is done to features: "lower A and B", "change C (3 raise it, 1 lowers it)"."""
    names = listing(features)
    if up and down:
        it = "it" if len(features) == 1 else "each"
        raising, lowering = ("raises" if up == 1 else "raise"), ("lowers" if down == 1 else "lower")
        return f"change {names} ({up} {raising} {it}, {down} {lowering} {it})"
    verb = "change" if switched else "raise" if up else "lower"
    return f"{verb}{'s' if up + down + switched == 1 else ''} {names}"


def _classifiers(records: Sequence[Record]) -> str:
    names = _distinct(
        wording.classifier(name) for r in records if (name := parameters.name_of(r.classifier))
    )
    if len(names) == 1:
        return f"the {names[0]} accepts them"
    return f"each classifier by itself ({listing(names)}) accepts them"


def _settings(values: Mapping[str, Sequence[Any]], known: Iterable[str]) -> str:
    skip = set(known)
    return ", ".join(
        f"{wording.symbol(k)} = {choices(v)}" for k, v in values.items() if k not in skip
    )


def _dataset(records: Sequence[Record]) -> str:
    names = _distinct(
        wording.dataset(str(r.dataset["name"]))
        + ("" if r.dataset.get("variant") in (None, "", "published") else
           f" ({r.dataset['variant']} variant)")
        for r in records
        if r.dataset and r.dataset.get("name")
    )  # fmt: skip
    return " and ".join(names) or "the data set"


def _distinct(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))
