"""The fewest shared counterfactuals: pattern pricing with proof against the two published ways.

Every cell is solved on one thread by pattern pricing with proof, by column generation with MIP
pricing and by the plain MILP, one after the other. Ours is charged everything but the one-time
compilation and its median over several runs counts; the others run once, and what they have not
proven at the time limit counts as the limit (the ratio is then a lower bound). Run

    python benchmarks/sparse_one_for_many.py --time-limit 60
    python benchmarks/sparse_one_for_many.py --cells all --classifier network --only-ours

The second prints all published cells of a classifier and the time they take together,
compilation included. Students need the data mirror or the network.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import cache

from groupcf.classifiers import Classifier, train
from groupcf.datasets import load, train_test_rows
from groupcf.exact.sparse_one_for_many import solve_sparse
from groupcf.problems import OneForMany, Problem
from groupcf.solution import Solution, Status
from groupcf.verify import verify

J_MAX = {"compas_binned": (2, 3), "students_binned": (10, 15, 20), "german_binned": (5, 10, 15)}
"""The published limits on changed features."""
SIZES = (10, 20, 50, 100)
"""The published group sizes."""
CELLS = {
    "twenty": [(d, j, 20) for d, limits in J_MAX.items() for j in limits]
    + [("german_binned", j, 10) for j in (5, 10, 15)],
    "all": [(d, j, s) for d, limits in J_MAX.items() for j in limits for s in SIZES],
}


@cache
def classifier(dataset: str, name: str) -> Classifier:
    """Return a classifier of the study, trained on the half that is not explained."""
    data = load(dataset)
    fit, _ = train_test_rows(data, 0.5)
    if name == "network" and dataset == "compas_binned":
        name = "deep_network"
    return Classifier(train(name, data.X[fit], (data.y[fit] == 1).astype(int)), data.space, 1)


def cells(which: str, name: str) -> Iterator[tuple[str, Problem, Classifier]]:
    """Yield label, problem and classifier of every cell."""
    for dataset, limit, size in CELLS[which]:
        data = load(dataset)
        model = classifier(dataset, name)
        _, held = train_test_rows(data, 0.5)
        problem = Problem(
            data.space,
            model.score,
            data.X[held[:size]],
            model.score.link.threshold(0.5),
            OneForMany(max_changed=limit),
        )
        yield f"{dataset} J_max {limit}, S {size}", problem, model


def shown(solution: Solution, limit: float) -> str:
    """Write seconds, value and bound of a solution."""
    value = "–" if solution.objective is None else f"{solution.objective:.0f}"
    bound = "–" if solution.bound is None else f"{solution.bound:.0f}"
    mark = "" if solution.status is Status.OPTIMAL else f" (limit {limit:g} s)"
    return f"{solution.seconds:.3g}{mark} | {value} / {bound}"


def ratio(solution: Solution, ours: float, limit: float) -> str:
    """Write how many times longer a solution took; a lower bound without a proof."""
    if solution.status is Status.OPTIMAL:
        return f"{solution.seconds / ours:.0f}"
    return f"> {limit / ours:.0f}"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a solve")
    parser.add_argument("--runs", type=int, default=5, help="runs of ours")
    parser.add_argument("--solver", default="highs", help="of the other two")
    parser.add_argument("--cells", default="twenty", choices=list(CELLS))
    parser.add_argument(
        "--classifier",
        default="logistic",
        choices=["logistic", "network", "random_forest", "xgboost"],
    )
    parser.add_argument("--only-ours", action="store_true")
    options = parser.parse_args()
    limit = options.time_limit
    if options.only_ours:
        total = 0.0
        print("| cell | seconds | value / bound | verified |\n|---|---:|---:|---|")
        for label, problem, model in cells(options.cells, options.classifier):
            begin = time.perf_counter()
            solution = solve_sparse(problem, time_limit=limit)
            total += time.perf_counter() - begin
            checked = "yes" if verify(problem, solution, model).ok else "NO"
            print(f"| {label} | {shown(solution, limit)} | {checked} |", flush=True)
        print(f"\n{total:.1f} s together, compilation included where it was needed")
        return
    print(
        f"| cell | ours s | value / bound | MIP pricing ({options.solver}) s | value / bound "
        f"| ratio | plain MILP ({options.solver}) s | value / bound | ratio |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for label, problem, _ in cells(options.cells, options.classifier):
        solve_sparse(problem)  # compile before the clock starts
        runs = [solve_sparse(problem) for _ in range(options.runs)]
        ours = statistics.median(s.seconds for s in runs)
        others = [
            solve_sparse(problem, method=method, solver=options.solver, time_limit=limit)
            for method in ("mip_pricing", "milp")
        ]
        columns = [f"{shown(s, limit)} | {ratio(s, ours, limit)}" for s in others]
        first = f"{ours:.3g} | {runs[0].objective:.0f} / {runs[0].bound:.0f}"
        print(f"| {label} | {first} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    main()
