"""Figures of efficiency targets: isoquant with arrows, radar chart, heat map of changed goods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.errors import ConfigError
from groupcf.report import style
from groupcf.report.plots import cells
from groupcf.report.wording import number, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


def draw(result: Any, kind: str = "heatmap", **options: Any) -> Figure:
    """Draw a :class:`groupcf.benchmarking.TargetsResult`; see its method ``plot``.

    Raises
    ------
    ConfigError
        For an unknown kind, or one that does not fit the question.
    """
    if kind == "heatmap":
        ax = plot_goods_changed(result.relative(), **options)
    elif kind == "radar":
        if "unit" not in options:
            raise ConfigError("plot: say of which unit=, for a radar chart")
        target = result[options.pop("unit")]
        if target.values is None:
            raise ConfigError(f"plot: unit {target.unit!r} has no target ({target.message})")
        now = np.where(target.now > 0, target.now, 1.0)
        ax = plot_radar(target.names, {str(result.cost): target.values / now}, **options)
    elif kind == "isoquant":
        names = result.names
        if len(names) != 2 or result.change != "input":
            raise ConfigError("plot: an isoquant needs exactly two inputs, and inputs that change")
        targets = [t for t in result if t.values is not None]
        units = result.benchmark.units
        labels = [str(v) for v in units.labels]
        arrows = {str(t.unit): (t.now, t.values) for t in targets if t.changed}
        level = units.Y[units.position(targets[0].unit)] if targets else units.Y[0]
        curve = isoquant(result.benchmark, level)
        goals = sorted({t.target for t in targets})
        ax = plot_isoquant(names, units.X, labels, curve, arrows, goals, **options)
    else:
        raise ConfigError(f"plot: {kind!r} is none of heatmap, isoquant, radar")
    return style.figure_of(ax)


def isoquant(benchmark: Any, outputs: Floats, points: int = 181) -> Floats:
    """Return the least inputs that make given outputs, along rays from the origin.

    Parameters
    ----------
    benchmark : Benchmark
        With two inputs.
    outputs : ndarray of shape (O,)
        In the user's own units of measurement.
    points : int

    Returns
    -------
    ndarray of shape (points', 2)
        Only where such inputs exist.
    """
    angle = np.linspace(0.02, np.pi / 2 - 0.02, points)
    fdh = benchmark.rts == "fdh"
    scaled = benchmark.hull if fdh else benchmark.technology
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    y = outputs / scaled.scale_y
    if fdh:
        E = np.array([scaled.input_efficiency(row, y)[0] for row in x])
    else:
        benchmark.input_efficiencies  # noqa: B018 - makes the frontier complete
        E = scaled.input_efficiency(x, np.tile(y, (points, 1)))[0]
    found = np.isfinite(E) & (E > 0)
    return np.asarray(x[found] * E[found, None] * scaled.scale_x)


@style.styled
def plot_isoquant(
    names: Sequence[str],
    points: Floats,
    labels: Sequence[str],
    curve: Floats,
    arrows: Mapping[str, tuple[Floats, Floats]],
    goals: Sequence[float] = (),
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw units in the plane of two inputs, the isoquant, and arrows to their targets.

    Parameters
    ----------
    names : sequence of 2 str
    points : ndarray of shape (K, 2)
        Inputs of all units.
    labels : sequence of K str
    curve : ndarray of shape (N, 2)
        The efficient isoquant, from `isoquant`.
    arrows : mapping of label to (from, to)
    goals : sequence of float
        Efficiencies whose isoquants are drawn dashed.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure is made.
    title : str, optional
    """
    ax = style.axes(ax, 5.2, 4.4)
    far = points.max(axis=0) * 1.15
    ax.plot(curve[:, 0], curve[:, 1], color=style.INK, label="efficient (E = 1)")
    for i, goal in enumerate(g for g in goals if g < 1.0):
        ax.plot(
            curve[:, 0] / goal, curve[:, 1] / goal, color=style.MUTED,
            linestyle=style.DASHES[1 + i % 4], label=f"E = {number(goal)}",
        )  # fmt: skip
    ax.plot(points[:, 0], points[:, 1], "o", color=style.LINES[0], zorder=3)
    for label, point in zip(labels, points, strict=True):
        ax.annotate(label, point, xytext=(4, 4), textcoords="offset points", parse_math=False)
    for start, end in arrows.values():
        ax.annotate(
            "", (float(end[0]), float(end[1])), (float(start[0]), float(start[1])),
            arrowprops={"arrowstyle": "->", "color": style.DECREASE, "linewidth": 1.4},
        )  # fmt: skip
        ax.plot(*end, "s", color=style.DECREASE, zorder=3)
    ax.set_xlim(0.0, far[0])
    ax.set_ylim(0.0, far[1])
    ax.set_xlabel(names[0], parse_math=False)
    ax.set_ylabel(names[1], parse_math=False)
    ax.grid(True)
    ax.legend(loc="upper right")
    if title:
        ax.set_title(title, parse_math=False)
    return ax


@style.styled
def plot_radar(
    names: Sequence[str],
    shares: Mapping[str, Sequence[float] | Floats],
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw new values of one unit as shares of the present ones, one ring for each answer.

    Parameters
    ----------
    names : sequence of n str
    shares : mapping of label to n shares
        New divided by present values.
    ax : Axes, optional
        Polar axes to draw into; otherwise a new figure is made.
    title : str, optional
    """
    if ax is None:
        plain = style.axes(None, 5.6, 4.2)
        figure = style.figure_of(plain)
        plain.remove()
        ax = figure.add_subplot(projection="polar")
    n = len(names)
    angle = np.append(np.arange(n), 0) * 2.0 * np.pi / n
    ax.plot(angle, np.ones(n + 1), color=style.INK, label="now")
    for i, (label, values) in enumerate(shares.items()):
        ring = np.append(np.asarray(values, dtype=float), float(np.asarray(values)[0]))
        ax.plot(
            angle, ring, color=style.LINES[i % len(style.LINES)],
            marker=style.MARKERS[i % len(style.MARKERS)],
            linestyle=style.DASHES[i % len(style.DASHES)], label=label,
        )  # fmt: skip
    ax.set_xticks(angle[:-1], [shorten(v, 24) for v in names])
    for text, at in zip(ax.get_xticklabels(), angle[:-1], strict=True):
        side = np.cos(at)  # beside the circle, not across it
        text.set_horizontalalignment("left" if side > 0.1 else "right" if side < -0.1 else "center")
    top = max(1.0, *(float(np.max(v)) for v in shares.values())) if shares else 1.0
    ax.set_ylim(0.0, 1.05 * top)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], ["25 %", "50 %", "75 %", "100 %"])
    ax.set_rlabel_position(180.0 / max(n, 1))  # type: ignore[attr-defined]
    ax.legend(loc="upper left", bbox_to_anchor=(1.05, 1.05))
    if title:
        ax.set_title(title, parse_math=False, pad=18.0)
    return ax


@style.styled
def plot_goods_changed(relative: pd.DataFrame, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw which goods change for which units: goods down, units across (Figures 4.5, 4.7).

    Parameters
    ----------
    relative : DataFrame, one row per unit, one column per good
        (new - present) / present; NaN for a unit without an answer.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure of fitting size is made.
    title : str, optional
    """
    values = relative.to_numpy(dtype=float).T
    names, n = [str(c) for c in relative.columns], len(relative)
    width = min(0.3, max(0.022, 6.0 / max(n, 1)))
    ax = style.axes(ax, max(5.2, cells.margin(names) + width * n), 1.3 + 0.32 * len(names))
    known = np.isfinite(values)
    image = style.shade(
        np.where(known, values, 0.0), max(float(np.abs(values[known]).max(initial=0.0)), 1e-12)
    )
    image[~known] = style.mix(style.MUTED, 0.2)
    if n <= 60:
        at = cells.paint(ax, image)
    else:
        ax.imshow(
            image, aspect="auto", interpolation="nearest", extent=(-0.5, n - 0.5, len(names), 0.0)
        )
        at = np.asarray(np.arange(len(names)) + 0.5, dtype=np.float64)
    used = [bool(np.nan_to_num(row).any()) for row in values]
    cells.name_features(ax, at, names, used)
    if n <= 24:
        ax.set_xticks(range(n), [shorten(str(v), 12) for v in relative.index], rotation=90)
    ax.set_xlabel(f"{n} units, in the order of the table")
    entries = []
    if (values[known] < 0).any():
        entries.append(cells.key("decrease", style.DECREASE))
    if (values[known] > 0).any():
        entries.append(cells.key("increase", style.INCREASE))
    cells.legend_above(ax, entries, title)
    return ax
