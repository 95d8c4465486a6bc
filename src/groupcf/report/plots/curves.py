"""A counterfactual curve: original, prototypes, counterfactual, shaded changes (Figure 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from groupcf.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 6
"""Functional features that one figure shows; those that change come first."""


@style.styled
def plot_curves(table: pd.DataFrame, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw the curves of one answer, a row of axes for each functional feature that changes.

    The area between original and counterfactual is shaded, green where the counterfactual is
    higher and red where it is lower.

    Parameters
    ----------
    table : DataFrame
        Columns curve, feature, point, value, weight, changed; see
        :func:`groupcf.pipeline.studies.functional.curve_table`.
    ax : Axes, optional
        Drawn into when given (the first feature alone); otherwise a new figure is made.
    title : str, optional

    Returns
    -------
    Axes
        The first axes.
    """
    changed = list(dict.fromkeys(table.loc[table["changed"], "feature"]))
    features = (changed or list(dict.fromkeys(table["feature"])))[:MOST]
    if ax is None:
        first = style.axes(None, 6.5, 0.6 + 2.3 * len(features))
        figure = style.figure_of(first)
        first.remove()
        every: list[Axes] = list(
            figure.subplots(len(features), 1, sharex=True, squeeze=False)[:, 0]
        )
    else:
        every, features = [ax], features[:1]
    for axis, feature in zip(every, features, strict=True):
        _one(axis, table[table["feature"] == feature])
        axis.set_ylabel("value" if len(set(table["feature"])) == 1 else f"feature {feature}")
        axis.grid(True)
    every[-1].set_xlabel("point of the grid")
    first = every[0]
    first.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if title:
        first.set_title(title, parse_math=False)
    return first


def _one(axis: Axes, table: pd.DataFrame) -> None:
    curves = {str(n): table[table["curve"] == n] for n in table["curve"].unique()}
    original, new = curves.pop("original"), curves.pop("counterfactual")
    x = original["point"].to_numpy()
    low, high = original["value"].to_numpy(), new["value"].to_numpy()
    for colour, where in ((style.INCREASE, high > low), (style.DECREASE, high < low)):
        axis.fill_between(
            x, low, high, where=where, interpolate=True, color=colour, alpha=0.25, linewidth=0
        )
    for k, (name, part) in enumerate(curves.items()):
        weight = float(part["weight"].iloc[0])
        axis.plot(
            x,
            part["value"].to_numpy(),
            color=style.MUTED,
            linestyle=style.DASHES[1:][k % (len(style.DASHES) - 1)],
            linewidth=1.0,
            label=f"{name} ({weight:.0%})",
        )
    axis.plot(x, low, color=style.LINES[0], label="original")
    axis.plot(x, high, color=style.LINES[1], label="counterfactual")
