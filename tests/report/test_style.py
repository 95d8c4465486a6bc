"""Colours, determinism, and that the user's settings stay as they were."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from groupcf.report import style
from groupcf.report.changes import Changes
from groupcf.report.plots.changes import plot_changes

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB
VISION = {
    "typical": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip


def lab(color: object, vision: str) -> np.ndarray:
    """Convert a colour, as somebody sees it, to CIELAB."""
    c = np.asarray(to_rgb(color))  # type: ignore[arg-type]
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    seen = np.clip(VISION[vision] @ linear, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722],
                       [0.0193, 0.1192, 0.9505]])  # fmt: skip
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_directions_stay_apart_for_every_kind_of_colour_vision(vision: str) -> None:
    colors = (style.INCREASE, style.DECREASE, style.OTHER, style.PAPER)
    for a, b in itertools.combinations(colors, 2):
        assert np.linalg.norm(lab(a, vision) - lab(b, vision)) > 30, (a, b)
    # the same for changes of equal size that are small and therefore pale
    for share in (0.01, 0.1, 0.5):
        up, down = style.shade([share, -share], 1.0)
        assert np.linalg.norm(lab(tuple(up), vision) - lab(tuple(down), vision)) > 10


@given(st.floats(1e-12, 1.0), st.floats(1e-12, 1.0))
def test_larger_changes_are_never_paler_and_none_is_white(a: float, b: float) -> None:
    small, large = sorted((a, b))
    for sign in (1.0, -1.0):
        pale, strong, nothing = style.shade([sign * small, sign * large, 0.0], 1.0)
        assert (strong <= pale + 1e-12).all()
        assert pale.min() < 0.9
        assert (nothing == 1.0).all()


@given(st.tuples(*[st.floats(0.0, 1.0)] * 3))
def test_text_has_enough_contrast_on_any_background(rgb: tuple[float, float, float]) -> None:
    def luminance(color: object) -> float:
        c = np.asarray(to_rgb(color))  # type: ignore[arg-type]
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = sorted((luminance(style.ink_on(rgb)), luminance(rgb)), reverse=True)
    # 4 where white and near-black are equally far; WCAG asks 3 of graphics, 4.5 of prose
    assert (light + 0.05) / (dark + 0.05) >= 3.95


def test_same_figure_gives_same_bytes_without_date_or_version(instances, boston) -> None:
    def draw(form: str) -> bytes:
        changes = Changes.from_instances(instances(10, boston, 2))
        return style.to_bytes(style.figure_of(plot_changes(changes, title="a title")), form)

    for form in ("svg", "png"):
        assert draw(form) == draw(form)
    assert b"<dc:date>" not in draw("svg")
    assert mpl.__version__.encode() not in draw("png")


def test_plotting_leaves_settings_and_pyplot_alone(instances, boston) -> None:
    before = dict(mpl.rcParams)
    ax = plot_changes(Changes.from_instances(instances(3, boston)))
    assert dict(mpl.rcParams) == before
    assert style.figure_of(ax)._repr_png_().startswith(b"\x89PNG")


def test_save_replaces_both_files_and_leaves_no_part(tmp_path, instances, boston) -> None:
    figure = style.figure_of(plot_changes(Changes.from_instances(instances(3, boston))))
    (tmp_path / "fig-2.1.svg").write_text("old")
    paths = style.save(figure, tmp_path / "fig-2.1")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fig-2.1.png", "fig-2.1.svg"]
    assert paths[0].read_bytes().startswith(b"<?xml")
