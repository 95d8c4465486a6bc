"""Studies of benchmarking: least-cost efficiency targets of all units (models.md section 6).

One solve is one question (wanted efficiency, cost, technology) asked about every inefficient
unit of a data set, by one method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from groupcf.benchmarking import Benchmark, TargetsResult
from groupcf.benchmarking.results import Target
from groupcf.datasets.units import UnitsData, load_units
from groupcf.errors import ConfigError
from groupcf.pipeline import config as configuration
from groupcf.pipeline.studies import Answer, Prepared
from groupcf.report.benchmarking import isoquant
from groupcf.solution import Check, Outcome, Status, Verification

MODELS = {"input": "CEDEA", "output": "CEODEA"}


def prepare(
    study: Mapping[str, Any], cache: Path, files: Mapping[str, str], options: Mapping[str, Any]
) -> Prepared:
    """Load the units of a study; what is found out about a technology serves all its solves.

    Raises
    ------
    SourceUnavailableError
        When the units are nowhere to be had.
    """
    name = study["dataset"]
    units = load_units(name, cache=cache, file=Path(files[name]) if name in files else None)
    numbers = np.ascontiguousarray(units.frame.to_numpy(dtype=float))
    labels = "|".join(map(str, units.frame.index))
    sha256 = hashlib.sha256(numbers.tobytes() + labels.encode()).hexdigest()
    described = {
        "name": name,
        "variant": study["variant"],
        "sha256": sha256,
        "rows": len(units.frame),
        "source": units.source,
        "notes": [units.note] if units.note else [],
        "kinds": dict.fromkeys([*units.inputs, *units.outputs], "numeric"),
    }
    technologies: dict[str, Benchmark] = {}
    return Prepared(
        configuration.OWN_DATA["efficiency_targets"],
        lambda solve: [sha256],
        lambda solve: {"dataset": described},
        lambda solve: _solve(study, solve, units, technologies, options),
    )


def _solve(
    study: Mapping[str, Any],
    solve: Mapping[str, Any],
    units: UnitsData,
    technologies: dict[str, Benchmark],
    options: Mapping[str, Any],
) -> Answer:
    given = solve["parameters"]
    asked = dict(study.get("targets", {}))
    radar = asked.pop("radar", None)
    rts, change = (
        str(given.get(key, asked.pop(key, usual)))
        for key, usual in (("rts", "crs"), ("change", "input"))
    )
    if rts not in technologies:
        technologies[rts] = Benchmark(
            units.frame, inputs=units.inputs, outputs=units.outputs, rts=rts
        )
    benchmark = technologies[rts]
    for key in ("target", "target_cost"):
        if key not in given:
            raise ConfigError(f"study {study['id']}, key sweep: {key} is needed")
    result = benchmark.targets(
        target=given["target"],
        cost=given["target_cost"],
        change=change,
        method=given.get("method", options["method"]),
        solver=options["solver"],
        time_limit=options["time_limit"],
        **asked,
    )
    return Answer(
        model=MODELS[change],
        solution=_outcome(result),
        verification=_verification(result),
        n_instances=len(result),
        n_flipped=sum(t.values is not None for t in result),
        changed_features={
            name: count for name in result.names if (count := _count(result, name)) > 0
        },
        details=_details(result, radar),
        instances=_table(result),
    )


def _count(result: TargetsResult, name: str) -> int:
    return sum(name in t.changed for t in result)


def _outcome(result: TargetsResult) -> Outcome:
    """Add the units up: together they are proven when each of them is."""
    answered = [t for t in result if t.objective is not None]
    lost = [t for t in result if t.objective is None]
    if not answered:
        status = lost[0].status
    elif all(t.status in (Status.OPTIMAL, Status.INFEASIBLE) for t in result):
        status = Status.OPTIMAL
    else:
        status = Status.FEASIBLE
    message = ""
    if lost:
        by = result.counts()
        parts = [f"{by[s]} {s.replace('_', ' ')}" for s in by if not Status(s).has_incumbent]
        message = f"{len(lost)} of {len(result)} units have no answer ({', '.join(parts)})"
    known = [t.bound for t in answered]
    return Outcome(
        status=status,
        objective=sum(float(t.objective or 0.0) for t in answered) if answered else None,
        bound=None if None in known or not known else sum(float(b or 0.0) for b in known),
        method=" and ".join(sorted({t.method for t in result.moving if t.method})),
        why=next((t.why for t in result.moving if t.why), ""),
        message=message,
        seconds=result.seconds,
        phases={"verification": result.verify_seconds},
    )


def _verification(result: TargetsResult) -> Verification:
    """Gather the checks of all units under their names, the worst one told."""
    found: dict[str, list[tuple[Target, Check]]] = {}
    for target in result:
        for check in target.checks:
            found.setdefault(check.name, []).append((target, check))
    checks = []
    for name, each in found.items():
        failed = [(t, c) for t, c in each if not c.ok]
        worst = max(c.worst for _, c in each)
        detail = f"unit {failed[0][0].unit}: {failed[0][1].detail}" if failed else ""
        checks.append(Check(name, not failed, worst, detail))
    jumps = result.rts == "fdh" and result.change == "output"  # then it need not hold
    if result.moving and not jumps:
        shortfall = result.group().shortfall
        checks.append(
            Check("all units at their targets when all move", shortfall <= 1e-6, shortfall)
        )
    return Verification(tuple(checks))


def _details(result: TargetsResult, radar: Any) -> dict[str, Any]:
    moving = result.moving
    use = result.group().use() if moving else pd.DataFrame()
    details: dict[str, Any] = {
        "rts": result.rts,
        "change": result.change,
        "cost": str(result.cost),
        "moving": len(moving),
        "there": sum(t.objective is not None and not t.changed for t in result),
        "use": use.reset_index().to_dict("records"),
        "mean_changed": float(np.mean([len(t.changed) for t in moving])) if moving else 0.0,
        "mean_distance": _distance(result),
        "notes": list(result.notes),
    }
    if result.change == "input" and len(result.names) == 2 and len(result) <= 60:
        units = result.benchmark.units
        level = units.Y[units.position(moving[0].unit)] if moving else units.Y[0]
        details["isoquant"] = {
            "names": list(result.names),
            "points": units.X,
            "labels": [str(v) for v in units.labels],
            "curve": isoquant(result.benchmark, level),
            "arrows": {str(t.unit): [t.now, t.values] for t in moving},
        }
    if radar is not None:
        target = result[radar]
        if target.values is not None:
            now = np.where(target.now > 0, target.now, 1.0)
            details["radar"] = {
                "unit": str(radar),
                "names": list(target.names),
                "shares": target.values / now,
            }
    return details


def _distance(result: TargetsResult) -> float:
    """Return the mean Euclidean length of the relative changes of the units that move."""
    moved = [str(t.unit) for t in result.moving]
    if not moved:
        return 0.0
    table = result.relative()
    table.index = table.index.map(str)
    values = table.loc[moved].replace([np.inf, -np.inf], np.nan).to_numpy(dtype=float)
    return float(np.mean(np.sqrt(np.nansum(values**2, axis=1))))


def _table(result: TargetsResult) -> pd.DataFrame:
    """Return one row for each unit: values before and after, and the relative change."""
    relative = result.relative().to_numpy(dtype=float)
    columns: dict[str, Any] = {
        "row": [str(t.unit) for t in result],
        "flipped": [t.values is not None for t in result],
        "cost": [np.nan if t.objective is None else t.objective for t in result],
        "before": [t.before for t in result],
        "after": [np.nan if t.efficiency is None else t.efficiency for t in result],
    }
    for j, name in enumerate(result.names):
        now = np.array([t.now[j] for t in result])
        new = np.array([t.now[j] if t.values is None else t.values[j] for t in result])
        columns |= {f"from {name}": now, f"to {name}": new, f"diff {name}": relative[:, j]}
    return pd.DataFrame(columns)
