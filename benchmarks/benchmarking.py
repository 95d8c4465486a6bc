"""Efficiency targets and efficiencies: exact search against reference models and DEA packages.

Three tables, all on one core. First the speed of ours by itself, without imports: all targets of
267 units, one target among 10000, all efficiencies. Second, targets of the same units by exact
search and by the KKT and the bilinear model with an open solver, unit by unit in turns; what a
solver has not proven at the limit counts as the limit (the ratio is then a lower bound). Third,
efficiencies against packages that compute them (there is none for least-cost targets), in turns.
They want other versions of numpy and PuLP than groupcf, so they live in an environment of their
own, whose Python is named:

    python -m venv peers && peers/bin/pip install dealib Pyfrontier "pulp<3"
    python benchmarks/benchmarking.py --peers peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from groupcf.benchmarking import Benchmark
from groupcf.datasets.units import UNITS, load_units, synthetic_branches

COSTS = ("l0+(l2)", "l0+l2", "l2")
GOALS = (0.8, 1.0)

PEER = """
import json, sys, time
import numpy as np
data, name, rts = np.load(sys.argv[1]), sys.argv[2], sys.argv[3]
x, y = data["x"], data["y"]
if name == "dealib":
    import dealib
    begin = time.perf_counter()
    values = dealib.dea(x, y, rts=rts, orientation="input").eff
else:
    from Pyfrontier.frontier_model import EnvelopDEA
    model = EnvelopDEA(rts.upper(), "in")
    begin = time.perf_counter()
    model.fit(x, y)
    values = [unit.score for unit in model.result]
