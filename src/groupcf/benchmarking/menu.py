"""What one unit can choose from: cost against efficiency, and other targets of equal efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.errors import ConfigError

if TYPE_CHECKING:
    from groupcf.benchmarking.benchmark import Benchmark

COSTS = ("l0+(l2)", "l1", "l2", "farrell")


@dataclass(frozen=True, eq=False)
class Menu:
    """Targets among which one unit can choose.

    Attributes
    ----------
    unit : label
    efficiency : float
        As things are.
    front : DataFrame
        Least cost for each wanted efficiency: columns "cost" (its name), "target", "value",
        "second", "changed" and the new plan. A row for which an equally cheap one reaches more
        is left out, so within one cost this is the Pareto set at the targets asked for; targets
        out of reach are missing.
    alternatives : DataFrame
        Different targets of the same efficiency: one row each, with the "weights" of the
        changed goods under which it costs least.
    """

    unit: Any
    efficiency: float
    front: pd.DataFrame
    alternatives: pd.DataFrame


def build_menu(
    benchmark: Benchmark,
    unit: Any,
    *,
    targets: Sequence[float] | None = None,
    target: float = 1.0,
    costs: Sequence[str] = COSTS,
    levels: Sequence[float] = (1.0, 4.0, 16.0),
    **options: Any,
) -> Menu:
    """Build the menu of one unit.

    Parameters
    ----------
    benchmark : Benchmark
    unit : label
    targets : sequence of float, optional
        Wanted efficiencies; by default eleven from the present one to 1.
    target : float
        Efficiency of the alternatives.
    costs : sequence of str
        Costs whose fronts are shown.
    levels : sequence of float
        Weights that each good takes in turn for the alternatives, in all combinations.
    **options
        As for :func:`groupcf.benchmarking.targets`: frozen goods, bounds, scale, ...

    Returns
    -------
    Menu

    Raises
    ------
    ConfigError, DataError
        For an unknown unit or a target out of range.
    """
    if "cost" in options or "weights" in options:
        raise ConfigError("menu: it varies costs and weights itself; give costs= and levels=")
    k = benchmark.units.position(unit)
    efficiency = float(benchmark.input_efficiencies[k])
    if targets is None:
        targets = np.unique(np.linspace(min(efficiency, 1.0), 1.0, 11)[1:]).tolist() or [1.0]
    rows = []
    for cost in costs:
        limited = {"frozen", "integer", "lower", "upper", "relative_lower", "relative_upper"}
        if cost == "farrell" and limited & set(options):
            continue  # it takes no limits
        found = []
        for goal in sorted(targets):
            (answer,) = benchmark.targets(target=goal, cost=cost, units=[unit], **options)
            if answer.values is not None:
                found.append((goal, answer))
        for at, (goal, answer) in enumerate(found):
            value = (answer.objective or 0.0, answer.second or 0.0)
            later = [(a.objective or 0.0, a.second or 0.0) for _, a in found[at + 1 :]]
            if any(other <= value for other in later):
                continue
            rows.append(
                {"cost": cost, "target": goal, "value": value[0], "second": answer.second,
                 "changed": ", ".join(answer.changed)}
                | dict(zip(answer.names, _values(answer.values), strict=True))
            )  # fmt: skip
    return Menu(
        unit, efficiency, pd.DataFrame(rows),
        _alternatives(benchmark, unit, target, levels, options),
    )  # fmt: skip


def _values(values: NDArray[np.float64] | None) -> list[float]:
    assert values is not None
    return [float(v) for v in values]


def _alternatives(
    benchmark: Benchmark,
    unit: Any,
    target: float,
    levels: Sequence[float],
    options: dict[str, Any],
) -> pd.DataFrame:
    units = benchmark.units
    names = units.inputs if options.get("change", "input") == "input" else units.outputs
    frozen = set(options.get("frozen", ()))
    free = [n for n in names if n not in frozen]
    if len(levels) ** len(free) > 2000:  # one good at a time, and all alike
        weights = [dict.fromkeys(free, 1.0)]
        weights += [{n: v if n == m else 1.0 for n in free} for m in free for v in levels]
    else:
        weights = [dict(zip(free, w, strict=True)) for w in product(levels, repeat=len(free))]
    scale = options.pop("scale", "own")
    rows: dict[tuple[float, ...], dict[str, Any]] = {}
    for weight in weights:
        for cost in ("l1", "l2"):
            (answer,) = benchmark.targets(
                target=target, cost=cost, units=[unit], weights=weight, scale=scale, **options
            )
            if answer.values is None or not answer.changed:
                continue
            key = tuple(np.round(answer.values / np.maximum(answer.now, 1e-300), 9).tolist())
            if key not in rows:
                note = ", ".join(f"{n} {v:g}" for n, v in weight.items())
                rows[key] = {"cost": cost, "weights": note, "changed": ", ".join(answer.changed)}
                rows[key] |= dict(zip(answer.names, _values(answer.values), strict=True))
    table = pd.DataFrame(list(rows.values()))
    if len(table):
        size = table["changed"].str.count(",")
        table = table.iloc[np.argsort(size.to_numpy(), kind="stable")].reset_index(drop=True)
    return table
