"""One-for-one of tree ensembles: threshold cells = enumeration, and as the estimator says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from xgboost import XGBClassifier

from groupcf.classifiers import Classifier
from groupcf.costs import Cost
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.cells import GroupCells
from groupcf.exact.feature_search import pareto_f_max, solve_one_for_one
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.formulations.one_for_one import solve_reference
from groupcf.problems import OneForOne, Problem
from groupcf.router import solve
from groupcf.solution import Status
from groupcf.verify import verify

quick = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

MODELS = {
    "forest": lambda s: RandomForestClassifier(7, max_depth=3, random_state=s),
    "extra": lambda s: ExtraTreesClassifier(7, max_depth=3, random_state=s),
    "gradient": lambda s: GradientBoostingClassifier(n_estimators=7, max_depth=2, random_state=s),
    "histogram": lambda s: HistGradientBoostingClassifier(
        max_iter=7, min_samples_leaf=5, max_depth=3, random_state=s
    ),
    "xgboost": lambda s: XGBClassifier(n_estimators=7, max_depth=3, n_jobs=1, random_state=s),
}


def random_feature(j, rng, unit):
    """One feature of a random kind, with random restrictions."""
    common = {"actionable": rng.random() > 0.12, "weight": rng.choice([1.0, 0.4, 2.5])}
    direction = rng.choice(["any", "any", "increasing", "decreasing"])
    kind = rng.choice(
        ["numerical", "numerical", "listed", "integer", "binary", "ordinal", "nominal"]
    )
    if kind == "numerical":
        return Feature(f"x{j}", Kind.NUMERICAL, -2 * unit, 3 * unit, direction=direction, **common)
    if kind == "listed":
        allowed = tuple(rng.choice([0.1, 0.35, 0.6, 0.9], 3, replace=False))
        return Feature(
            f"l{j}", Kind.NUMERICAL, 0, 1, allowed=allowed, direction=direction, **common
        )
    if kind == "integer":
        allowed = None if rng.random() < 0.7 else (0, 2, 3)
        return Feature(
            f"n{j}", Kind.INTEGER, 0, 9, scale=9, allowed=allowed, direction=direction, **common
        )
    if kind == "binary":
        return Feature(
            f"b{j}", Kind.BINARY, categories=("no", "yes"), direction=direction, **common
        )
    if kind == "ordinal":
        return Feature(
            f"o{j}", Kind.ORDINAL, categories=("s", "m", "l", "xl"), codes=(0.0, 1.0, 1.5, 4.0),
            scale=4.0, direction=direction, **common,
        )  # fmt: skip
    allowed = None if rng.random() < 0.7 else ("u", "w")
    return Feature(f"c{j}", Kind.NOMINAL, categories=("u", "v", "w"), allowed=allowed, **common)


def random_row(space, rng):
    row = []
    for f in space.features:
        if f.kind is Kind.NUMERICAL:
            row.append([rng.uniform(f.lower, f.upper)])
        elif f.kind is Kind.INTEGER:
            row.append([rng.integers(f.lower, f.upper + 1) / f.scale])
        elif f.kind is Kind.NOMINAL:
            row.append(np.eye(f.width)[rng.integers(f.width)])
        else:
            codes = list(f.codes or range(len(f.categories)))
            row.append([codes[rng.integers(len(codes))] / f.scale])
    return np.concatenate(row)


def fitted(kind, seed, unit, n_features, vote="soft"):
    """A random feature space, rows in it, and a classifier fitted on them."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace(tuple(random_feature(j, rng, unit) for j in range(n_features)))
    X = np.array([random_row(space, rng) for _ in range(80)])
    spread = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    y = (spread @ rng.normal(size=X.shape[1]) + rng.normal(0, 0.5, len(X)) > 0.4).astype(int)
    y[:2] = [0, 1]
    return space, X, Classifier(MODELS[kind](seed % 1000).fit(X, y), space, 1, vote=vote), rng


@st.composite
def problems(draw):
    kind = draw(st.sampled_from(sorted(MODELS)))
    seed, unit = draw(st.integers(0, 10**6)), draw(st.sampled_from([1.0, 1e-3, 1e3]))
    n = draw(st.integers(1, 4))
    space, X, classifier, rng = fitted(kind, seed, unit, n)
    s = draw(st.integers(1, 3))
    X0 = X[rng.permutation(len(X))[:s]]
    highest = classifier.score.decision(X).max()
    threshold = float(rng.uniform(classifier.score.decision(X0).max(), highest))
    maybe = st.none() | st.integers(0, n)
    return Problem(
        space,
        classifier.score,
        X0,
        threshold - 1e-5,  # beyond what single precision leaves open
        OneForOne(
            s_star=draw(st.none() | st.integers(0, s)),
            f_max=draw(maybe),
            max_changed=draw(maybe),
        ),
        Cost(
            draw(st.sampled_from(["l2_squared", "l1"])),
            draw(st.sampled_from([0.0, 0.0, 0.03, 0.4])),
            draw(st.sampled_from([0.0, 0.0, 0.1, 1.0])),
        ),
    )


