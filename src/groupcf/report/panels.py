"""Which figures a study has: names, captions and texts for those who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from groupcf.errors import ConfigError
from groupcf.records import Record, load_instances
from groupcf.report import methods, sentences, targets, wording
from groupcf.report.changes import Changes
from groupcf.report.panel import Panel
from groupcf.report.parameters import drawn_with, label, series, swept

KINDS = (
    "heatmap",
    "group",
    "features_by_parameter",
    "pareto",
    "progress",
    "front",
    "points",
    "methods",
    "curves",
    "targets",
)
"""Values of the key figure.kind of a study."""

MANY = 40
"""Groups larger than this are drawn as one picture instead of cell by cell."""


def plan(study: Mapping[str, Any], records: Sequence[Record]) -> list[Panel]:
    """Return the figures that a study's records give, possibly none.

    Parameters
    ----------
    study : mapping
        A study of the configuration; its key "figure" has the key "kind" (one of `KINDS`)
        and may have "parameter", the swept one, "caption", which precedes ours, and "with",
        further studies whose solves a performance profile counts as well.
    records : sequence of Record
        The study's records, and those of the studies that it is drawn with.

    Raises
    ------
    ConfigError
        When figure.kind is not known.
    """
    figure = study.get("figure") or {}
    kind = figure.get("kind")
    if kind is None:
        return []
    if kind not in KINDS:
        raise ConfigError(
            f"study {study.get('id')!r}, key figure.kind: {kind!r} is none of {', '.join(KINDS)}"
        )
    everything = [r for r in records if r.status not in ("skipped", "failed")]
    shown = [r for r in everything if r.study not in drawn_with(study)]
    if kind in ("heatmap", "group"):
        panels = _heatmaps(shown)
    elif kind == "progress":
        panels = _progress(shown)
    elif kind == "points":
        panels = _points(shown)
    elif kind == "curves":
        panels = _curves(shown, figure.get("parameter") or swept(study, shown))
    elif kind == "targets":
        panels = targets.panels(shown)
    elif kind == "methods":
        panels = methods.panels(shown, everything)
    else:
        parameter = figure.get("parameter") or swept(study, shown)
        panels = _sweeps(shown, parameter) if parameter else []
        if kind == "front":
            panels = [p for p in panels if p.plot == "front"]
        if kind == "pareto":
            panels.sort(key=lambda p: p.plot != "front")
    stem = str(study.get("id") or (records[0].study if records else "figure"))
    before = str(figure.get("caption") or "")
    return [_named(p, stem, before, i, len(panels)) for i, p in enumerate(panels)]


def changes_of(record: Record) -> Changes | None:
    """Return what changed for whom in a solve, or None where it has no answer."""
    frame = load_instances(record)
    kinds = (record.dataset or {}).get("kinds")
    return None if frame is None else Changes.from_instances(frame, kinds)


def _heatmaps(records: Sequence[Record]) -> list[Panel]:
    panels = []
    for record in records:
        changes = changes_of(record)
        if changes is None:
            continue
        said = sentences.group(changes)
        caption = [
            "Changes, in encoded units, by feature and instance.",
            sentences.answer(record),
            *said,
        ]
        panels.append(
            Panel(
                "",
                "group" if len(changes.rows) > MANY else "changes",
                label(record, records),
                ((record,),),
                caption=" ".join(caption),
                alt="Heat map, features down, instances across. " + " ".join(said),
            )
        )
    return panels


def _sweeps(records: Sequence[Record], parameter: str) -> list[Panel]:
    groups = series(records, parameter)
    symbol = wording.symbol(parameter)
    panels = []
    sparse = any(r.model == sentences.SPARSE for r in records)
    for group in groups:
        if not any(r.changed_features for r in group):
            continue
        said = " ".join(_use(r, symbol, parameter) for r in group)
        panels.append(
            Panel(
                "",
                "features",
                label(group[0], records, parameter),
                (group,),
                parameter,
                f"Features that change for at least one instance, for each value of {symbol}. "
                "The number in a cell is how many instances change the feature.",
                f"Heat map, features down, values of {symbol} across. {said}",
            )
        )
    if any(r.objective is not None for g in groups for r in g):
        said = " ".join(
            f"{label(g[0], records, parameter)}: {'; '.join(_point(r, parameter) for r in g)}."
            for g in groups
        )
        panels.append(
            Panel(
                "",
                "front",
                "" if sparse else "Pareto front",
                tuple(groups),
                parameter,
                f"Fewest counterfactuals against {symbol}. Hollow diamonds are published values."
                if sparse
                else f"Least cost against {symbol}: the Pareto front. A value of {symbol} without "
                "an answer is marked on the axis.",
                f"Line plot of the objective against {symbol}. {said}",
            )
        )
    return panels


def _progress(records: Sequence[Record]) -> list[Panel]:
    shown = [r for r in records if len(r.history) > 1]
    if not shown:
        return []
    said = "; ".join(f"{label(r, records)}: {sentences.answer(r)}" for r in shown)
    caption = "Best value found (solid) and proven bound (dashed) against time."
    return [Panel("", "progress", "Progress", (tuple(shown),), "", caption, f"Line plot. {said}")]


def _points(records: Sequence[Record]) -> list[Panel]:
    panels = []
    for record in records:
        points = record.details.get("points") or {}
        if not points.get("values"):
            continue
        clusters = record.details["clusters"]
        said = " ".join(
            f"Counterfactual {i + 1}, shared by {wording.count(c['size'], 'instance')}, changes "
            f"{wording.listing(c['features']) or 'nothing'}."
            for i, c in enumerate(clusters)
        )
        caption = f"One row for each counterfactual, green where a value is 1. {said}"
        alt = f"Heat map, counterfactuals down, values across. {said}"
        title = label(record, records)
        panels.append(Panel("", "points", title, ((record,),), caption=caption, alt=alt))
    return panels


def _curves(records: Sequence[Record], parameter: str) -> list[Panel]:
    panels = []
    for record in records:
        if record.objective is None:
            continue
        changed = list(record.details.get("changed") or ())
        total = int(record.details.get("features") or 1)
        said = (
            f"{wording.count(len(record.details['prototypes_used']), 'prototype')} used, cost "
            f"{wording.number(record.objective)} ({wording.status(record.status)})."
        )
        if total > 1:
            which = wording.listing(changed)
            said += f" {len(changed)} of {total} functional features change: {which}."
        caption = (
            "Original, prototypes with their weights, and counterfactual; what changes is shaded. "
        )
        title = label(record, records)
        panels.append(
            Panel(
                "",
                "curves",
                title,
                ((record,),),
                caption=caption + said,
                alt=f"Line plot of curves over their grid. {said}",
            )
        )
    if parameter:
        symbol = wording.symbol(parameter)
        groups = [g for g in series(records, parameter) if any(r.objective is not None for r in g)]
        said = " ".join("; ".join(_point(r, parameter) for r in g) + "." for g in groups)
        panels.append(
            Panel(
                "",
                "front",
                f"Cost against {symbol}",
                tuple(groups),
                parameter,
                f"Cost against {symbol}, the number of prototypes that may be used. A bar reaches "
                "down to what is proven.",
                f"Line plot of the cost against {symbol}. {said}",
            )
        )
    return panels


def _named(panel: Panel, stem: str, before: str, i: int, total: int) -> Panel:
    letter = ascii_lowercase[i] if total <= len(ascii_lowercase) else f"{i + 1:03d}"
    return replace(
        panel,
        name=stem if total == 1 else f"{stem}-{letter}",
        title=panel.title if total == 1 or not panel.title else f"({letter}) {panel.title}",
        caption=f"{before} {panel.caption}".strip(),
    )


def _use(record: Record, symbol: str, parameter: str) -> str:
    value = wording.number(record.parameters[parameter])
    if record.objective is None:
        return f"{symbol} = {value}: {wording.status(record.status)}."
    return f"{symbol} = {value}: {', '.join(record.changed_features) or 'no feature'}."


def _point(record: Record, parameter: str) -> str:
    found = (
        wording.status(record.status)
        if record.objective is None
        else wording.number(record.objective)
    )
    return f"{wording.number(record.parameters[parameter])} gives {found}"