print(json.dumps([time.perf_counter() - begin, [float(v) for v in values]]))
"""
"""What a peer is timed by: the call alone, in its own process, without the import."""


def branches(count: int) -> pd.DataFrame:
    """Return invented branches; 267 are those of the study."""
    return load_units("branches_synthetic").frame if count == 267 else synthetic_branches(count)


def benchmark(frame: pd.DataFrame, rts: str, name: str = "branches_synthetic") -> Benchmark:
    """Return a technology that has computed nothing yet."""
    inputs, outputs = UNITS[name]
    return Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)


def speed(runs: int) -> None:
    """Print how long ours takes."""
    benchmark(branches(267).head(40), "vrs").targets(target=0.9)  # compile before the clock starts
    print("| task | seconds, median | of runs |\n|---|---:|---:|")
    for rts in ("crs", "vrs"):
        seconds, solves = [], 0
        for _ in range(runs):
            technology, begin = benchmark(branches(267), rts), time.perf_counter()
            results = [
                technology.targets(target=goal, cost=cost, scale="own")
                for goal in GOALS
                for cost in COSTS
            ]
            seconds.append(time.perf_counter() - begin)
            solves = sum(len(result.moving) for result in results)
            assert all(result.verified for result in results), "a target that does not verify"
        label = f"267 x (5+3), {rts}: {solves} targets ({', '.join(COSTS)}; E* 0.8 and 1)"
        print(f"| {label} | {statistics.median(seconds):.2f} | {runs} |", flush=True)
    large = branches(10000)
    for rts in ("crs", "vrs"):
        seconds = []
        for _ in range(runs):
            technology, begin = benchmark(large, rts), time.perf_counter()
            values = technology.efficiency()
            seconds.append(time.perf_counter() - begin)
        label = f"10000 x (5+3), {rts}: all efficiencies"
        print(f"| {label} | {statistics.median(seconds):.2f} | {runs} |", flush=True)
        poor = values.index[values < 0.8][:50]
        technology.targets(target=0.8, cost="l0+l2", scale="own", units=poor[:1])
        single = []
        for unit in poor:
            begin = time.perf_counter()
            technology.targets(target=0.8, cost="l0+l2", scale="own", units=[unit])
            single.append(time.perf_counter() - begin)
        label = f"10000 x (5+3), {rts}: one target (E* 0.8, l0+l2)"
        print(f"| {label} | {statistics.median(single):.4f} | {len(poor)} units |", flush=True)


def against_references(units: int, limit: float, solvers: dict[str, str]) -> None:
    """Print targets by exact search and by the reference models."""
    technology = benchmark(branches(267), "crs")
    poor = technology.efficiency()
    labels = poor.index[poor < 0.8][:units]
    print("\n| cost | exact s a unit |", end="")
    for method, solver in solvers.items():
        print(f" {method} ({solver}) s a unit | proven | ratio | worst value above ours |", end="")
    print("\n|---|---:|" + "---:|---:|---:|---:|" * len(solvers))
    for cost in ("l1", "l0+l2", "l2"):
        rows: dict[str, list[tuple[float, bool, float]]] = {"exact": []}
        for label in labels:
            asked = {"target": 0.8, "cost": cost, "scale": "own", "units": [label]}
            begin = time.perf_counter()
            (exact,) = technology.targets(**asked)
            rows["exact"].append((time.perf_counter() - begin, True, 0.0))
            for method, solver in solvers.items():
                begin = time.perf_counter()
                (other,) = technology.targets(
                    **asked, method=method, solver=solver, time_limit=limit
                )
                took = time.perf_counter() - begin
                proven = other.status.value == "optimal"
                above = np.nan
                if other.objective is not None:
                    above = other.objective / exact.objective - 1.0
                rows.setdefault(method, []).append((took, proven, above))
        ours = statistics.median(t for t, _, _ in rows["exact"])
        line = f"| {cost} | {ours:.4f} |"
        for method in solvers:
            theirs = statistics.median(t for t, _, _ in rows[method])
            count = sum(p for _, p, _ in rows[method])
            mark = "" if 2 * count > len(labels) else "> "
            values = [a for _, _, a in rows[method]]
            worst = "–" if np.all(np.isnan(values)) else f"{100 * np.nanmax(values):.1f} %"
            line += f" {theirs:.3g} | {count} of {len(labels)} | {mark}{theirs / ours:.0f} |"
            line += f" {worst} |"
        print(line, flush=True)


def against_peers(python: Path | None, runs: int) -> None:
    """Print efficiencies of ours and of other packages."""
    if python is None:
        print("\nother DEA packages: not measured (--peers names the Python that has them)")
        return
    sets = {"banks1 (247 x 3+3)": ("banks1", load_units("banks1").frame)}
    sets |= {f"branches ({n} x 5+3)": ("branches_synthetic", branches(n)) for n in (100, 267)}
    print("\n| units | ours s |", end="")
    peers = ("dealib", "Pyfrontier")
    for peer in peers:
        print(f" {peer} s | ratio | largest difference |", end="")
    print("\n|---|---:|" + "---:|---:|---:|" * len(peers))
    for label, (name, frame) in sets.items():
        for rts in ("crs", "vrs"):
            ours: list[float] = []
            theirs: dict[str, list[float]] = {peer: [] for peer in peers}
            differ: dict[str, float] = {}
            for _ in range(runs):
                technology, begin = benchmark(frame, rts, name), time.perf_counter()
                values = technology.efficiency()
                ours.append(time.perf_counter() - begin)
                for peer in peers:
                    took, found = run_peer(python, peer, rts, name, frame)
                    theirs[peer].append(took)
                    differ[peer] = float(np.max(np.abs(np.array(found) - values.to_numpy())))
            mine = statistics.median(ours)
            line = f"| {label}, {rts} | {mine:.4f} |"
            for peer in peers:
                other = statistics.median(theirs[peer])
                line += f" {other:.2f} | {other / mine:.0f} | {differ[peer]:.1g} |"
            print(line, flush=True)


def run_peer(
    python: Path, peer: str, rts: str, name: str, frame: pd.DataFrame
) -> tuple[float, list[float]]:
    """Run a package in its own environment."""
    inputs, outputs = UNITS[name]
    x, y = (frame[list(goods)].to_numpy(dtype=float) for goods in (inputs, outputs))
    with tempfile.TemporaryDirectory() as home:
        np.savez(Path(home) / "units.npz", x=x, y=y)
        bare = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [str(python), "-W", "ignore", "-c", PEER, f"{home}/units.npz", peer, rts],
            capture_output=True,
            text=True,
            env=bare,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{peer} failed in {python}:\n{done.stderr}")
    took, found = json.loads(done.stdout.strip().splitlines()[-1])
    return took, found


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds a reference solve")
    parser.add_argument("--units", type=int, default=6, help="of the comparison of targets")
    parser.add_argument("--kkt", default="scip", help="solver of the KKT model")
    parser.add_argument("--peers", type=Path, help="Python with dealib and Pyfrontier")
    options = parser.parse_args()
    speed(options.runs)
    against_references(options.units, options.time_limit, {"kkt": options.kkt, "bilinear": "scip"})
    against_peers(options.peers, min(options.runs, 3))


if __name__ == "__main__":
    main()