# -- enumeration, written from the problem statement alone --------------------------------


def candidates(problem, s, j):
    """Blocks that feature j of instance s may take: values nearest to every threshold."""
    space, x0 = problem.space, problem.instances[s]
    feature, block = space.features[j], space.blocks[j]
    if feature.kind is Kind.NOMINAL:
        blocks = list(np.eye(feature.width))
    elif feature.discrete:
        if feature.kind is Kind.INTEGER:
            raw = np.arange(feature.lower, feature.upper + 1)
        elif feature.kind is Kind.NUMERICAL:
            raw = np.array(feature.allowed)
        else:
            raw = np.array(feature.codes or range(len(feature.categories)), dtype=float)
        blocks = [[(v - feature.offset) / feature.scale] for v in raw]
    else:
        left, right = problem.score.neighbours(block.start)
        blocks = [[v] for v in np.concatenate([left, right, [feature.lower, feature.upper]])]
    out = [x0[block]]
    for values in blocks:
        x = x0.copy()
        x[block] = values
        if space.changed(x0, x)[0, j] and not space.violations(x0, x, 0.0):
            out.append(x[block])
    return out


def cheapest_by_support(problem, s):
    space, x0 = problem.space, problem.instances[s]
    if problem.score.decision(x0[None])[0] >= problem.target:
        return {0: 0.0}
    choices = [candidates(problem, s, j) for j in range(space.n_features)]
    X = np.array([np.concatenate(p) for p in itertools.product(*choices)])
    X0 = np.repeat(x0[None], len(X), axis=0)
    changed = space.changed(X0, X)
    cost = problem.cost.distances(space, X0, X) + problem.cost.lam_ind * changed.sum(axis=1)
    limit = problem.allocation.max_changed
    keep = problem.score.decision(X) >= problem.target
    if limit is not None:
        keep &= changed.sum(axis=1) <= limit
    masks = changed @ (1 << np.arange(space.n_features))
    best: dict[int, float] = {}
    for mask, value in zip(masks[keep], cost[keep], strict=True):
        best[int(mask)] = min(best.get(int(mask), np.inf), value)
    return best


def enumerate_optimum(problem):
    tables = [cheapest_by_support(problem, s) for s in range(problem.n_instances)]
    n, best = problem.space.n_features, np.inf
    f_max = n if problem.allocation.f_max is None else problem.allocation.f_max
    for group in range(1 << n):
        if group.bit_count() > f_max:
            continue
        costs = sorted(
            min((c for mask, c in table.items() if mask & ~group == 0), default=np.inf)
            for table in tables
        )
        total = sum(costs[: problem.flips]) + problem.cost.lam_glob * group.bit_count()
        best = min(best, total)
    return best


def check_answer(problem, solution):
    space, X0 = problem.space, problem.instances
    served = solution.assignment >= 0
    assert served.sum() >= problem.flips
    X = X0.copy()
    X[served] = solution.counterfactuals[solution.assignment[served]]
    assert space.violations(X0, X) == []
    assert (problem.score.decision(X[served]) >= problem.threshold).all()
    assert solution.objective == pytest.approx(problem.cost.total(space, X0, X), abs=1e-12)
    assert solution.bound <= solution.objective


@quick
@given(problems())
def test_threshold_cells_agree_with_enumeration(problem):
    expected = enumerate_optimum(problem)
    solution = solve_one_for_one(problem)
    if np.isinf(expected):
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-9)
    check_answer(problem, solution)


