"""Targets as they are handed to the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.benchmarking.costs import TargetCost
from groupcf.benchmarking.units import Scale, Side
from groupcf.errors import ConfigError
from groupcf.solution import Check, Outcome, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from groupcf.benchmarking.benchmark import Benchmark
    from groupcf.benchmarking.group import GroupView

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Target(Outcome):
    """What one unit has to change, with its proof.

    `objective`, `bound` and `gap` are those of the cost; of a lexicographic cost, of its first
    part.

    Attributes
    ----------
    unit : label
    target : float
        The wanted efficiency E*.
    before : float
        Farrell input efficiency as things are (super-efficiency for a target above 1).
    efficiency : float or None
        Efficiency after the changes, recomputed by HiGHS; None if there is no answer, or it
        was not to be verified. Infinite where no multiple of the new inputs is enough.
    reachable : float or None
        The highest efficiency that the allowed changes reach, if that is below the target.
    names : tuple of str
        The goods that may change: all inputs, or all outputs.
    now : ndarray of shape (n,)
        Their present values.
    values : ndarray of shape (n,) or None
        Their new values; None if there is no answer.
    second : float or None
        Second part of a lexicographic cost.
    checks : tuple of Check
        What was verified independently.
    """

    unit: Any
    target: float
    before: float
    efficiency: float | None = None
    reachable: float | None = None
    names: tuple[str, ...]
    now: Floats
    values: Floats | None = None
    second: float | None = None
    checks: tuple[Check, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """The goods that change."""
        if self.values is None:
            return ()
        return tuple(n for n, a, b in zip(self.names, self.now, self.values, strict=True) if a != b)

    @property
    def verified(self) -> bool | None:
        """Whether all checks hold; None if nothing was checked."""
        return all(check.ok for check in self.checks) if self.checks else None

    def sentence(self) -> str:
        """Return the answer in words."""
        if self.values is None:
            return f"{self.unit}: {self.message}"
        if not self.changed:
            return f"{self.unit}: {self.message or 'nothing has to change'}"
        moves = ", ".join(
            f"{n} {a:.6g} -> {b:.6g}"
            for n, a, b in zip(self.names, self.now, self.values, strict=True)
            if a != b
        )
        note = f" ({self.message})" if self.message else ""
        return f"{self.unit}: efficiency {self.before:.3g} -> {self.target:.3g} by {moves}{note}"


@dataclass(frozen=True, eq=False)
class TargetsResult:
    """Targets of many units.

    Attributes
    ----------
    benchmark : Benchmark
        The units and their technology.
    change : {"input", "output"}
    cost : TargetCost
    outcomes : tuple of Target
        One for each unit asked for, in the order of the table.
    notes : tuple of str
        What a person should know about the question as a whole.
    seconds : float
        Wall-clock time of all searches, without verification.
    verify_seconds : float
        Wall-clock time of the verification.
    """

    benchmark: Benchmark
    change: Side
    cost: TargetCost
    outcomes: tuple[Target, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    verify_seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Target]:
        return iter(self.outcomes)

    def __getitem__(self, unit: Any) -> Target:
        for outcome in self.outcomes:
            if outcome.unit == unit:
                return outcome
        raise ConfigError(f"units: there is no target for {unit!r}")

    @property
    def rts(self) -> Scale:
        """Returns to scale."""
        return self.benchmark.rts

    @property
    def names(self) -> tuple[str, ...]:
        """The goods that may change."""
        units = self.benchmark.units
        return units.inputs if self.change == "input" else units.outputs

    @property
    def moving(self) -> tuple[Target, ...]:
        """Targets of the units that have something to change."""
        return tuple(t for t in self.outcomes if t.changed)

    @property
    def verified(self) -> bool | None:
        """Whether every check of every target holds; None if nothing was checked."""
        known = [t.verified for t in self.outcomes if t.verified is not None]
        return all(known) if known else None

    def values(self) -> pd.DataFrame:
        """Return the new plans: one row per unit, all inputs and outputs in their own columns.

        NaN throughout for a unit without an answer; what does not change is the user's own
        value to the last digit.
        """
        units = self.benchmark.units
        labels = pd.Index([t.unit for t in self.outcomes], name=units.labels.name)
        at = units.labels.get_indexer(labels)
        plan = pd.DataFrame(
            np.hstack([units.X[at], units.Y[at]]),
            index=labels,
            columns=[*units.inputs, *units.outputs],
        )
        for row, outcome in enumerate(self.outcomes):
            if outcome.values is None:
                plan.iloc[row] = np.nan
            else:
                plan.iloc[row, plan.columns.get_indexer(pd.Index(outcome.names))] = outcome.values
        return plan

    def frame(self) -> pd.DataFrame:
        """Return everything as a table: one row per unit.

        Columns "status", "before", "target", "after", "cost", "bound", "gap", "changed" (names
        of the goods that change), then the new plan in the user's own columns, then "method",
        "verified" and "message".
        """
        head = pd.DataFrame(
            {
                "status": [str(t.status) for t in self.outcomes],
                "before": [t.before for t in self.outcomes],
                "target": [t.target for t in self.outcomes],
                "after": [np.nan if t.efficiency is None else t.efficiency for t in self.outcomes],
                "cost": [np.nan if t.objective is None else t.objective for t in self.outcomes],
                "bound": [np.nan if t.bound is None else t.bound for t in self.outcomes],
                "gap": [np.nan if t.gap is None else t.gap for t in self.outcomes],
                "changed": [", ".join(t.changed) for t in self.outcomes],
            },
            index=pd.Index([t.unit for t in self.outcomes], name=self.benchmark.units.labels.name),
        )
        if self.cost.lexicographic:
            second = [np.nan if t.second is None else t.second for t in self.outcomes]
            head.insert(5, "second_cost", second)
        tail = pd.DataFrame(
            {
                "method": [t.method for t in self.outcomes],
                "verified": [
                    {True: "yes", False: "NO", None: ""}[t.verified] for t in self.outcomes
                ],
                "message": [t.message for t in self.outcomes],
            },
            index=head.index,
        )
        return pd.concat([head, self.values(), tail], axis=1)

    def changes(self) -> pd.DataFrame:
        """Return one row per changed good: unit, good, from, to, share of the present value."""
        rows = [
            (t.unit, name, a, b, (b - a) / a if a else np.inf)
            for t in self.moving
            if t.values is not None
            for name, a, b in zip(t.names, t.now, t.values, strict=True)
            if a != b
        ]
        return pd.DataFrame(rows, columns=["unit", "good", "from", "to", "share"])

    def relative(self) -> pd.DataFrame:
        """Return (new - now) / now of the goods that may change; NaN without an answer."""
        table = pd.DataFrame(
            np.nan, index=[t.unit for t in self.outcomes], columns=list(self.names)
        )
        for row, t in enumerate(self.outcomes):
            if t.values is not None:
                step = t.values - t.now
                with np.errstate(divide="ignore", invalid="ignore"):
                    table.iloc[row] = np.where(step == 0, 0.0, step / t.now)
        return table

    def counts(self) -> dict[str, int]:
        """Return how many units have each status."""
        found = [str(t.status) for t in self.outcomes]
        return {str(s): found.count(str(s)) for s in Status if str(s) in found}

    def group(self, **options: Any) -> GroupView:
        """Look at all units at once: :func:`groupcf.benchmarking.group.look_at_group`."""
        from groupcf.benchmarking.group import look_at_group

        return look_at_group(self, **options)

    def summary(self) -> str:
        """Return the answer in a few lines."""
        there = sum(t.objective is not None and not t.changed for t in self.outcomes)
        lost = [t for t in self.outcomes if t.values is None]
        lines = [
            f"{len(self)} units, {self.rts.upper()}, {self.change}s change, cost {self.cost}: "
            f"{len(self.moving)} have to move, {there} are there already, "
            f"{len(lost)} have no answer"
        ]
        costs = [t.objective for t in self.moving if t.objective is not None]
        if costs:
            lines.append(f"total cost {sum(costs):.6g}, largest {max(costs):.6g}")
        methods = sorted({t.method for t in self.moving if t.method})
        if methods:
            lines.append(f"by {' and '.join(methods)} in {self.seconds:.2f} s")
        if self.verified is not None:
            bad = [str(t.unit) for t in self.outcomes if t.verified is False]
            lines.append(
                "every target verified by HiGHS"
                if self.verified
                else f"NOT verified: {', '.join(bad)}"
            )
        lines += list(self.notes)
        lines += [t.sentence() for t in lost[:10]]
        if len(lost) > 10:
            lines.append(f"... and {len(lost) - 10} more without an answer")
        return "\n".join(lines)

    def plot(self, kind: str = "heatmap", **options: Any) -> Figure:
        """Draw the targets.

        Parameters
        ----------
        kind : {"heatmap", "isoquant", "radar"}
            Which goods change by how much for all units; arrows from present to new inputs in
            front of the isoquant (two inputs); present and new values of one unit.
        **options
            For :mod:`groupcf.report.benchmarking`: ``unit=`` for the radar chart.
        """
        from groupcf.report.benchmarking import draw

        return draw(self, kind, **options)
