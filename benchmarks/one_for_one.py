"""Exact methods of one-for-one against the reference formulation: linear scores and forests.

Both solve the same problems side by side on one thread, in turns, and the median counts. The
exact method is charged everything but the one-time compilation; the reference formulation
only the solver's own time, without building and translating the model, and it may stop at a
relative gap of 1e-6. Run

    python benchmarks/one_for_one.py --time-limit 120 --runs 5
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from groupcf.classifiers import as_score, train
from groupcf.costs import Cost
from groupcf.datasets import load, train_test_rows
from groupcf.exact.feature_search import solve_one_for_one
from groupcf.formulations.one_for_one import build
from groupcf.problems import OneForOne, Problem
from groupcf.solution import GAP_TOLERANCE, Status
from groupcf.solvers import solve

TEN = {
    "boston": [9, 49, 60, 154, 312, 373, 386, 398, 426, 496],
    "credit": [1107, 1860, 3160, 4278, 6810, 7177, 14443, 16500, 24211, 26881],
}
"""The ten published instances of each data set, by row."""

SETTINGS = [
    ("boston", "one", "lam_ind 0.02", OneForOne(), Cost(lam_ind=0.02)),
    ("boston", "ten", "lam_glob 0.2", OneForOne(), Cost(lam_glob=0.2)),
    ("boston", "ten", "lam_ind 0.02", OneForOne(), Cost(lam_ind=0.02)),
    ("boston", "all", "F_max 2", OneForOne(f_max=2), Cost()),
    ("boston", "all", "F_max 5", OneForOne(f_max=5), Cost()),
    ("boston", "all", "S* 95 %, lam_glob 0.1", OneForOne(s_star=0), Cost(lam_glob=0.1)),
    ("boston", "all", "S* 95 %, lam_glob 10", OneForOne(s_star=0), Cost(lam_glob=10.0)),
    ("credit", "ten", "lam_glob 0.2", OneForOne(), Cost(lam_glob=0.2)),
    ("credit", "ten", "lam_ind 0.02", OneForOne(), Cost(lam_ind=0.02)),
    ("credit", "all", "F_max 5", OneForOne(f_max=5), Cost()),
    ("credit", "all", "S* 95 %, lam_glob 10", OneForOne(s_star=0), Cost(lam_glob=10.0)),
]


@dataclass(frozen=True)
class Measured:
    """Median seconds, value, bound and outcome of one method on one problem."""

    seconds: float
    objective: float | None
    bound: float | None
    status: Status


@cache
def group(dataset: str, which: str, classifier: str) -> Problem:
    """Return the published classifier's problem for ten or all of its negatives."""
    data = load(dataset)
    rows, _ = train_test_rows(data, 0.33)
    estimator = train(classifier, data.X[rows], data.y[rows])
    score = as_score(estimator, data.space, positive=1)
    threshold = score.link.threshold(0.5)
    negative = np.flatnonzero(score.decision(data.X) < threshold)
    chosen = {"one": negative[:1], "ten": np.array(TEN[dataset]), "all": negative}[which]
    return Problem(data.space, score, data.X[chosen], threshold)


def problems(
    datasets: list[str], groups: list[str], classifier: str
) -> Iterator[tuple[str, Problem]]:
    """Yield a label and a problem for every setting."""
    for dataset, which, label, allocation, cost in SETTINGS:
        if dataset not in datasets or which not in groups:
            continue
        problem = group(dataset, which, classifier)
        if "S*" in label:
            s_star = math.ceil(0.95 * problem.n_instances)
            allocation = replace(allocation, s_star=s_star)
        name = f"{dataset}, {problem.n_instances} instances, {label}"
        yield name, replace(problem, allocation=allocation, cost=cost)


def measure(
    problem: Problem, solver: str, time_limit: float, runs: int
) -> tuple[Measured, Measured]:
    """Solve a problem in turns with both; a reference solve out of time is not repeated."""
    exact_seconds, reference_seconds = [], []
    for _ in range(runs):
        exact = solve_one_for_one(problem)
        exact_seconds.append(exact.seconds)
        if reference_seconds and reference_seconds[-1] >= time_limit:
            continue
        reference = solve(
            build(problem),
            solver=solver,
            time_limit=time_limit,
            gap=GAP_TOLERANCE,
            # where SCIP outstays its time limit, only a process of its own can be stopped
            isolate=problem.n_instances > 1000,
        )
        reference_seconds.append(reference.phases["solve"])
    return (
        Measured(statistics.median(exact_seconds), exact.objective, exact.bound, exact.status),
        Measured(
            statistics.median(reference_seconds),
            reference.objective,
            reference.bound,
            reference.status,
        ),
    )


def number(value: float | None, form: str) -> str:
    """Format a number that may be missing."""
    return "-" if value is None else format(value, form)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a reference solve")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--solver", default="scip")
    parser.add_argument(
        "--groups", nargs="+", default=["ten", "all"], choices=["one", "ten", "all"]
    )
    parser.add_argument(
        "--classifier", default="logistic", choices=["logistic", "random_forest", "xgboost"]
    )
    parser.add_argument("--datasets", nargs="+", default=["boston", "credit"], choices=list(TEN))
    options = parser.parse_args()
    for dataset in options.datasets:
        solve_one_for_one(
            group(dataset, "ten", options.classifier)
        )  # compile before the clock starts
    print(
        f"| problem | exact s | {options.solver} s | ratio | exact value | {options.solver} value |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for name, problem in problems(options.datasets, options.groups, options.classifier):
        exact, reference = measure(problem, options.solver, options.time_limit, options.runs)
        proven = reference.status in (Status.OPTIMAL, Status.INFEASIBLE)
        ratio = f"{'' if proven else '> '}{reference.seconds / exact.seconds:.0f}"
        value = number(reference.objective, ".4f")
        if not proven:
            value += f" (bound {number(reference.bound, '.4f')})"
        print(
            f"| {name} | {exact.seconds:.4f} | {reference.seconds:.2f} | {ratio} "
            f"| {number(exact.objective, '.4f')} | {value} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
