"""Heat map of hundreds or thousands of instances (Figures 2.4, 2.10, 2.14, 2.18)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from groupcf.report import style
from groupcf.report.changes import Changes
from groupcf.report.plots import cells
from groupcf.report.plots.changes import colors
from groupcf.report.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 900
"""Columns of the picture; a larger group is averaged down to as many."""


@style.styled
def plot_group(changes: Changes, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw a large group: features down, instances across, outliers at the right end.

    Instances that change the same features stand together, the commonest combination
    first, and by cost within it. The numbers at the right count the instances that change
    the feature.

    Parameters
    ----------
    changes : Changes
        Any number of instances; drawn as one picture, not as shapes.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure of fitting size is made.
    title : str, optional
    """
    ordered = changes.take(reading_order(changes))
    used = ordered.used
    shown = cells.visible(used)
    n, m = len(ordered.rows), len(shown)
    served = int(ordered.flipped.sum())
    ax = style.axes(ax, 8.0, 1.55 + 0.24 * max(m, 4))

    image = _narrow(colors(ordered, shown))
    ax.imshow(image, aspect="auto", interpolation="nearest", extent=(0.0, float(n), m - 0.5, -0.5))
    if served < n:
        cells.hatch(ax, served, n)
        ax.axvline(served, color=style.INK, linewidth=0.8, zorder=3)
    ax.hlines(np.arange(m + 1) - 0.5, 0, n, color=style.GRID, linewidth=0.7)
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    cells.name_features(
        ax, range(m), [ordered.features[j] for j in shown], [bool(used[j]) for j in shown]
    )
    ax.set_xlim(0, n)
    counts = ax.secondary_yaxis("right")
    counts.set_yticks(range(m), [str(np.count_nonzero(ordered.diff[:, j])) for j in shown])
    counts.set_ylabel("instances that change it")
    counts.tick_params(length=0)
    counts.spines[:].set_visible(False)

    parts = [count(n, "instance"), "alike ones together"]
    if served < n:
        parts.insert(1, f"{n - served} of them outliers (right end)")
    note = cells.hidden_note(len(changes.features), m)
    ax.set_xlabel(", ".join(parts) + (f"\n({note})" if note else ""))
    if ordered.largest > 0.0:
        _scale(ax, ordered.largest)
    entries = []
    if ordered.diff[:, ordered.nominal].any():
        entries.append(cells.key("other category", style.OTHER))
    if served < n:
        entries.append(cells.key("outlier, left where it is"))
    cells.legend_above(ax, entries, title)
    return ax


def reading_order(changes: Changes) -> NDArray[np.intp]:
    """Return the order of rows in which alike ones stand together and outliers last."""
    patterns = [row.tobytes() for row in changes.changed]
    frequency = Counter(p for p, ok in zip(patterns, changes.flipped, strict=True) if ok)
    ranked = sorted(frequency.items(), key=lambda item: (-item[1], item[0]))
    rank = {pattern: i for i, (pattern, _) in enumerate(ranked)}
    place = np.array([rank.get(p, len(rank)) for p in patterns])
    cost = np.nan_to_num(changes.cost, nan=0.0)
    size = np.abs(changes.diff).sum(axis=1)
    return np.lexsort((size, cost, place, ~changes.flipped))


def _narrow(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average neighbouring columns down to about `COLUMNS`, row by row."""
    n = image.shape[1]
    if n <= COLUMNS:
        return image
    starts = np.linspace(0, n, COLUMNS, endpoint=False).astype(int)
    sizes = np.diff([*starts, n])
    return np.asarray(np.add.reduceat(image, starts, axis=1) / sizes[None, :, None])


def _scale(ax: Axes, largest: float) -> None:
    """Draw the colour scale beside the axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    values = np.linspace(-largest, largest, 511)
    mappable = ScalarMappable(
        Normalize(-largest, largest), ListedColormap(style.shade(values, largest))
    )
    bar = style.figure_of(ax).colorbar(mappable, ax=ax, fraction=0.03, pad=0.015, aspect=30)
    bar.set_label("difference (encoded units)")
    bar.outline.set_visible(False)
