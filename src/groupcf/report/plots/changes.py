"""Heat map of a few instances, cell by cell (Figures 2.1, 2.2, 2.7, 2.8, 2.11, 2.12, ...)."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.report import style
from groupcf.report.changes import Changes, is_text
from groupcf.report.plots import cells
from groupcf.report.wording import number, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CROWDED = 16
"""Up to so many instances a cell carries its number; above it only the direction."""
LABEL = 11
"""Characters of a category that fit into one line of a cell."""


@style.styled
def plot_changes(changes: Changes, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw who changes what: features down, instances across.

    Green with an upward triangle is an increase, red with a downward one a decrease, violet
    with an arrow another category; white is unchanged, hatched grey an instance left where
    it is. Numbers are differences in encoded units, categories are shown from -> to.

    Parameters
    ----------
    changes : Changes
        Up to about 40 instances; :func:`groupcf.report.plots.group.plot_group` draws more.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure of fitting size is made.
    title : str, optional
    """
    used = changes.used
    shown = cells.visible(used)
    names = [changes.features[j] for j in shown]
    n, m = len(changes.rows), len(shown)
    write = cell_text if n <= CROWDED else direction
    texts = {(i, k): write(changes, i, j) for k, j in enumerate(shown) for i in _moved(changes, j)}
    width, heights = _cell_sizes(texts, n, m)
    ax = style.axes(ax, max(5.2, cells.margin(names) + width * n), 1.35 + max(sum(heights), 0.6))

    image = colors(changes, shown)
    at = cells.paint(ax, image, heights)
    for outlier in np.flatnonzero(~changes.flipped):
        cells.hatch(ax, float(outlier) - 0.5, float(outlier) + 0.5)
    for (i, k), text in texts.items():
        ax.text(
            i, at[k], text, ha="center", va="center", fontsize=7, linespacing=1.05,
            color=style.ink_on(image[k, i]), parse_math=False, zorder=3,
        )  # fmt: skip

    cells.name_features(ax, at, names, [bool(used[j]) for j in shown])
    labels = [shorten(r, 24) for r in changes.rows]
    steep = 0.085 * max((len(v) for v in labels), default=0) > width
    ax.set_xticks(range(n), labels, rotation=90 if steep else 0, parse_math=False)
    note = cells.hidden_note(len(changes.features), m)
    ax.set_xlabel("instance" + (f"\n({note})" if note else ""))
    cells.legend_above(ax, _legend(changes), title)
    return ax


def colors(changes: Changes, shown: list[int]) -> NDArray[np.float64]:
    """Return the colour of each cell, shape (len(shown), S, 3)."""
    image = np.ones((len(shown), len(changes.rows), 3))
    for k, j in enumerate(shown):
        d = changes.diff[:, j]
        image[k] = (
            style.mix(style.OTHER, np.where(d != 0.0, 0.85, 0.0))
            if changes.nominal[j]
            else style.shade(d, changes.largest)
        )
    return image


def direction(changes: Changes, i: int, j: int) -> str:
    """Return the sign of a change: up, down, or to another category."""
    if changes.nominal[j]:
        return "→"
    return "▲" if changes.diff[i, j] > 0 else "▼"


def cell_text(changes: Changes, i: int, j: int) -> str:
    """Return the text of a changed cell: the difference, or the two categories."""
    sign = direction(changes, i, j)
    before, after = changes.before[i, j], changes.after[i, j]
    if is_text(before) or is_text(after):
        return f"{_wrapped(before)}\n{sign} {_wrapped(after)}"
    if changes.nominal[j]:
        return f"{number(before)} → {number(after)}"
    size = round(abs(float(changes.diff[i, j])), 9)
    plain = size.is_integer() or not 0.001 <= size < 99.5
    return f"{sign} {number(size, 2) if plain else f'{size:#.2g}'.rstrip('.')}"


def _wrapped(label: object) -> str:
    """Break a long category over two lines, and cut what is longer still."""
    lines = wrap(shorten(str(label), 2 * LABEL), LABEL) or [""]
    return "\n".join([*lines[:1], *(shorten(" ".join(lines[1:]), LABEL),) * (len(lines) > 1)])


def _cell_sizes(texts: dict[tuple[int, int], str], n: int, m: int) -> tuple[float, list[float]]:
    """Return the width of all cells and the height of each row, in inches."""
    if n > CROWDED:
        return 0.27, [0.27] * m
    lines = {at: text.split("\n") for at, text in texts.items()}
    longest = max((len(line) for parts in lines.values() for line in parts), default=0)
    most = [max((len(v) for (_, k), v in lines.items() if k == row), default=1) for row in range(m)]
    return max(0.6, 0.12 + 0.061 * longest), [0.13 + 0.14 * rows for rows in most]


def _moved(changes: Changes, j: int) -> list[int]:
    return [int(i) for i in np.flatnonzero(changes.diff[:, j])]


def _legend(changes: Changes) -> list[Any]:
    entries = []
    ordered = changes.diff[:, ~changes.nominal]
    if (ordered > 0).any():
        entries.append(cells.key("▲ increase", style.INCREASE))
    if (ordered < 0).any():
        entries.append(cells.key("▼ decrease", style.DECREASE))
    if changes.diff[:, changes.nominal].any():
        entries.append(cells.key("→ other category", style.OTHER))
    if not changes.flipped.all():
        entries.append(cells.key("outlier, left where it is"))
    return entries
