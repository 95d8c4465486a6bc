"""What the heat maps share: feature names, cell borders, hatching, legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.report import style
from groupcf.report.wording import count, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONG_LIST = 16
"""With more features than this, those that nobody changes are left out (and counted)."""
NAME = 38
"""Characters of a feature name beside a heat map."""


def visible(used: NDArray[np.bool_]) -> list[int]:
    """Return the features to show: all of them, or the used ones of a long list."""
    if len(used) <= LONG_LIST or not used.any():
        return list(range(len(used)))
    return [int(j) for j in np.flatnonzero(used)]


def hidden_note(total: int, shown: int) -> str:
    """Say how many features a heat map leaves out; empty when none."""
    hidden = total - shown
    return f"{count(hidden, 'feature')} that nobody changes not shown" if hidden else ""


def margin(names: Sequence[str]) -> float:
    """Return the width in inches that feature names take."""
    return 0.5 + 0.07 * max((min(len(n), NAME) for n in names), default=8)


def paint(
    ax: Axes, image: NDArray[np.float64], heights: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Fill cells and draw thin borders between them.

    Parameters
    ----------
    ax : Axes
    image : ndarray of shape (features, columns, 3)
        Colours; columns are one unit wide, with their middles at 0, 1, ...
    heights : sequence of float, optional
        Height of each row; 1 by default.

    Returns
    -------
    ndarray of shape (features,)
        Where the middles of the rows are.
    """
    m, n = image.shape[:2]
    edges = np.concatenate([[0.0], np.cumsum(np.ones(m) if heights is None else heights)])
    ax.pcolormesh(
        np.arange(n + 1) - 0.5, edges, image, edgecolors=style.GRID, linewidth=0.7, zorder=1
    )
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(edges[-1], 0.0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def name_features(
    ax: Axes, at: Sequence[float] | NDArray[np.float64], names: Sequence[str], used: Sequence[bool]
) -> None:
    """Write feature names down the left side, pale where nobody changes the feature."""
    ax.set_yticks(at, [shorten(n, NAME) for n in names], parse_math=False)
    for label, strong in zip(ax.get_yticklabels(), used, strict=True):
        label.set_color(style.INK if strong else style.MUTED)


def hatch(ax: Axes, left: float, right: float) -> None:
    """Hatch columns that have no answer, from top to bottom."""
    ax.axvspan(
        left, right, facecolor=style.ABSENT, edgecolor=style.MUTED, hatch="////", linewidth=0.0,
        zorder=2,
    )  # fmt: skip


def key(label: str, color: str = style.ABSENT) -> Any:
    """Return a legend entry; hatched for the colour of absent answers."""
    from matplotlib.patches import Patch

    return Patch(facecolor=color, label=label, hatch="////" if color == style.ABSENT else None)


def legend_above(ax: Axes, entries: Sequence[Any], title: str) -> None:
    """Put the title above the legend, and both above the axes."""
    if entries:
        ax.legend(
            handles=list(entries),
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=len(entries),
            borderaxespad=0.2,
            handlelength=1.2,
            columnspacing=1.4,
        )
    if title:
        ax.set_title(title, pad=24.0 if entries else 8.0, parse_math=False)
