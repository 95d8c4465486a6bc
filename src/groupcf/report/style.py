"""One look for every figure: palette, sizes, and files that repeat bit for bit.

The published figures paint increases green and decreases red. Here green leans to blue and
red to orange, so that the two stay apart for readers who confuse red and green; arrows or
signs repeat the direction wherever a cell has room for them.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCREASE = "#00857a"
DECREASE = "#d55e00"
OTHER = "#4a3a8c"
"""Change to another category of a nominal feature, which is neither more nor less."""
PAPER = "#ffffff"
INK = "#1f2328"
MUTED = "#6b7078"
GRID = "#d9dce0"
ABSENT = "#eceef0"
"""Background of what has no answer: outliers, infeasible parameter values."""
LINES = ("#0b5cad", "#d55e00", "#00857a", "#8c4a8c", "#8a6d00", "#4d4d4d")
"""Colours of lines, in order; always together with MARKERS and DASHES."""
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))

FAINTEST = 0.22
"""Share of full colour of the smallest change: no change may look like none."""

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "hatch.color": MUTED,
    "lines.linewidth": 1.5,
    "lines.markersize": 5.0,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "savefig.dpi": 160,
    "figure.dpi": 110,
    "svg.hashsalt": "groupcf",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a dollar sign in a feature name is a dollar sign
}
"""matplotlib settings of every figure of the project."""

P = ParamSpec("P")
T = TypeVar("T")


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Run a plotting function under the project's settings, leaving the user's alone."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        from matplotlib import rc_context

        with rc_context(RC):
            return function(*args, **kwargs)

    return inside


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure outside pyplot's global list that a notebook still displays."""

        def _repr_png_(self) -> bytes:
            return to_bytes(self, "png")

    return ShownFigure


def axes(ax: Axes | None, width: float = 6.5, height: float = 3.5) -> Axes:
    """Return `ax`, or the axes of a new figure of the given size in inches."""
    if ax is not None:
        return ax
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    return figure.add_subplot()


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds `ax`."""
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


@styled
def to_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as "png" or "svg" without date or program version.

    The same figure gives the same bytes with the same matplotlib.
    """
    stamp: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    out = io.BytesIO()
    figure.savefig(out, format=form, metadata=stamp[form])
    return out.getvalue()


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg and `stem`.png, each atomically; return their paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    for form in ("svg", "png"):
        path = stem.with_name(f"{stem.name}.{form}")
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(to_bytes(figure, form))
        part.replace(path)
        paths.append(path)
    return paths


def mix(color: str, share: ArrayLike) -> NDArray[np.float64]:
    """Mix a colour into white; share 0 is white, 1 the colour.

    Returns
    -------
    ndarray of shape share.shape + (3,)
        RGB in 0..1.
    """
    from matplotlib.colors import to_rgb

    s = np.asarray(share, dtype=float)[..., None]
    return np.asarray((1.0 - s) + s * np.asarray(to_rgb(color)), dtype=float)


def shade(diff: ArrayLike, largest: float) -> NDArray[np.float64]:
    """Colour signed changes: green up, red down, white for none.

    Strength grows with the square root of the change, from `FAINTEST` on, so that small
    changes next to large ones do not vanish.

    Parameters
    ----------
    diff : array of any shape
        Signed changes; 0 for unchanged.
    largest : float
        Change that gets the full colour.
    """
    d = np.asarray(diff, dtype=float)
    strength = np.sqrt(np.clip(np.abs(d) / max(largest, 1e-300), 0.0, 1.0))
    share = np.where(d == 0.0, 0.0, FAINTEST + (1.0 - FAINTEST) * strength)
    up = (d > 0.0)[..., None]
    return np.asarray(np.where(up, mix(INCREASE, share), mix(DECREASE, share)), dtype=float)


def ink_on(rgb: ArrayLike) -> str:
    """Return the text colour, dark or white, that reads best on a background."""
    c = np.asarray(rgb, dtype=float)[:3]
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    # WCAG contrast against white is 1.05 / (L + 0.05); against INK (L about 0.017) the inverse
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.067 else INK
