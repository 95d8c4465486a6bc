"""The report stage: figures, summary table, report page, from records alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcf import records
from groupcf.datasets.sources import write_atomically


def make_figures(study: Mapping[str, Any], records_dir: Path, out: Path) -> None:
    """Draw a study's figures as PNG and SVG, and list them in ``out`` (figures.json).

    A study of efficiency targets gets a table of how goods change beside them (goods.csv).
    """
    from groupcf.report.figures import draw, save
    from groupcf.report.parameters import drawn_with
    from groupcf.report.targets import use_frame

    wanted = [study["id"], *drawn_with(study)]
    found = [r for r in records.load_records(records_dir) if r.study in wanted]
    listed = []
    for name, figure in draw(study, found).items():
        save(figure, out.parent / name)
        listed.append({"name": name, "caption": figure.get_label() or study["title"]})
    goods = use_frame([r for r in found if r.study == study["id"]])
    if len(goods):
        write_atomically(out.parent / "goods.csv", goods.to_csv(index=False).encode())
    text = json.dumps(listed, indent=1, ensure_ascii=False)
    write_atomically(out, (text + "\n").encode())


def write_summary(records_dir: Path, studies: Sequence[str], out: Path) -> None:
    """Write one row per solve."""
    from groupcf.report.tables import summary

    found = [r for r in records.load_records(records_dir) if r.study in studies]
    write_atomically(out, summary(found).to_csv(index=False).encode())


def write_report(
    records_dir: Path,
    figures_dir: Path,
    studies: Mapping[str, Mapping[str, Any]],
    out: Path,
) -> None:
    """Write the self-contained HTML report."""
    from groupcf.report.page import write

    found = [r for r in records.load_records(records_dir) if r.study in studies]
    write(found, figures_dir, out, {"studies": {k: dict(v) for k, v in studies.items()}})


def closing_message(records_dir: Path, studies: Sequence[str], results: Path) -> str:
    """Say what was solved, what was skipped and why, and where to look."""
    found = [r for r in records.load_records(records_dir) if r.study in studies]
    proven = sum(r.status in ("optimal", "infeasible") for r in found)
    verified = [r for r in found if r.verified is not None]
    lines = [
        f"{len(found)} solves of {len({r.study for r in found})} studies: {proven} proven, "
        f"{sum(bool(r.verified) for r in verified)} of {len(verified)} answers verified against "
        "the original classifier"
    ]
    open_ones = [r for r in found if r.status in ("feasible", "no_incumbent")]
    if open_ones:
        lines.append(f"{len(open_ones)} stopped at the time limit; their gaps are in the summary")
    failed = sorted({r.study for r in found if r.status in ("failed", "crashed")})
    if failed:
        lines.append(f"failed: {', '.join(failed)} (see logs and the records)")
    skipped = {r.study: r.message for r in found if r.status == records.SKIPPED}
    if skipped:
        lines.append(f"skipped for lack of data: {', '.join(sorted(skipped))}")
        lines += sorted({f"  {reason}" for reason in skipped.values()})
    lines += [
        f"report    {results / 'report.html'}",
        f"summary   {results / 'summary.csv'}",
        "runs      make ui",
    ]
    return "\n".join(lines)
