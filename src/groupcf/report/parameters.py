"""Which parameters tell the solves of a study apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupcf.records import Record
from groupcf.report import wording


def values(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Return parameter -> its distinct values that are set, in order of appearance."""
    out: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.parameters.items():
            known = out.setdefault(name, [])
            if value is not None and value not in known:
                known.append(value)
    return {name: known for name, known in out.items() if known}


def varying(records: Sequence[Record]) -> list[str]:
    """Return the parameters that do not have the same value in all records."""
    names = dict.fromkeys(name for r in records for name in r.parameters)
    return [
        name
        for name in names
        if len({wording.canonical({"": r.parameters.get(name)}) for r in records}) > 1
    ]


def swept(study: Mapping[str, Any], records: Sequence[Record]) -> str:
    """Return the numerical parameter with the most values; empty when none varies."""
    names = [*(study.get("sweep") or {}), *varying(records)]
    most = {
        name: len({v for r in records if is_number(v := r.parameters.get(name))}) for name in names
    }
    best = max(most, key=lambda name: most[name], default="")
    return best if most.get(best, 0) > 1 else ""


def drawn_with(study: Mapping[str, Any]) -> list[str]:
    """Return the further studies whose records the figures of a study need."""
    return list((study.get("figure") or {}).get("with") or ())


def published_objective(record: Record) -> float | None:
    """Return the published value of a solve, proven or where its time limit ended it."""
    told = record.published or {}
    value = told.get("objective", told.get("incumbent"))
    return None if value is None else float(value)


def series(records: Sequence[Record], parameter: str) -> list[tuple[Record, ...]]:
    """Group records that differ in one parameter alone, each group in its ascending order.

    Records in which the parameter is not a number are left out.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if not is_number(record.parameters.get(parameter)):
            continue
        others = {k: v for k, v in record.parameters.items() if k != parameter}
        context = [name_of(record.dataset), name_of(record.classifier), others]
        groups.setdefault(wording.canonical({"": context}), []).append(record)
    return [tuple(sorted(g, key=lambda r: r.parameters[parameter])) for g in groups.values()]


def label(record: Record, among: Sequence[Record], leave_out: str = "") -> str:
    """Name a record by what tells it apart: data set, classifier, settings.

    Parameters
    ----------
    record : Record
    among : sequence of Record
        The records that it stands beside.
    leave_out : str, optional
        A parameter that is told elsewhere.
    """
    apart = {k: record.parameters.get(k) for k in varying(among) if k != leave_out}
    parts = [
        wording.dataset(name_of(record.dataset))
        if len({name_of(r.dataset) for r in among}) > 1
        else "",
        wording.classifier(name_of(record.classifier)),
        wording.settings(apart),
    ]
    return wording.capital(", ".join(p for p in parts if p)) or record.study


def name_of(described: Mapping[str, Any] | None) -> str:
    """Return the name of a data set or classifier as recorded; empty when there is none."""
    return str((described or {}).get("name") or "")


def is_number(value: Any) -> bool:
    """Whether a parameter's value is a number (a truth value is none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