@settings(parent=quick, max_examples=40)
@given(problems())
def test_reference_of_trees_agrees_with_threshold_cells(problem):
    exact, reference = solve_one_for_one(problem), solve_reference(problem)
    if exact.status is Status.INFEASIBLE:
        assert reference.status is Status.INFEASIBLE
        return
    assert reference.status is Status.OPTIMAL
    assert reference.objective == pytest.approx(exact.objective, rel=1e-4, abs=1e-5)
    served = reference.assignment >= 0
    X = reference.counterfactuals[served]
    assert (problem.score.decision(X) >= problem.threshold).all()
    assert problem.space.violations(problem.instances[served], X) == []


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", [*sorted(MODELS), "forest, hard vote"])
def test_the_estimator_confirms_every_counterfactual(kind, unit):
    """Two thousand pairs of model and instance in all, some exactly on a threshold."""
    pairs = 0
    for seed in range(4):
        name, _, vote = kind.partition(", ")
        space, X, classifier, rng = fitted(name, seed, unit, 5, "hard" if vote else "soft")
        score = classifier.score
        threshold = score.link.threshold(0.5)
        for f, block in zip(space.features, space.blocks, strict=True):
            cuts = score.thresholds(block.start)
            cuts = cuts[(cuts >= f.lower) & (cuts <= f.upper)]
            if f.kind is Kind.NUMERICAL and f.allowed is None and len(cuts):
                X[::3, block.start] = rng.choice(cuts, len(X[::3]))
        X0 = X[score.decision(X) < threshold][:30]
        problem = Problem(space, score, X0, threshold, OneForOne(), Cost(lam_ind=0.01))
        answer = solve(problem)
        if answer.status is Status.INFEASIBLE:
            stuck = answer.details["unreachable_rows"]
            X0 = np.delete(X0, stuck, axis=0)
            if not len(X0):
                continue
            problem = replace(problem, instances=X0)
            answer = solve(problem)
        assert answer.status is Status.OPTIMAL
        assert answer.method == "threshold cells"
        found = verify(problem, answer, classifier)
        assert found.ok, found.failed
        pairs += len(X0)
    assert pairs >= 60


def hard_problem(n=20, trees=150):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, n))
    y = (X[:, : n // 2].sum(axis=1) > 0).astype(int)
    space = FeatureSpace(tuple(Feature(f"x{j}", Kind.NUMERICAL, -5, 5) for j in range(n)))
    forest = RandomForestClassifier(trees, max_depth=5, random_state=0).fit(X, y)
    score = Classifier(forest, space, 1).score
    X0 = X[score.decision(X) < 0.25][:3]
    return Problem(space, score, X0, 0.5)


def test_out_of_time_keeps_a_valid_bound_and_what_was_found():
    problem = hard_problem()
    solution = solve_one_for_one(problem, time_limit=0.5)
    assert solution.status is Status.FEASIBLE
    assert 0 <= solution.bound < solution.objective
    check_answer(problem, solution)
    assert "time limit" in solution.message


def test_limited_effort_gives_a_lower_bound():
    cells = GroupCells(replace(hard_problem(8, 20), threshold=0.5))
    rows, free = np.arange(3), np.ones(8, dtype=bool)
    exact = cells.project(rows, free).cost
    limited = cells.project(rows, free, effort=20).cost
    assert (limited <= exact + 1e-12).all()
    assert (limited < exact - 1e-9).any()


def test_unreachable_rows_are_named():
    space, X, classifier, _ = fitted("forest", 5, 1.0, 3)
    frozen = FeatureSpace(tuple(replace(f, actionable=False) for f in space.features))
    X0 = X[classifier.score.decision(X) < 0.5][:2]
    solution = solve_one_for_one(Problem(frozen, classifier.score, X0, 0.5))
    assert solution.status is Status.INFEASIBLE
    assert solution.details["unreachable_rows"] == [0, 1]
    assert "row 0" in solution.message


def test_front_agrees_with_single_solves():
    problem = hard_problem(8, 20)
    front = pareto_f_max(problem, [1, 2, 3, 8])
    for f_max, solution in front.items():
        single = solve_one_for_one(replace(problem, allocation=OneForOne(f_max=f_max)))
        assert single.status is solution.status
        if solution.objective is not None:
            assert single.objective == pytest.approx(solution.objective)


def test_more_categories_than_bits_are_refused_by_name():
    names = tuple(f"c{k}" for k in range(70))
    space = FeatureSpace((Feature("town", Kind.NOMINAL, categories=names),))
    rng = np.random.default_rng(0)
    X = np.eye(70)[np.tile(np.arange(70), 6)]
    y = (rng.random(len(X)) < 0.5).astype(int)
    forest = ExtraTreesClassifier(60, random_state=0).fit(X, y)
    score = Classifier(forest, space, 1).score
    problem = Problem(space, score, X[:1], float(score.decision(X).max()))
    with pytest.raises(UnsupportedProblemError, match=r"town.*merge rare categories"):
        solve(problem)
