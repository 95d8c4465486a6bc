"""All units at once: what moving them costs together, and whom to move first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.benchmarking.units import named
from groupcf.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupcf.benchmarking.results import Target, TargetsResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupView:
    """What becomes of a group of units when some of them move to their targets.

    Attributes
    ----------
    result : TargetsResult
    chosen : tuple of labels
        Units that move, the first to move first.
    left : tuple of labels
        Units that would have to move but do not, for lack of budget.
    total : float
        Cost of all moves together.
    shortfall : float
        Largest relative shortfall from its target of any unit that moved, measured against
        the technology of the changed table: 0 up to rounding, since no target of at most 1
        adds to the technology. The exception are outputs that change under the free disposal
        hull, whose efficiency jumps: a target may pass 1 and become a rival of others. NaN if
        nobody moved.
    """

    result: TargetsResult
    chosen: tuple[Any, ...]
    left: tuple[Any, ...]
    total: float
    shortfall: float

    def use(self) -> pd.DataFrame:
        """Return how often and by how much each good changes (tables 4.6 to 4.9).

        Returns
        -------
        DataFrame
            One row per good: "units" that change it, their "share" of all that move, "mean
            change" and "mean relative change" over the units that change it, and the "total
            change" over all.
        """
        moved = [self.result[label] for label in self.chosen]
        rows = []
        for j, name in enumerate(self.result.names):
            steps = np.array([t.values[j] - t.now[j] for t in moved if t.values is not None])
            now = np.array([t.now[j] for t in moved if t.values is not None])
            at = steps != 0
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = steps[at] / now[at]
            rows.append(
                {
                    "good": name,
                    "units": int(at.sum()),
                    "share": float(at.mean()) if len(at) else 0.0,
                    "mean change": float(steps[at].mean()) if at.any() else 0.0,
                    "mean relative change": float(relative.mean()) if at.any() else 0.0,
                    "total change": float(steps.sum()) if len(at) else 0.0,
                }
            )
        return pd.DataFrame(rows).set_index("good")

    def counts(self) -> pd.Series[int]:
        """Return how many units change 1, 2, ... goods."""
        numbers = [len(self.result[label].changed) for label in self.chosen]
        width = len(self.result.names)
        found = {k: numbers.count(k) for k in range(1, width + 1)}
        return pd.Series(found, name="units").rename_axis("goods changed")

    def order(self) -> pd.DataFrame:
        """Return the units that move, first to last, with their cost and the running total."""
        cost = [self.result[label].objective for label in self.chosen]
        table = pd.DataFrame({"cost": cost}, index=pd.Index(self.chosen, name="unit"), dtype=float)
        return table.assign(total=table["cost"].cumsum())

    def summary(self) -> str:
        """Return the view in a few lines."""
        lines = [
            f"{len(self.chosen)} units move at a total cost of {self.total:.6g}"
            + (f", {len(self.left)} stay for lack of budget" if self.left else "")
        ]
        if self.chosen:
            lines.append(
                "after all moves together every one of them is at its target "
                f"(largest relative shortfall {self.shortfall:.1e})"
                if self.shortfall <= 1e-6
                else f"NOT all at their target together: shortfall {self.shortfall:.3g}"
                + self._jumps()
            )
            often = self.use().sort_values("units", ascending=False)
            parts = [
                f"{name} {int(row['units'])} times (by {100 * row['mean relative change']:+.1f} % "
                "on average)"
                for name, row in often.iterrows()
                if row["units"]
            ]
            lines.append(f"changed: {', '.join(parts)}")
        return "\n".join(lines)

    def _jumps(self) -> str:
        if self.result.rts != "fdh" or self.result.change != "output":
            return ""
        return (
            " (under the free disposal hull the efficiency jumps as outputs grow, so that a target "
            "may become a rival of others: move them one after the other)"
        )


def look_at_group(
    result: TargetsResult,
    *,
    most: int | None = None,
    budget: float | None = None,
    worth: Mapping[Any, float] | pd.Series[float] | None = None,
) -> GroupView:
    """Choose which units move.

    Parameters
    ----------
    result : TargetsResult
    most : int, optional
        At most so many units move.
    budget : float, optional
        Their costs together are at most this.
    worth : mapping of unit to number, optional
        What moving each unit is worth; 1 by default, so that as many as possible move. Among
        choices of equal worth a cheap one is taken.

    Returns
    -------
    GroupView

    Raises
    ------
    ConfigError
        For a limit that is no number, or a unit without worth.
    """
    if most is not None and (not isinstance(most, (int, np.integer)) or most < 0):
        raise ConfigError(f"most: {most!r} is not a whole number of units")
    if budget is not None:
        try:
            allowed = float(budget)
        except (TypeError, ValueError):
            allowed = np.nan
        if not allowed >= 0:
            raise ConfigError(f"budget: {budget!r} is not a non-negative number")
    moving = [t for t in result.moving if t.objective is not None]
    cost = np.array([float(t.objective or 0.0) for t in moving])
    value = np.ones(len(moving))
    if worth is not None:
        for k, t in enumerate(moving):
            if t.unit not in worth:
                raise ConfigError(f"worth: there is none for unit {named(t.unit)}")
            value[k] = float(worth[t.unit])
        if not (np.isfinite(value).all() and (value >= 0).all()):
            raise ConfigError("worth: give numbers that are not negative")
    second = np.array([float(t.second or 0.0) for t in moving])
    chosen = _choose(cost, second, value, most, budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(cost > 0, value / cost, np.inf)
    first = chosen[np.lexsort([second[chosen], cost[chosen], -rate[chosen]])]
    picked = [moving[k] for k in first]
    stay = [t.unit for k, t in enumerate(moving) if k not in set(chosen.tolist())]
    return GroupView(
        result,
        tuple(t.unit for t in picked),
        tuple(stay),
        float(cost[chosen].sum()),
        _joint_shortfall(result, picked),
    )


def _choose(
    cost: Floats, second: Floats, value: Floats, most: int | None, budget: float | None
) -> NDArray[np.int64]:
    """Return the units that move: greatest worth within the limits, then least cost."""
    n = len(cost)
    everyone = np.arange(n)
    within = most is None or n <= most
    if n == 0 or (within and (budget is None or cost.sum() <= budget)):
        return everyone
    if (value == value[0]).all():  # the cheapest ones: no choice has more units
        order = np.lexsort([second, cost])
        running = np.cumsum(cost[order])
        count = n if budget is None else int((running <= budget * (1 + 1e-12)).sum())
        return np.sort(order[: count if most is None else min(count, most)])
    from groupcf.solvers.highs import solve_matrix

    rows, ends = [], []
    if most is not None:
        rows.append(np.ones(n))
        ends.append(float(most))
    if budget is not None:
        size = max(float(cost.max()), 1e-300)
        rows.append(cost / size)
        ends.append(float(budget) / size)
    # a cheap choice among equally worthy ones: the cost weighs less than any worth
    tie = 1e-7 * value[value > 0].min(initial=1.0) / max(float(cost.sum()), 1e-300)
    found = solve_matrix(
        -value + tie * cost, np.array(rows), -np.inf, np.array(ends), 0.0, 1.0,
        integrality=np.ones(n),
    )  # fmt: skip
    if found.x is None:
        return everyone[:0]
    return np.flatnonzero(found.x > 0.5)


def _joint_shortfall(result: TargetsResult, moved: list[Target]) -> float:
    """Measure all changed units against the technology of the changed table."""
    if not moved:
        return float("nan")
    from groupcf.benchmarking.benchmark import Benchmark

    units = result.benchmark.units
    X, Y = units.X.copy(), units.Y.copy()
    at = [units.position(t.unit) for t in moved]
    for k, t in zip(at, moved, strict=True):
        assert t.values is not None
        (X if result.change == "input" else Y)[k] = t.values
    names = [*units.inputs, *units.outputs]
    table = pd.DataFrame(np.hstack([X, Y]), index=units.labels, columns=names)
    after = Benchmark(table, inputs=units.inputs, outputs=units.outputs, rts=result.rts)
    efficiency = after.input_efficiencies[at]
    goal = np.array([min(t.target, 1.0) for t in moved])
    return float(np.maximum(0.0, 1.0 - efficiency / goal).max())
