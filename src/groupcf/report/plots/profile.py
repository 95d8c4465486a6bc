"""Performance profiles (Dolan and Moré, Mathematical Programming 91, 2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import DataError
from groupcf.report import style
from groupcf.report.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ratios(times: Mapping[str, Sequence[float]]) -> dict[str, NDArray[np.float64]]:
    """Return each method's ratio to the fastest method, problem by problem.

    Parameters
    ----------
    times : mapping of method to N seconds
        inf or NaN where the method did not solve the problem to proof.

    Returns
    -------
    dict of method to ndarray of shape (N',)
        inf where unsolved. Problems that no method solves are left out.

    Raises
    ------
    DataError
        When methods have different numbers of problems or a time is not positive.
    """
    lengths = {name: len(t) for name, t in times.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"performance profile: different numbers of problems {lengths}")
    table = np.array([np.asarray(t, dtype=float) for t in times.values()])
    table = np.where(np.isnan(table), np.inf, table)
    if (table <= 0.0).any():
        name = list(times)[int(np.argmax((table <= 0.0).any(axis=1)))]
        raise DataError(f"performance profile: {name!r} has a time that is not positive")
    if not table.size:
        return {name: np.empty(0) for name in times}
    table = table[:, np.isfinite(table).any(axis=0)]
    best = table.min(axis=0)
    return {name: row / best for name, row in zip(times, table, strict=True)}


@style.styled
def plot_performance_profile(
    times: Mapping[str, Sequence[float]], ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Draw, for each method, the share of problems solved within a factor of the fastest.

    Parameters
    ----------
    times : mapping of method to N seconds
        As in :func:`ratios`.
    ax : Axes, optional
        Drawn into when given; otherwise a new figure is made.
    title : str, optional
    """
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    ax = style.axes(ax, 6.5, 3.6)
    relative = ratios(times)
    n = len(next(iter(relative.values()), ()))
    solved = [r[np.isfinite(r)].max() for r in relative.values() if np.isfinite(r).any()]
    end = 1.25 * max([2.0, *solved])
    for i, (name, r) in enumerate(relative.items()):
        steps = np.sort(r[np.isfinite(r)])
        share = np.arange(1, len(steps) + 1) / max(n, 1)
        # starts at 1 with the share of problems on which the method is the fastest
        xs = np.concatenate([[1.0], steps, [end]])
        ys = np.concatenate([[0.0], share, [share[-1] if len(share) else 0.0]])
        ax.step(
            xs, ys, where="post", label=name, color=style.LINES[i % len(style.LINES)],
            linestyle=style.DASHES[i % len(style.DASHES)],
        )  # fmt: skip
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: number(x)))
    ax.xaxis.set_minor_formatter(FuncFormatter(lambda x, _: ""))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlim(1.0, end)
    ax.set_ylim(-0.02, 1.04)
    ax.set_xlabel("time, as a multiple of the fastest method's")
    ax.set_ylabel(f"share of {n} problems solved")
    ax.grid(True)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if title:
        ax.set_title(title, parse_math=False)
    return ax
