"""The figures of a study, and the one that an explanation draws of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.records import Record, load_instances
from groupcf.report import methods, panels, style, targets
from groupcf.report.changes import Changes
from groupcf.report.panel import Panel
from groupcf.report.parameters import label, published_objective
from groupcf.report.plots.changes import plot_changes
from groupcf.report.plots.curves import plot_curves
from groupcf.report.plots.feature_use import FeatureUse, plot_feature_use
from groupcf.report.plots.front import Front, plot_front
from groupcf.report.plots.group import plot_group
from groupcf.report.plots.points import plot_points
from groupcf.report.plots.profile import plot_performance_profile
from groupcf.report.plots.progress import plot_progress
from groupcf.report.style import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from groupcf.features import FeatureSpace

__all__ = ["draw", "draw_changes", "save"]


def draw(study: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Figure]:
    """Draw the figures of a study.

    Parameters
    ----------
    study : mapping
        A study of the configuration: "id" and "figure", see :func:`groupcf.report.panels.plan`.
    records : sequence of Record
        The study's records, and those of the studies in its key figure.with. Skipped and
        failed ones are not drawn.

    Returns
    -------
    dict of str to Figure
        File stem -> figure, whose label is its caption. Empty when nothing was solved.

    Raises
    ------
    ConfigError
        When figure.kind is not known.
    """
    figures = {}
    for panel in panels.plan(study, records):
        figure = style.figure_of(_DRAW[panel.plot](panel))
        figure.set_label(panel.caption)
        figures[panel.name] = figure
    return figures


def draw_changes(
    space: FeatureSpace, X0: NDArray[np.float64], X: NDArray[np.float64], labels: Sequence[str]
) -> Figure:
    """Draw the changes from instances `X0` to counterfactuals `X`, both of shape (S, D)."""
    changes = Changes.from_encoded(space, X0, X, labels)
    plot = plot_group if len(changes.rows) > panels.MANY else plot_changes
    return style.figure_of(plot(changes))


def _changes(panel: Panel) -> Axes:
    changes = panels.changes_of(panel.records[0][0])
    assert changes is not None
    plot = plot_group if panel.plot == "group" else plot_changes
    return plot(changes, title=panel.title)


def _features(panel: Panel) -> Axes:
    (group,) = panel.records
    found = [changes for r in group if (changes := panels.changes_of(r)) is not None]
    names = (
        found[0].features
        if found
        else tuple(dict.fromkeys(f for r in group for f in r.changed_features))
    )
    use = FeatureUse(
        panel.parameter,
        [r.parameters[panel.parameter] for r in group],
        names,
        [None if r.objective is None else r.changed_features for r in group],
        [r.status for r in group],
        [r.n_instances or 0 for r in group],
    )
    return plot_feature_use(use, title=panel.title)


def _front(panel: Panel) -> Axes:
    everything = [r for g in panel.records for r in g]
    fronts = [
        Front(
            label(g[0], everything, panel.parameter),
            [float(r.parameters[panel.parameter]) for r in g],
            [r.objective for r in g],
            [r.bound for r in g],
            [r.status for r in g],
            [published_objective(r) for r in g],
        )
        for g in panel.records
    ]
    return plot_front(fronts, parameter=panel.parameter, title=panel.title)


def _progress(panel: Panel) -> Axes:
    (group,) = panel.records
    by_method = any("method" in r.parameters for r in group)
    histories = {r.method if by_method else label(r, group): r.history for r in group}
    return plot_progress(histories, title=panel.title)


def _points(panel: Panel) -> Axes:
    details = panel.records[0][0].details
    clusters = details["clusters"]
    return plot_points(
        details["points"]["values"],
        details["points"]["columns"],
        [c["size"] for c in clusters],
        [c["features"] for c in clusters],
        title=panel.title,
    )


def _curves(panel: Panel) -> Axes:
    table = load_instances(panel.records[0][0])
    assert table is not None
    return plot_curves(table, title=panel.title)


def _profile(panel: Panel) -> Axes:
    return plot_performance_profile(
        methods.times([r for g in panel.records for r in g]), title=panel.title
    )


_DRAW = {
    "changes": _changes,
    "group": _changes,
    "features": _features,
    "front": _front,
    "progress": _progress,
    "points": _points,
    "profile": _profile,
    "curves": _curves,
    "goods": targets.draw_goods,
    "isoquant": targets.draw_isoquant,
    "radar": targets.draw_radar,
}
