"""Methods compared on the same problems: times, profile, progress, and the table of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from groupcf.records import Record
from groupcf.report import sentences, wording
from groupcf.report.panel import Panel
from groupcf.report.parameters import name_of, published_objective
from groupcf.report.wording import number

_SHOWN = 3
"""So many problems are drawn against time: those that took longest."""


def problem_of(record: Record) -> str:
    """Return what names the problem of a record, whatever method solved it."""
    rest = {k: v for k, v in record.parameters.items() if k != "method"}
    return wording.canonical({"": [name_of(record.dataset), name_of(record.classifier), rest]})


def times(records: Sequence[Record]) -> dict[str, list[float]]:
    """Return seconds to proof by method and problem; inf where a proof is missing.

    Problems that not every method was asked to solve are left out.
    """
    methods = list(dict.fromkeys(r.method for r in records if r.method))
    solved: dict[str, dict[str, float]] = {}
    for r in records:
        done = r.status in ("optimal", "infeasible")
        seconds = max(r.seconds or 0.0, 1e-4) if done else math.inf
        solved.setdefault(problem_of(r), {})[r.method] = seconds
    common = [by for by in solved.values() if len(by) == len(methods)]
    return {m: [by[m] for by in common] for m in methods}


def panels(records: Sequence[Record], everything: Sequence[Record]) -> list[Panel]:
    """Return the performance profile over all records, and progress on the hardest problems.

    Parameters
    ----------
    records : sequence of Record
        Of the study itself.
    everything : sequence of Record
        Also of the studies that it is drawn with.
    """
    out = []
    by_method = times(everything)
    if len(by_method) > 1 and any(math.isfinite(s) for t in by_method.values() for s in t):
        n = len(next(iter(by_method.values())))
        said = "; ".join(
            f"{m}: {sum(map(math.isfinite, t))} of {n} proven" for m, t in by_method.items()
        )
        caption = (
            "Performance profile (Dolan and Moré): share of problems that a method solves to "
            f"proof within a multiple of the fastest method's time. {wording.capital(said)}."
        )
        title = "Performance profile"
        out.append(
            Panel("", "profile", title, (tuple(everything),), "", caption, f"Line plot. {said}")
        )
    groups: dict[str, list[Record]] = {}
    for r in records:
        groups.setdefault(problem_of(r), []).append(r)
    hardest = sorted(groups.values(), key=lambda g: -sum(r.seconds or 0.0 for r in g))[:_SHOWN]
    shown = [[r for r in g if len(r.history) > 1] for g in hardest]
    for group in shown:
        if not group:
            continue
        title = wording.settings({k: v for k, v in group[0].parameters.items() if k != "method"})
        said = "; ".join(f"{r.method}: {sentences.answer(r)}" for r in group)
        caption = "Incumbent (solid) and proven bound (dashed) against time."
        out.append(Panel("", "progress", title, (tuple(group),), "", caption, f"Line plot. {said}"))
    return out


def cell_table(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the table of cells of the column generation study, the published one beside it.

    None for other studies.
    """
    cells = [r for r in records if r.model == sentences.SPARSE]
    if len(cells) < 2:
        return None
    named = any("method" in r.parameters for r in cells)
    told = any((r.published or {}).keys() & {"milp", "cg_seconds"} for r in cells)
    classifiers = len({name_of(r.classifier) for r in cells}) > 1
    head = ["classifier"] * classifiers + ["J_max", "S"] + ["method"] * named
    head += ["y*", "bound", "gap", "time", "iterations", "columns"]
    head += ["published y*", "its CG time", "its MILP value", "its MILP time"] * told
    rows = []
    for r in cells:
        row: list[str] = []
        if classifiers:
            row.append(wording.classifier(name_of(r.classifier)))
        row += [number(r.parameters.get("J_max")), number(r.n_instances)]
        if named:
            row.append(str(r.parameters.get("method", "")))
        row += [number(r.objective), number(r.bound), wording.percent(r.gap)]
        row += [wording.seconds(r.seconds)]
        row += [number(r.details.get(k)) for k in ("iterations", "columns")]
        if told:
            p = r.published or {}
            row += [
                number(published_objective(r)),
                wording.seconds(p.get("cg_seconds")),
                number(p.get("milp")),
                wording.seconds(p.get("milp_seconds")),
            ]
        rows.append(row)
    beside = ", the published ones beside ours." if told else "."
    return {"caption": f"Cells of the study{beside}", "head": head, "rows": rows}
