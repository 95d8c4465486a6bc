"""The shared counterfactuals themselves, value by value (Figures 2.23 and 2.24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from groupcf.report import style
from groupcf.report.plots import cells
from groupcf.report.wording import count, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@style.styled
def plot_points(
    values: Sequence[Sequence[float]],
    columns: Sequence[str],
    sizes: Sequence[int],
    changed: Sequence[Sequence[str]],
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw one row for each counterfactual; green is 1, white is 0.

    A dot marks the values of features that instances of the cluster change.

    Parameters
    ----------
    values : sequence of R sequences of D floats
        Encoded counterfactuals, between 0 and 1.
    columns : sequence of D str
        "feature = category" or, for a feature with one column, its name.
    sizes : sequence of R int
        Instances that share each counterfactual.
    changed : sequence of R sequences of str
        Features that its instances change.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure of fitting size is made.
    title : str, optional
    """
    table = np.asarray(values, dtype=float)
    n, d = table.shape
    longest = max((min(len(c), cells.NAME) for c in columns), default=8)
    ax = style.axes(ax, max(5.0, 1.9 + 0.24 * d), 1.1 + 0.24 * n + 0.062 * longest)
    image = np.ones((n, d, 3))
    for r in range(n):
        for j in range(d):
            if table[r, j] > 0:
                image[r, j] = style.mix(style.INCREASE, 0.25 + 0.75 * float(table[r, j]))
    at = cells.paint(ax, image)
    for r, names in enumerate(changed):
        for j, column in enumerate(columns):
            if column.partition(" = ")[0] in names:
                ax.plot(j, at[r], "o", markersize=3, color=style.ink_on(image[r, j]))
    labels = [f"{r + 1} ({count(k, 'instance')})" for r, k in enumerate(sizes)]
    ax.set_yticks(at, labels, parse_math=False)
    ax.set_xticks(range(d), [shorten(c, cells.NAME) for c in columns], rotation=90)
    cells.legend_above(
        ax,
        [
            cells.key("1", style.INCREASE),
            cells.key("0 (dot: changed by its instances)", style.PAPER),
        ],
        title,
    )
    return ax
