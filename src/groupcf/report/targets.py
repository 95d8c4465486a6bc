"""What a study of efficiency targets shows: figures, question, table of how goods change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from groupcf.records import Record, load_instances
from groupcf.report import wording
from groupcf.report.benchmarking import plot_goods_changed, plot_isoquant, plot_radar
from groupcf.report.panel import Panel
from groupcf.report.parameters import label, name_of, varying
from groupcf.report.wording import choices, count, listing, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = ("CEDEA", "CEODEA")
"""Models of the studies of efficiency targets: inputs change, outputs change."""
SCALES = {
    "crs": "constant",
    "vrs": "variable",
    "drs": "non-increasing",
    "irs": "non-decreasing",
}
COSTS = {
    "farrell": "the radial target (as a comparison)",
    "l0": "the number of goods changed",
    "l1": "the sum of absolute changes",
    "l2": "the sum of squared changes",
    "l0+l2": "the number of goods changed plus the sum of squared changes",
    "l0+(l2)": "first the number of goods changed, then the sum of squared changes",
}


def is_about(records: Sequence[Record]) -> bool:
    """Whether records are those of efficiency targets."""
    return bool(records) and all(r.model in MODELS for r in records)


def question(records: Sequence[Record], given: Mapping[str, Sequence[Any]]) -> list[str]:
    """Say what such a study asks."""
    units = choices(list(dict.fromkeys(r.n_instances for r in records)))
    data = listing(list(dict.fromkeys(wording.dataset(name_of(r.dataset)) for r in records)))
    goods = listing(sorted({f"{r.details.get('change')}s" for r in records}))
    out = [
        f"For each of {units} units of {data}, find the least costly changes of {goods} after "
        f"which its efficiency is at least {choices(given['target'])}."
    ]
    costs = [COSTS.get(str(c), str(c)) for c in given.get("target_cost", ())]
    if costs:
        out.append(f"The cost is {'; or '.join(costs)}.")
    scales = list(dict.fromkeys(str(r.details.get("rts")) for r in records))
    convex = [SCALES[s] for s in scales if s in SCALES]
    kinds = [f"{listing(convex)} returns to scale"] if convex else []
    kinds += ["the free disposal hull"] * ("fdh" in scales)
    out.append(f"Technology: {listing(kinds)}.")
    return out


def use_table(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return how often and by how much goods change (Tables 4.6 to 4.9); None for other studies.

    One row per solve: for each good the share of the moving units that change it and its mean
    relative change among those; the mean number of changed goods, and the mean Euclidean
    length of the relative changes.
    """
    shown = [r for r in records if r.model in MODELS and r.details.get("use")]
    if not shown:
        return None
    goods = list(dict.fromkeys(u["good"] for r in shown for u in r.details["use"]))
    settings = varying(shown)
    head = [wording.symbol(name) for name in settings] + ["units that move"]
    head += [f"{good}: {what}" for good in goods for what in ("share", "mean change")]
    head += ["goods changed, mean", "relative distance, mean"]
    rows = []
    for r in shown:
        use = {u["good"]: u for u in r.details["use"]}
        row = [wording.value_of(r.parameters.get(name)) for name in settings]
        row.append(f"{r.details['moving']} of {r.n_instances}")
        for good in goods:
            known = use.get(good)
            row += (
                [percent(known["share"]), percent(known["mean relative change"])]
                if known
                else ["–", "–"]
            )
        row += [number(r.details["mean_changed"], 3), number(r.details["mean_distance"], 4)]
        rows.append(row)
    caption = "How often and by how much each good changes, over the units that move."
    return {"caption": caption, "head": head, "rows": rows}


