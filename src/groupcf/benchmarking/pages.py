"""One self-contained HTML page of targets, for people who were not there."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from groupcf.datasets.sources import write_atomically

if TYPE_CHECKING:
    from groupcf.benchmarking.group import GroupView
    from groupcf.benchmarking.results import TargetsResult

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color: #1f2328; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 13px; } th, td { padding: .25rem .6rem;
       border-bottom: 1px solid #d9dce0; text-align: right; } th:first-child, td:first-child,
       td.t { text-align: left; } .scroll { overflow-x: auto; } img { max-width: 100%; }
.no { color: #b3261e; font-weight: 600; }
"""


def write_page(result: TargetsResult, view: GroupView, out: Path, *, title: str) -> None:
    """Write the page.

    Parameters
    ----------
    result : TargetsResult
    view : GroupView
        Who moves, and what it costs together.
    out : Path
        Replaced in one step.
    title : str
    """
    lines = result.summary().split("\n") + (view.summary().split("\n") if result.moving else [])
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(line)}</p>" for line in lines)]
    if result.moving:
        parts += ["<h2>Which columns change</h2>", _figure(result), _table(view.use())]
    parts += ["<h2>Unit by unit</h2><ul>"]
    parts += [f"<li>{escape(t.sentence())}</li>" for t in result if t.changed or t.values is None]
    parts += ["</ul>", "<h2>All numbers</h2>", _table(result.frame())]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"{''.join(parts)}</body></html>\n"
    )
    write_atomically(out, page.encode())


def _figure(result: TargetsResult) -> str:
    from groupcf.report.style import to_bytes

    figures = [result.plot("heatmap")]
    if len(result.names) == 2 and result.change == "input" and len(result) <= 60:
        figures.append(result.plot("isoquant"))
    shown = []
    for figure in figures:
        data = base64.b64encode(to_bytes(figure, "png")).decode("ascii")
        shown.append(f'<p><img alt="changes by unit" src="data:image/png;base64,{data}"></p>')
    return "".join(shown)


def _table(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(c))}</th>" for c in [frame.index.name or "", *frame.columns])
    rows = []
    for label, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = [f"<td>{escape(str(label))}</td>"]
        for value in row:
            if isinstance(value, (float, np.floating)):
                cells.append(f"<td>{'' if np.isnan(value) else f'{value:.6g}'}</td>")
            else:
                kind = "no" if value == "NO" else "t"
                cells.append(f'<td class="{kind}">{escape(str(value))}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
