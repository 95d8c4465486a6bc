"""Objective against a parameter: the Pareto front (Figure 2.6a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groupcf.report import style
from groupcf.report.wording import symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Front:
    """One line of the front: K values of a parameter and what they cost.

    Attributes
    ----------
    label : str
        Name of the line in the legend.
    values : sequence of float
        Parameter values, ascending.
    objectives : sequence of float or None
        Objective of each; None where there is no answer.
    bounds : sequence of float or None
        Proven lower bounds.
    answers : sequence of str
        Statuses.
    published : sequence of float or None
        Published objectives, if any.
    """

    label: str
    values: Sequence[float]
    objectives: Sequence[float | None]
    bounds: Sequence[float | None]
    answers: Sequence[str]
    published: Sequence[float | None] = ()


@style.styled
def plot_front(
    fronts: Sequence[Front], ax: Axes | None = None, *, parameter: str, title: str = ""
) -> Axes:
    """Draw objectives against parameter values, one line for each front.

    A bar from the bound to the objective shows what is not proven; crosses on the axis
    mark infeasible values, hollow squares values without an answer for another reason;
    hollow diamonds are published values.

    Parameters
    ----------
    fronts : sequence of Front
    ax : Axes, optional
        Drawn into when given; otherwise a new figure is made.
    parameter : str
        Name of the parameter, as in a record.
    title : str, optional
    """
    from matplotlib.ticker import MaxNLocator

    ax = style.axes(ax, 6.5, 3.6)
    lost: dict[str, list[float]] = {}
    for i, front in enumerate(fronts):
        color = style.LINES[i % len(style.LINES)]
        points = [
            (v, o, b)
            for v, o, b in zip(front.values, front.objectives, front.bounds, strict=True)
            if o is not None
        ]
        if points:
            ax.plot(
                [p[0] for p in points],
                [p[1] for p in points],
                color=color,
                marker=style.MARKERS[i % len(style.MARKERS)],
                linestyle=style.DASHES[i % len(style.DASHES)],
                label=front.label,
            )
            open_ = [(v, o, b) for v, o, b in points if b is not None and o - b > 1e-6 * abs(o)]
            if open_:
                ax.vlines(
                    [p[0] for p in open_], [p[2] for p in open_], [p[1] for p in open_],
                    color=color, linewidth=4, alpha=0.35, label="not proven: bound to objective",
                )  # fmt: skip
        told = [
            (v, p)
            for v, p in zip(
                front.values, front.published or [None] * len(front.values), strict=True
            )
            if p is not None
        ]
        if told:
            ax.plot(
                [t[0] for t in told], [t[1] for t in told], linestyle="none", marker="D",
                markersize=9, markerfacecolor="none", markeredgecolor=style.INK, label="published",
            )  # fmt: skip
        for v, o, answer in zip(front.values, front.objectives, front.answers, strict=True):
            if o is None:
                lost.setdefault(answer, []).append(v)

    for answer, values in sorted(lost.items()):
        ax.plot(
            sorted(set(values)), [0.035] * len(set(values)), linestyle="none", clip_on=False,
            marker="x" if answer == "infeasible" else "s", markersize=6,
            markerfacecolor="none", markeredgewidth=1.4,
            color=style.MUTED, transform=ax.get_xaxis_transform(),
            label=answer.replace("_", " "), zorder=3,
        )  # fmt: skip
    values = [v for f in fronts for v in f.values]
    if values and all(float(v).is_integer() for v in values):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(y=0.12)
    ax.set_xlabel(symbol(parameter), parse_math=False)
    ax.set_ylabel("objective")
    ax.grid(True)
    handles, labels = ax.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    if unique:
        ax.legend(unique.values(), unique.keys(), loc="best")
    if title:
        ax.set_title(title, parse_math=False)
    return ax