def use_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return the same as `use_table` as one row per solve and good, for a file."""
    rows = [
        {**r.parameters, "rts": r.details["rts"], "change": r.details["change"],
         "units that move": r.details["moving"], **use,
         "mean goods changed": r.details["mean_changed"],
         "mean relative distance": r.details["mean_distance"]}
        for r in records
        if r.model in MODELS
        for use in r.details.get("use") or ()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def relative_changes(record: Record) -> pd.DataFrame | None:
    """Return (new - now) / now by unit and good, NaN for a unit without an answer."""
    table = load_instances(record)
    if table is None:
        return None
    names = [c.removeprefix("diff ") for c in table.columns if c.startswith("diff ")]
    out = table[[f"diff {n}" for n in names]].set_axis(names, axis=1)
    out.index = pd.Index(table["row"], name="unit")
    out.loc[~table["flipped"].to_numpy(dtype=bool)] = np.nan
    return out


def new_values(record: Record) -> dict[str, list[float]] | None:
    """Return the new values of each unit that moves, as lists by its label."""
    table = load_instances(record)
    if table is None:
        return None
    columns = [c for c in table.columns if c.startswith("to ")]
    moved = table[[c for c in table.columns if c.startswith("diff ")]].ne(0).any(axis=1)
    shown = table[moved & table["flipped"]]
    return {
        str(row): [float(v) for v in values]
        for row, values in zip(shown["row"], shown[columns].to_numpy(), strict=True)
    }


def panels(records: Sequence[Record]) -> list[Panel]:
    """Return the figures: heat maps of changes, isoquants with arrows, radar charts."""
    out = []
    for record in records:
        if record.objective is None:
            continue
        said = _said(record)
        if "isoquant" in record.details:
            out.append(
                Panel(
                    "", "isoquant", label(record, records), ((record,),),
                    caption="Units, the efficient isoquant and that of the wanted efficiency; "
                    f"arrows lead to the targets. {said}",
                    alt=f"Two inputs against each other. {said}",
                )
            )  # fmt: skip
            continue
        out.append(
            Panel(
                "", "goods", label(record, records), ((record,),),
                caption="Relative changes, goods down, units across; grey units have no answer. "
                f"{said}",
                alt=f"Heat map of changes by unit. {said}",
            )
        )  # fmt: skip
    return out + _radars(records)


def _said(record: Record) -> str:
    d = record.details
    used = [u for u in d.get("use", ()) if u["units"]]
    used.sort(key=lambda u: -u["units"])
    moved = f"{count(d['moving'], 'unit')} of {record.n_instances} move"
    changes = "; ".join(
        f"{u['units']} change {u['good']}, by {percent(u['mean relative change'])} on average"
        for u in used
    )
    return f"{moved}{f': {changes}' if changes else ''}."


def _radars(records: Sequence[Record]) -> list[Panel]:
    groups: dict[Any, list[Record]] = {}
    for record in records:
        if "radar" in record.details:
            groups.setdefault(record.parameters.get("target"), []).append(record)
    out = []
    for target, group in groups.items():
        unit = group[0].details["radar"]["unit"]
        said = "; ".join(f"{_ring(r, group)}: {_shares(r)}" for r in group)
        out.append(
            Panel(
                "", "radar", f"Unit {unit}, E* = {number(target)}", (tuple(group),),
                caption=f"New values of unit {unit} as shares of the present ones. {said}.",
                alt=f"Radar chart. {said}.",
            )
        )  # fmt: skip
    return out


def _ring(record: Record, among: Sequence[Record]) -> str:
    apart = {k: record.parameters.get(k) for k in varying(among)}
    return ", ".join(wording.value_of(v) for v in apart.values()) or str(record.details["cost"])


def _shares(record: Record) -> str:
    radar = record.details["radar"]
    changed = [
        f"{name} at {percent(share)}"
        for name, share in zip(radar["names"], radar["shares"], strict=True)
        if share != 1.0
    ]
    return listing(changed) or "nothing changes"


def draw_goods(panel: Panel) -> Axes:
    """Draw a heat map of changed goods."""
    table = relative_changes(panel.records[0][0])
    assert table is not None
    return plot_goods_changed(table, title=panel.title)


def draw_isoquant(panel: Panel) -> Axes:
    """Draw two inputs, the isoquants, and arrows to the targets."""
    record = panel.records[0][0]
    d = record.details["isoquant"]
    arrows = {k: (np.array(a), np.array(b)) for k, (a, b) in d["arrows"].items()}
    return plot_isoquant(
        d["names"], np.array(d["points"]), d["labels"], np.array(d["curve"]), arrows,
        [float(record.parameters["target"])], title=panel.title,
    )  # fmt: skip


def draw_radar(panel: Panel) -> Axes:
    """Draw the answers for one unit, one ring for each."""
    (group,) = panel.records
    rings = {_ring(r, group): r.details["radar"]["shares"] for r in group}
    return plot_radar(group[0].details["radar"]["names"], rings, title=panel.title)
