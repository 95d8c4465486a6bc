"""Incumbent and proven bound against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from groupcf.report import style
from groupcf.report.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FAR = 50
"""Solves that differ by more than this in time are drawn on a logarithmic axis."""

Point = Sequence[float | None]
"""(seconds, incumbent, bound, ...) as in a record's history."""


@style.styled
def plot_progress(
    histories: Mapping[str, Sequence[Point]], ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Draw for each solve the incumbent (solid) above the bound (dashed) as steps in time.

    The axis of time is logarithmic when some solves take far longer than others.

    Parameters
    ----------
    histories : mapping
        Label -> points (seconds, incumbent, bound); values not yet known are None.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure is made.
    title : str, optional
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    ends = [max(float(p[0] or 0.0), 1e-3) for h in histories.values() for p in list(h)[-1:]]
    ax = style.axes(ax, 6.5, 3.6)
    entries = []
    for i, (label, history) in enumerate(histories.items()):
        color = style.LINES[i % len(style.LINES)]
        for at, dash in ((1, "-"), (2, "--")):
            steps = [(p[0], p[at]) for p in history if p[0] is not None and p[at] is not None]
            if not steps:
                continue
            end = max(float(p[0]) for p in history if p[0] is not None)
            xs, ys = [float(s[0] or 0.0) for s in steps], [float(s[1] or 0.0) for s in steps]
            ax.step([*xs, end], [*ys, ys[-1]], where="post", color=color, linestyle=dash)
            ax.plot(xs[-1], ys[-1], color=color, marker=style.MARKERS[i % len(style.MARKERS)])
        marker = style.MARKERS[i % len(style.MARKERS)]
        entries.append(Line2D([], [], color=color, marker=marker, label=label))
    entries += [
        Line2D([], [], color=style.MUTED, label="incumbent"),
        Line2D([], [], color=style.MUTED, linestyle="--", label="proven bound"),
    ]
    ax.set_xlabel("seconds")
    ax.set_ylabel("objective")
    if len(ends) > 1 and max(ends) > _FAR * min(ends):
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: number(x)))
        ax.set_xlim(left=0.5 * min(ends))
    else:
        ax.set_xlim(left=0.0)
    ax.grid(True)
    ax.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if title:
        ax.set_title(title, parse_math=False)
    return ax
