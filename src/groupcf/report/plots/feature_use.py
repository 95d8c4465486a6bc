"""Which features change as a parameter grows (Figures 2.3, 2.6b, 2.9, 2.13, 2.17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from groupcf.report import style
from groupcf.report.plots import cells
from groupcf.report.wording import number, symbol, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FeatureUse:
    """How many instances change each feature, for each value of one parameter.

    Attributes
    ----------
    parameter : str
        Name of the parameter, as in a record.
    values : sequence
        Its K values, in the order to be shown.
    features : sequence of str
        J names, in the order of the data set.
    counts : sequence of (mapping of str to int) or None
        For each value, feature -> number of instances; None where there is no answer.
    answers : sequence of str
        For each value the status ("optimal", "infeasible", ...).
    n_instances : sequence of int
        Size of the group for each value.
    """

    parameter: str
    values: Sequence[object]
    features: Sequence[str]
    counts: Sequence[Mapping[str, int] | None]
    answers: Sequence[str]
    n_instances: Sequence[int]


@style.styled
def plot_feature_use(use: FeatureUse, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw features down and parameter values across; a filled cell is a changed feature.

    The darker the cell, the more instances change the feature; the number says how many.
    Values without an answer are hatched and labelled with their status.

    Parameters
    ----------
    use : FeatureUse
    ax : Axes, optional
        Drawn into when given; otherwise a new figure of fitting size is made.
    title : str, optional
    """
    everything = np.array([any((c or {}).get(f) for c in use.counts) for f in use.features])
    shown = cells.visible(everything)
    names = [use.features[j] for j in shown]
    n, m = len(use.values), len(shown)
    width = max(0.3, 0.12 + 0.055 * len(str(max(use.n_instances, default=0))))
    ax = style.axes(ax, max(5.0, cells.margin(names) + width * n), 1.35 + 0.225 * max(m, 4))

    image, written = np.ones((m, n, 3)), {}
    for k, counts in enumerate(use.counts):
        for j, name in enumerate(names):
            if times := (counts or {}).get(name, 0):
                share = times / max(use.n_instances[k], 1)
                image[j, k] = style.mix(style.DECREASE, 0.3 + 0.7 * share)
                written[j, k] = times
    at = cells.paint(ax, image)
    for (j, k), times in written.items():
        ax.text(
            k, at[j], str(times), ha="center", va="center", fontsize=6.5,
            color=style.ink_on(image[j, k]),
        )  # fmt: skip
    for answer, first, last in _runs(use):
        cells.hatch(ax, first - 0.5, last + 0.5)
        ax.text(
            (first + last) / 2, m / 2, answer.replace("_", " "), fontsize=8,
            rotation=90 if last - first < 2 else 0, ha="center", va="center", parse_math=False,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip

    cells.name_features(ax, at, names, [bool(everything[j]) for j in shown])
    ax.set_xticks(range(n), [value_of(v) for v in use.values], parse_math=False)
    note = cells.hidden_note(len(use.features), m)
    ax.set_xlabel(symbol(use.parameter) + (f"\n({note})" if note else ""), parse_math=False)
    size = f"the {number(use.n_instances[0])}" if len(set(use.n_instances)) == 1 else "all"
    label = f"changed, by how many of {size} instances"
    entries = [cells.key(label, style.DECREASE)]
    if any(c is None for c in use.counts):
        entries.append(cells.key("no answer"))
    cells.legend_above(ax, entries, title)
    return ax


def _runs(use: FeatureUse) -> list[tuple[str, int, int]]:
    """Return (status, first, last) of each run of neighbouring values without an answer."""
    runs = []
    absent = [a if c is None else "" for a, c in zip(use.answers, use.counts, strict=True)]
    for answer, run in groupby(range(len(absent)), key=lambda k: absent[k]):
        at = list(run)
        if answer:
            runs.append((answer, at[0], at[-1]))
    return runs
