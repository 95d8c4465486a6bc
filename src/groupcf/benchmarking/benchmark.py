"""A table of units made ready: everything that one wants to know about their efficiency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.benchmarking.fdh import FreeDisposalHull
from groupcf.benchmarking.technology import Technology
from groupcf.benchmarking.units import Side, Units, check_scale, check_side, named, read_units
from groupcf.errors import ConfigError, DataError

if TYPE_CHECKING:
    from groupcf.benchmarking.facets import Rays
    from groupcf.benchmarking.menu import Menu
    from groupcf.benchmarking.results import TargetsResult

Floats = NDArray[np.float64]
RAYS = 30_000
"""Technologies with more extreme rays than this are not enumerated."""


class Benchmark:
    """Units, inputs, outputs and returns to scale.

    What is found out once, the frontier or the extreme rays of the technology, serves all
    later questions.

    Parameters
    ----------
    frame : DataFrame of K rows
        The index names the units.
    inputs, outputs : sequence of str
        Columns of `frame`; non-negative numbers.
    rts : {"crs", "vrs", "drs", "irs", "fdh"}
        Returns to scale: constant, variable, non-increasing, non-decreasing; or the free
        disposal hull.

    Raises
    ------
    DataError, ConfigError
        For input that makes no sense; the message names column and row.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame(
    ...     {"x1": [0.5, 1.5, 1.75, 2.5], "x2": [1, 0.5, 1.25, 1.25], "y": [1, 1, 1, 1]},
    ...     index=[1, 2, 3, 4],
    ... )
    >>> benchmark = Benchmark(firms, inputs=["x1", "x2"], outputs=["y"])
    >>> benchmark.efficiency().round(2).tolist()
    [1.0, 1.0, 0.59, 0.5]
    >>> benchmark.targets(target=0.8, cost="l0+l2", units=[3]).values().round(4).loc[3].tolist()
    [1.75, 0.6875, 1.0]
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        rts: str = "crs",
    ) -> None:
        self.rts = check_scale(rts)
        self.units: Units = read_units(frame, inputs, outputs)
        self._rays: Rays | None = None
        self._too_many_rays = False

    @cached_property
    def technology(self) -> Technology:
        """The convex technology; not for the free disposal hull."""
        return Technology(self.units, self.rts)

    @cached_property
    def hull(self) -> FreeDisposalHull:
        """The free disposal hull."""
        return FreeDisposalHull(self.units)

    def rays(self) -> Rays | None:
        """Return the extreme rays of the technology, None if there are more than `RAYS`."""
        if self._rays is None and not self._too_many_rays:
            from groupcf.benchmarking.facets import technology_rays

            self.input_efficiencies  # noqa: B018 - makes the frontier complete
            self._rays = technology_rays(self.technology, RAYS)
            self._too_many_rays = self._rays is None
        return self._rays

    @cached_property
    def input_efficiencies(self) -> Floats:
        """Farrell input efficiency of every unit, shape (K,)."""
        return self._measure("input")

    @cached_property
    def output_factors(self) -> Floats:
        """Farrell output factor of every unit, shape (K,)."""
        return self._measure("output")

    def _measure(self, side: Side) -> Floats:
        if self.rts == "fdh":
            hull = self.hull
            measure = hull.input_efficiency if side == "input" else hull.output_factor
            return np.array([measure(x, y)[0] for x, y in zip(hull.X, hull.Y, strict=True)])
        step = self.technology.unit_steps(side).step
        return 1.0 - np.clip(step, 0.0, 1.0) if side == "input" else 1.0 + np.maximum(step, 0.0)

    def _series(self, values: Floats, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.units.labels, name=name)

    def efficiency(self, orientation: str = "input") -> pd.Series[float]:
        """Return one number per unit: Farrell's efficiency.

        Parameters
        ----------
        orientation : {"input", "output"}
            "input": the smallest E for which E times the inputs would do, at most 1. "output":
            the largest F such that F times the outputs could be made, at least 1; infinite for
            a unit without any output.
        """
        side = check_side(orientation, "orientation")
        values = self.input_efficiencies if side == "input" else self.output_factors
        return self._series(values, "efficiency")

    def super_efficiency(self, orientation: str = "input") -> pd.Series[float]:
        """Return efficiencies of which each unit is compared with the others only.

        Input efficiencies may exceed 1, output factors fall below 1. NaN where the other units
        span no point to compare with.
        """
        side = check_side(orientation, "orientation")
        values = (self.input_efficiencies if side == "input" else self.output_factors).copy()
        X, Y = (self.hull.X, self.hull.Y) if self.rts == "fdh" else (None, None)
        if X is not None and Y is not None:
            measure = self.hull.input_efficiency if side == "input" else self.hull.output_factor
            for k in range(len(values)):
                values[k] = measure(X[k], Y[k], k)[0]
        else:
            values = self._super_convex(side, values)
        return self._series(np.where(np.isfinite(values), values, np.nan), "super_efficiency")

    def _super_convex(self, side: Side, values: Floats) -> Floats:
        technology = self.technology
        self.input_efficiencies  # noqa: B018 - makes the frontier complete
        at = technology.members.copy()  # nobody else is missed
        if side == "output":
            at = at[technology.Y[at].any(axis=1)]
        X, Y = technology.X[at], technology.Y[at]
        if side == "input":
            D = technology.directions(X, np.zeros_like(Y))
        else:
            D = technology.directions(np.zeros_like(X), Y)
        step = technology.steps(technology.sides(X, Y), D, skip=at).step
        values[at] = 1.0 - step if side == "input" else 1.0 + step
        return values

    def slacks(self, orientation: str = "input") -> pd.DataFrame:
        """Return what a unit could still save or add at the frontier.

        Second stage: at the efficiency found, the largest sum of slacks, each divided by the
        mean of its column.

        Returns
        -------
        DataFrame
            One row per unit, one column per input and output, in the columns' own units.
        """
        slacks, _, _ = self._second_stage(check_side(orientation, "orientation"))
        scale = np.concatenate([self.units.X.mean(axis=0), self.units.Y.mean(axis=0)])
        names = [*self.units.inputs, *self.units.outputs]
        return pd.DataFrame(slacks * scale, index=self.units.labels, columns=names)

    def peers(self, orientation: str = "input") -> pd.DataFrame:
        """Return the units with which each unit is compared, and with which weight.

        Returns
        -------
        DataFrame
            Columns "unit", "peer", "lambda"; one row for each positive lambda.
        """
        _, peers, lambdas = self._second_stage(check_side(orientation, "orientation"))
        at, place = np.nonzero((peers >= 0) & (lambdas > 1e-12))
        labels = self.units.labels
        table = pd.DataFrame(
            {
                "unit": labels[at],
                "peer": labels[peers[at, place]],
                "lambda": lambdas[at, place],
            }
        )
        order = np.lexsort([-table["lambda"].to_numpy(), at])
        return table.iloc[order].reset_index(drop=True)

    def _second_stage(self, side: Side) -> tuple[Floats, NDArray[np.int64], Floats]:
        if self.rts == "fdh":
            return self._second_stage_fdh(side)
        from groupcf.benchmarking.slacks import largest_slacks

        technology = self.technology
        self.input_efficiencies  # noqa: B018 - makes the frontier complete
        B = technology.sides(technology.X, technology.Y)
        zero_x, zero_y = np.zeros_like(technology.X), np.zeros_like(technology.Y)
        if side == "input":
            D = technology.directions(technology.X, zero_y)
        else:
            D = technology.directions(zero_x, technology.Y)
        return largest_slacks(technology, technology.unit_steps(side), B, D)

    def _second_stage_fdh(self, side: Side) -> tuple[Floats, NDArray[np.int64], Floats]:
        hull = self.hull
        K, inputs = hull.X.shape
        slacks = np.full((K, inputs + hull.Y.shape[1]), np.nan)
        peers = np.full((K, 1), -1, np.int64)
        for k, (x, y) in enumerate(zip(hull.X, hull.Y, strict=True)):
            measure = hull.input_efficiency if side == "input" else hull.output_factor
            value, peer = measure(x, y)
            if not np.isfinite(value):
                continue
            peers[k, 0] = peer
            times_x, times_y = (value, 1.0) if side == "input" else (1.0, value)
            slacks[k, :inputs] = times_x * x - hull.X[peer]
            slacks[k, inputs:] = hull.Y[peer] - times_y * y
        return np.maximum(slacks, 0.0), peers, (peers >= 0).astype(float)

    def directional(self, direction: Mapping[str, Any] | str = "input") -> pd.DataFrame:
        """Search for an alternative plan in a direction: (DIR) of chapter 4.

        The largest e with (x - e dx, y + e dy) in the technology.

        Parameters
        ----------
        direction : str or mapping
            "input" for (x, 0), whose e is one minus Farrell's efficiency; "output" for (0, y);
            "both" for (x, y). Or amounts by column, each a number or a Series by unit, not
            negative: less of an input, more of an output.

        Returns
        -------
        DataFrame
            Column "step" with e, and the plan it leads to, one column per input and output.

        Raises
        ------
        ConfigError
            For an unknown column, a negative amount, or a direction of nothing but zeros.
        """
        dx, dy = self._direction(direction)
        units = self.units
        if self.rts == "fdh":
            step = self._directional_fdh(dx, dy)
        else:
            technology = self.technology
            self.input_efficiencies  # noqa: B018 - makes the frontier complete
            scaled_x, scaled_y = dx / technology.scale_x, dy / technology.scale_y
            size = np.maximum(scaled_x.max(axis=1), scaled_y.max(axis=1))
            D = technology.directions(scaled_x / size[:, None], scaled_y / size[:, None])
            step = technology.steps(technology.sides(technology.X, technology.Y), D).step / size
            step = np.maximum(step, 0.0)
        table = pd.DataFrame({"step": step}, index=units.labels)
        plan = np.hstack([units.X - step[:, None] * dx, units.Y + step[:, None] * dy])
        for j, name in enumerate([*units.inputs, *units.outputs]):
            table[name] = np.maximum(plan[:, j], 0.0)
        return table

    def _direction(self, direction: Mapping[str, Any] | str) -> tuple[Floats, Floats]:
        units = self.units
        if isinstance(direction, str):
            if direction not in ("input", "output", "both"):
                raise ConfigError(
                    f"direction: {direction!r} is none of 'input', 'output', 'both'; or give "
                    "amounts by column"
                )
            dx = units.X if direction != "output" else np.zeros_like(units.X)
            dy = units.Y if direction != "input" else np.zeros_like(units.Y)
            idle = np.flatnonzero(~dx.any(axis=1) & ~dy.any(axis=1))
            if len(idle):
                raise DataError(f"unit {named(units.labels[idle[0]])} has no output to move along")
            return dx, dy
        from groupcf.benchmarking.limits import read_amounts

        names = (*units.inputs, *units.outputs)
        d = read_amounts(direction, units, names, "direction", 0.0)
        idle = np.flatnonzero(~d.any(axis=1))
        if len(idle):
            raise ConfigError(f"direction: it is zero for unit {named(units.labels[idle[0]])}")
        return d[:, : len(units.inputs)], d[:, len(units.inputs) :]

    def _directional_fdh(self, dx: Floats, dy: Floats) -> Floats:
        X, Y = self.units.X, self.units.Y
        step = np.empty(len(X))
        for k in range(len(X)):
            room = np.hstack([X[k] - X, Y - Y[k]])
            d = np.concatenate([dx[k], dy[k]])
            fits = (room[:, d == 0] >= 0).all(axis=1)
            step[k] = (room[fits][:, d > 0] / d[d > 0]).min(axis=1).max()
        return step

    def targets(self, **options: Any) -> TargetsResult:
        """Find least costly changes to a wanted efficiency: :func:`targets`, for these units."""
        from groupcf.benchmarking.targets import solve_targets

        return solve_targets(self, **options)

    def menu(self, unit: Any, **options: Any) -> Menu:
        """Show what one unit can choose from: :func:`groupcf.benchmarking.menu.build_menu`."""
        from groupcf.benchmarking.menu import build_menu

        return build_menu(self, unit, **options)
