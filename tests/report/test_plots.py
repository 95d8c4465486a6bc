"""Legibility, measured on the drawn figures, and what the plots say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from groupcf.errors import DataError
from groupcf.report import style
from groupcf.report.changes import Changes
from groupcf.report.plots.changes import cell_text, plot_changes
from groupcf.report.plots.feature_use import FeatureUse, plot_feature_use
from groupcf.report.plots.front import Front, plot_front
from groupcf.report.plots.group import COLUMNS, plot_group
from groupcf.report.plots.profile import plot_performance_profile, ratios
from groupcf.report.plots.progress import plot_progress

LONG = ["MaxPaymentAmountOverLast6Months", "MonthsWithZeroBalanceOverLast6Months, in full"]


def names(m: int) -> list[str]:
    return [*LONG, *(f"feature {j}" for j in range(m))][:m]


def drawn(ax):
    """Draw, and return the renderer."""
    canvas = FigureCanvasAgg(style.figure_of(ax))
    canvas.draw()
    return canvas.get_renderer()


def overlapping(texts: list[Text], renderer) -> list[tuple[str, str]]:
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text()]
    return [
        (a, b)
        for (a, box), (b, other) in itertools.combinations(boxes, 2)
        # half a pixel of touching is no overlap
        if box.padded(-0.5).overlaps(other.padded(-0.5))
    ]


def inside_figure(texts: list[Text], ax, renderer) -> bool:
    page = style.figure_of(ax).bbox.padded(1.0)
    boxes = [t.get_window_extent(renderer) for t in texts if t.get_text()]
    return all(
        page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes
    )


@pytest.mark.parametrize(
    ("n", "m", "categories"),
    [
        (1, 1, None),
        (10, 5, {"feature 0": ["African-American", "Native American", "Other"]}),
        (10, 13, {LONG[0]: ["a category with a very long name indeed, longer than a cell", "b"]}),
        (10, 30, None),
        (36, 13, None),
    ],
)
def test_small_heat_maps_are_legible(instances, n: int, m: int, categories) -> None:
    changes = Changes.from_instances(instances(n, names(m), n // 10, categories))
    ax = plot_changes(changes, title="(a) Logistic regression, λ_glob = 0.1")
    renderer = drawn(ax)
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    assert not overlapping(ax.get_xticklabels(), renderer)
    assert not overlapping(ax.get_yticklabels(), renderer)
    assert not overlapping(list(ax.texts), renderer)
    legend = ax.get_legend()
    extra = [ax.xaxis.label, ax._left_title, *(legend.get_texts() if legend else [])]
    assert not overlapping(extra, renderer)
    assert inside_figure([*ticks, *extra, *ax.texts], ax, renderer)
    # every cell text lies inside its own cell
    width = ax.get_window_extent(renderer).width / n
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert box.width <= width + 1, text.get_text()
    assert len(ax.texts) == np.count_nonzero(changes.diff)


@pytest.mark.parametrize(("n", "m"), [(41, 5), (286, 13), (2880, 30)])
def test_group_heat_maps_are_legible_and_one_picture(instances, n: int, m: int) -> None:
    changes = Changes.from_instances(instances(n, names(m), n // 20))
    ax = plot_group(changes, title="(a) Logistic regression")
    renderer = drawn(ax)
    assert not overlapping(ax.get_yticklabels(), renderer)
    assert not overlapping(ax.get_xticklabels(), renderer)
    assert inside_figure([*ax.get_yticklabels(), ax.xaxis.label], ax, renderer)
    (image,) = ax.images
    assert image.get_array().shape[1] == min(n, COLUMNS)
    assert f"{n // 20} of them outliers" in ax.get_xlabel()
    assert len(style.to_bytes(style.figure_of(ax), "svg")) < 400_000


def test_averaging_a_large_group_keeps_the_amount_of_colour(instances, boston) -> None:
    changes = Changes.from_instances(instances(2 * COLUMNS, boston))
    assert changes.flipped.all()
    image = plot_group(changes).images[0].get_array()
    small = plot_group(changes.take(range(COLUMNS))).images[0].get_array()
    assert small.shape == image.shape
    # features that nobody changes stay white, in both
    assert (np.asarray(image)[-6:] == 1.0).all()
    assert (np.asarray(image)[:7].mean(axis=1) < 1.0).any(axis=1).all()


def test_cell_texts_tell_direction_and_size() -> None:
    diff = np.array([[0.4, -0.1, 1.0, 1.0, -16.0]])
    before = np.array([[1.0, 2.0, "Other", "25-45", 20]], dtype=object)
    after = np.array([[2.0, 1.0, "African-American", "More45", 4]], dtype=object)
    nominal = np.array([False, False, True, False, False])
    changes = Changes(("0",), tuple("abcde"), diff, before, after, nominal,
                      np.array([True]), np.array([1.0]))  # fmt: skip
    found = [cell_text(changes, 0, j) for j in range(5)]
    assert found == [
        "▲ 0.40", "▼ 0.10", "Other\n→ African-\nAmerican", "25-45\n▲ More45", "▼ 16",
    ]  # fmt: skip


def test_feature_use_shows_counts_and_one_label_for_a_run_of_infeasible_values() -> None:
    use = FeatureUse(
        "f_max", [1, 2, 3, 4], ["a", "b", "c"],
        [None, None, {"a": 10}, {"a": 9, "b": 2}],
        ["infeasible", "infeasible", "optimal", "optimal"], [10] * 4,
    )  # fmt: skip
    ax = plot_feature_use(use, title="t")
    assert sorted(t.get_text() for t in ax.texts) == ["10", "2", "9", "infeasible"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "3", "4"]
    colors = {t.get_text(): t.get_color() for t in ax.get_yticklabels()}
    assert colors == {"a": style.INK, "b": style.INK, "c": style.MUTED}
    assert ax.get_xlabel() == "F_max"


@pytest.mark.parametrize(("k", "m", "n"), [(13, 13, 286), (30, 30, 2880), (4, 5, 10)])
def test_feature_use_is_legible(k: int, m: int, n: int) -> None:
    counts = [None, *(dict.fromkeys(names(m)[: min(j + 1, 14)], n) for j in range(k - 1))]
    use = FeatureUse("f_max", range(1, k + 1), names(m), counts, ["infeasible"] * k, [n] * k)
    ax = plot_feature_use(use, title="Student performance, logistic regression")
    renderer = drawn(ax)
    assert not overlapping(list(ax.texts), renderer)
    assert not overlapping(ax.get_xticklabels(), renderer)
    assert not overlapping(ax.get_yticklabels(), renderer)
    assert inside_figure([*ax.get_yticklabels(), *ax.texts], ax, renderer)


def test_front_marks_what_is_infeasible_unproven_and_published() -> None:
    front = Front("LR", [1, 2, 3], [None, 37.1, 32.0], [None, 37.1, 30.0],
                  ["infeasible", "optimal", "feasible"], [None, 37.1479, None])  # fmt: skip
    other = Front("RF", [1, 2, 3], [None, None, 31.0], [None, 5.0, 31.0],
                  ["infeasible", "no_incumbent", "optimal"])  # fmt: skip
    ax = plot_front([front, other], parameter="f_max")
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == ["LR", "not proven: bound to objective", "published", "RF",
                      "infeasible", "no incumbent"]  # fmt: skip
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines["LR"].get_xdata()) == [2, 3]
    assert list(lines["infeasible"].get_xdata()) == [1]
    assert list(lines["no incumbent"].get_xdata()) == [2]
    assert list(lines["published"].get_ydata()) == [37.1479]


def test_front_without_any_answer_still_draws() -> None:
    ax = plot_front([Front("LR", [1.0], [None], [None], ["infeasible"])], parameter="nu")
    assert ax.get_xlabel() == "ν"
    drawn(ax)


def test_progress_draws_incumbent_and_bound_as_steps() -> None:
    ax = plot_progress({"CG": [[0.0, None, 0.0, 1, 5], [1.0, 9.0, 2.0, 2, 9],
                               [4.0, 7.0, 7.0, 3, 9]]})  # fmt: skip
    steps = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    incumbent, bound = steps
    assert list(incumbent.get_xdata()) == [1.0, 4.0, 4.0]
    assert list(bound.get_ydata()) == [0.0, 2.0, 7.0, 7.0]
    drawn(ax)


def test_profile_ratios_follow_their_definition() -> None:
    found = ratios({"a": [1.0, 4.0, np.inf, np.nan], "b": [2.0, 1.0, 3.0, np.inf]})
    assert found["a"].tolist() == [1.0, 4.0, np.inf]
    assert found["b"].tolist() == [2.0, 1.0, 1.0]


def test_profile_ends_at_the_share_of_solved_problems() -> None:
    ax = plot_performance_profile({"a": [1.0, 4.0, np.inf], "b": [2.0, 1.0, 3.0]})
    ends = {line.get_label(): line.get_ydata()[-1] for line in ax.lines}
    assert ends == {"a": pytest.approx(2 / 3), "b": 1.0}
    drawn(ax)


@pytest.mark.parametrize(
    ("times", "said"),
    [({"a": [1.0], "b": [1.0, 2.0]}, "numbers of problems"), ({"a": [0.0]}, "not positive")],
)
def test_profile_refuses_tables_that_make_no_sense(times, said: str) -> None:
    with pytest.raises(DataError, match=said):
        ratios(times)


def test_plots_draw_into_axes_that_they_are_given(instances, boston) -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert plot_changes(Changes.from_instances(instances(3, boston)), ax) is ax
    assert plot_group(Changes.from_instances(instances(50, boston)), Figure().add_subplot())


def test_a_dollar_sign_in_a_name_is_a_dollar_sign(instances) -> None:
    ax = plot_changes(Changes.from_instances(instances(3, ["$\\frac{$ income", "b"])), title="$x$")
    drawn(ax)
    assert ax.get_yticklabels()[0].get_text() == "$\\frac{$ income"
