"""One-for-one of a linear score: exact method = reference formulation = enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from groupcf.classifiers.scores import LinearScore
from groupcf.costs import Cost
from groupcf.exact import feature_tree, projection
from groupcf.exact.feature_bounds import priced_bound
from groupcf.exact.feature_costs import GroupCosts
from groupcf.exact.feature_search import pareto_f_max, solve_one_for_one
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.formulations.one_for_one import build, solve_reference
from groupcf.problems import OneForOne, Problem
from groupcf.solution import Status

quick = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
KINDS = ["numerical", "listed", "integer", "long", "binary", "ordinal", "nominal"]


@st.composite
def features(draw, j):
    kind = draw(st.sampled_from(KINDS))
    common = {
        "actionable": draw(st.integers(0, 6)) > 0,
        "weight": draw(st.sampled_from([1.0, 1.0, 0.4, 2.5])),
    }
    direction = draw(st.sampled_from(["any", "any", "increasing", "decreasing"]))
    if kind == "numerical":
        return Feature(
            f"x{j}", Kind.NUMERICAL, -2, 3, offset=-2, scale=5, direction=direction, **common
        )
    if kind == "listed":
        allowed = tuple(draw(st.lists(st.sampled_from([0.1, 0.35, 0.6, 0.9]), max_size=3)))
        return Feature(
            f"l{j}", Kind.NUMERICAL, 0, 1, allowed=allowed, direction=direction, **common
        )
    if kind in ("integer", "long"):
        top = 4 if kind == "integer" else 45
        allowed = draw(st.sampled_from([None, (0, 2, 3)]))
        return Feature(
            f"n{j}", Kind.INTEGER, 0, top, scale=top, allowed=allowed, direction=direction, **common
        )
    if kind == "binary":
        return Feature(
            f"b{j}", Kind.BINARY, categories=("no", "yes"), direction=direction, **common
        )
    if kind == "ordinal":
        allowed = draw(st.sampled_from([None, ("s", "l")]))
        return Feature(
            f"o{j}",
            Kind.ORDINAL,
            categories=("s", "m", "l", "xl"),
            codes=draw(st.sampled_from([(), (0.0, 1.0, 1.5, 4.0)])),
            scale=draw(st.sampled_from([1.0, 4.0])),
            allowed=allowed,
            direction=direction,
            **common,
        )
    allowed = draw(st.sampled_from([None, ("u", "w")]))
    return Feature(f"c{j}", Kind.NOMINAL, categories=("u", "v", "w"), allowed=allowed, **common)


def random_row(feature, rng):
    if feature.kind is Kind.NUMERICAL:
        raw = rng.uniform(feature.lower, feature.upper)
        return [(raw - feature.offset) / feature.scale]
    if feature.kind is Kind.INTEGER:
        return [rng.integers(feature.lower, feature.upper + 1) / feature.scale]
    if feature.kind is Kind.NOMINAL:
        return np.eye(feature.width)[rng.integers(feature.width)]
    codes = feature.codes or range(len(feature.categories))
    return [(list(codes)[rng.integers(len(feature.categories))] - feature.offset) / feature.scale]


@st.composite
def problems(draw, most_features=4, most_instances=4):
    n, s = draw(st.integers(1, most_features)), draw(st.integers(1, most_instances))
    space = FeatureSpace(tuple(draw(features(j)) for j in range(n)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X0 = np.array([np.concatenate([random_row(f, rng) for f in space.features]) for _ in range(s)])
    w = rng.normal(size=space.n_columns) * rng.choice([0.3, 1.0, 3.0], size=space.n_columns)
    score = LinearScore(w, float(rng.normal()))
    threshold = float(score.decision(X0).max() + rng.uniform(-0.5, 1.0))
    maybe = st.none() | st.integers(0, n)
    return Problem(
        space,
        score,
        X0,
        threshold,
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


def continuous_cost(need, pieces, power):
    """Least sum of a |u|^power with sum of w u >= need, u in [lo, hi]; inf if impossible."""
    if need <= 0:
        return 0.0
    if sum(max(w * lo, w * hi) for w, _, lo, hi in pieces) < need:
        return np.inf
    if power == 1:
        total = 0.0
        for w, a, lo, hi in sorted(pieces, key=lambda p: p[1] / max(abs(p[0]), 1e-300)):
            take = min(need, max(w * lo, w * hi))
            total, need = total + a * take / max(abs(w), 1e-300), need - take
            if need <= 0:
                break
        return total

    def moves(multiplier):
        return [float(np.clip(multiplier * w / (2 * a), lo, hi)) for w, a, lo, hi in pieces]

    def excess(multiplier):
        return sum(p[0] * u for p, u in zip(pieces, moves(multiplier), strict=True)) - need

    top = 1.0
    while excess(top) < 0:
        top *= 4
    u = moves(brentq(excess, 0, top, xtol=1e-14, rtol=1e-14))
    return sum(p[1] * v * v for p, v in zip(pieces, u, strict=True))


def candidates(problem, s, j):
    """Encoded blocks that feature j of instance s may take instead of its own."""
    space, x0 = problem.space, problem.instances[s]
    feature, block = space.features[j], space.blocks[j]
    if feature.kind is Kind.NOMINAL:
        blocks = list(np.eye(feature.width))
    else:
        if feature.kind is Kind.INTEGER:
            raw = np.arange(feature.lower, feature.upper + 1)
        elif feature.kind is Kind.NUMERICAL:
            raw = np.array(feature.allowed)
        else:
            raw = np.array(feature.codes or range(len(feature.categories)), dtype=float)
        blocks = [[(v - feature.offset) / feature.scale] for v in raw]
    out = []
    for values in blocks:
        x = x0.copy()
        x[block] = values
        if space.changed(x0, x)[0, j] and not space.violations(x0, x):
            out.append(x)
    return out


def cheapest_by_support(problem, s):
    """Least cost of instance s for every set of changed features (as a bit mask)."""
    space, x0 = problem.space, problem.instances[s]
    power = 2 if problem.cost.gauge == "l2_squared" else 1
    need = problem.target - problem.score.decision(x0[None])[0]
    if need <= 0:
        return {0: 0.0}
    choices = []
    for j, (feature, block) in enumerate(zip(space.features, space.blocks, strict=True)):
        if feature.kind is Kind.NUMERICAL and feature.allowed is None:
            lo, hi = 0.0, 0.0
            if feature.actionable:
                bounds = (np.array([feature.lower, feature.upper]) - feature.offset) / feature.scale
                lo = 0.0 if feature.direction == "increasing" else bounds[0] - x0[block.start]
                hi = 0.0 if feature.direction == "decreasing" else bounds[1] - x0[block.start]
            choices.append([None, (problem.score.weights[block.start], feature.weight, lo, hi)])
        else:
            options = []
            for x in candidates(problem, s, j):
                gain = (problem.score.decision(x[None]) - problem.score.decision(x0[None]))[0]
                options.append((gain, problem.cost.distances(space, x0, x)[0]))
            choices.append([None, *options])
    limit = problem.allocation.max_changed
    limit = space.n_features if limit is None else limit
    best: dict[int, float] = {}
    for pick in itertools.product(*choices):
        mask = sum(1 << j for j, p in enumerate(pick) if p is not None)
        if mask.bit_count() > limit:
            continue
        gain = sum(p[0] for p in pick if p is not None and len(p) == 2)
        cost = sum(p[1] for p in pick if p is not None and len(p) == 2)
        pieces = [p for p in pick if p is not None and len(p) == 4]
        cost += problem.cost.lam_ind * mask.bit_count()
        if cost < best.get(mask, np.inf):
            cost += continuous_cost(need - gain, pieces, power)
            best[mask] = min(best.get(mask, np.inf), cost)
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


# -- checks -------------------------------------------------------------------------------


def check_answer(problem, solution):
    """Everything a solution promises, from its counterfactuals alone."""
    space, X0 = problem.space, problem.instances
    served = solution.assignment >= 0
    assert served.sum() >= problem.flips
    X = X0.copy()
    X[served] = solution.counterfactuals[solution.assignment[served]]
    assert space.violations(X0, X) == []
    assert (problem.score.decision(X[served]) >= problem.threshold).all()
    changed = space.changed(X0, X)
    if problem.allocation.f_max is not None:
        assert changed.any(axis=0).sum() <= problem.allocation.f_max
    if problem.allocation.max_changed is not None:
        assert changed.sum(axis=1).max() <= problem.allocation.max_changed
    assert solution.objective == pytest.approx(problem.cost.total(space, X0, X), abs=1e-12)
    assert solution.bound <= solution.objective
    names = [space.names[j] for j in np.flatnonzero(changed.any(axis=0))]
    assert solution.details["features"] == names
    assert solution.details["outliers"] == np.flatnonzero(~served).tolist()


def check_exact(problem, expected):
    solution = solve_one_for_one(problem)
    if np.isinf(expected):
        assert solution.status is Status.INFEASIBLE
        assert solution.counterfactuals is None
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert solution.gap == 0
    check_answer(problem, solution)


@quick
@given(problems())
def test_exact_agrees_with_enumeration(problem):
    check_exact(problem, enumerate_optimum(problem))


@pytest.mark.parametrize("gauge", ["l1", "l2_squared"])
def test_rounding_leaves_no_category_half_taken(gauge):
    space = FeatureSpace(
        (
            Feature("b", Kind.BINARY, categories=("no", "yes"), weight=3.0),
            Feature("x", Kind.NUMERICAL, 0, 1),
            Feature("y", Kind.NUMERICAL, 0, 1),
        )
    )
    rng = np.random.default_rng(3)
    X0 = np.column_stack([np.zeros(400), rng.random((400, 2))])
    problem = Problem(
        space, LinearScore(np.array([2.0, 0.0123, 1.1]), 0.0), X0, 2.3, cost=Cost(gauge)
    )
    check_exact(problem, sum(min(cheapest_by_support(problem, s).values()) for s in range(400)))


@pytest.mark.parametrize("simple", [0, 1])
@settings(quick, max_examples=60)
@given(problem=problems())
def test_pricing_of_features_changes_nothing(problem, simple, monkeypatch):
    expected = enumerate_optimum(problem)
    with monkeypatch.context() as patched:
        patched.setattr(feature_tree, "QUICK_NODES", simple - problem.n_instances // 2)
        patched.setattr(feature_tree, "STAGES", ((20, simple),))
        check_exact(problem, expected)


@settings(quick, max_examples=300)
@given(
    problem=problems(most_features=5, most_instances=6),
    state=st.lists(st.sampled_from(["in", "open", "open", "open", "out"]), min_size=5, max_size=5),
    slack=st.sampled_from([0.0, 0.05, 0.5]),
)
def test_pricing_bounds_and_decides_truly(problem, state, slack):
    group = GroupCosts(problem)
    n = problem.space.n_features
    inside = np.array([s == "in" for s in state[:n]])
    allowed = np.array([s != "out" for s in state[:n]])
    f_max = n if problem.allocation.f_max is None else problem.allocation.f_max
    values = {}
    for pick in itertools.product([False, True], repeat=n):
        chosen = np.array(pick)
        if (inside <= chosen).all() and (chosen <= allowed).all() and chosen.sum() <= f_max:
            costs = group.evaluate(chosen)
            total = costs.value + problem.cost.lam_glob * chosen.sum()
            values[pick] = (total, bool((costs.features == chosen).all()))
    least = min((total for total, _ in values.values()), default=np.inf)
    everything = group.evaluate(allowed)
    if not np.isfinite(everything.value):
        return
    upper = least * (1 + slack) + 1e-6
    found = priced_bound(
        group,
        everything,
        inside,
        allowed,
        f_max=f_max,
        lam_glob=problem.cost.lam_glob,
        upper=upper,
        prices=None,
        iterations=25,
    )
    assert found.value <= least * (1 + 1e-9) + 1e-9
    for pick, (total, tight) in values.items():
        if tight and total < upper - 1e-9:
            assert (found.must <= np.array(pick)).all()
            assert not (found.never & np.array(pick)).any()


@pytest.mark.parametrize("seed", range(12))
def test_search_agrees_with_all_feature_sets(seed, monkeypatch):
    # without its heuristic, the search lives on its bounds
    monkeypatch.setattr(feature_tree.FeatureTree, "_eliminate", lambda *_: None)
    rng = np.random.default_rng(seed)
    n, s = 9, 12
    space = FeatureSpace(
        tuple(
            Feature(f"b{j}", Kind.BINARY, categories=(0, 1))
            if j < 3
            else Feature(f"x{j}", Kind.NUMERICAL, 0, 1)
            for j in range(n)
        )
    )
    w = rng.normal(size=n)
    X = np.hstack([rng.integers(0, 2, (4 * s, 3)), rng.random((4 * s, n - 3))])
    score = LinearScore(w, -float(np.quantile(X @ w, 0.6)))
    X = X[score.decision(X) < 0][:s]
    for allocation, lam_glob in (
        (OneForOne(), 0.02),
        (OneForOne(), 0.2),
        (OneForOne(s_star=9), 0.05),
        (OneForOne(f_max=3), 0.0),
        (OneForOne(f_max=4, s_star=10), 0.01),
    ):
        problem = Problem(space, score, X, 0.0, allocation, Cost(lam_glob=lam_glob))
        group = GroupCosts(problem)
        best = np.inf
        for pick in itertools.product([False, True], repeat=n):
            chosen = np.array(pick)
            if chosen.sum() <= (n if allocation.f_max is None else allocation.f_max):
                best = min(best, group.evaluate(chosen).value + lam_glob * chosen.sum())
        check_exact(problem, best)


@settings(quick, max_examples=80)
@given(problem=problems(most_features=3))
def test_walking_integers_in_steps_changes_nothing(problem, monkeypatch):
    listed = solve_one_for_one(problem)
    with monkeypatch.context() as patched:
        patched.setattr(projection, "LONGEST_LIST", 0)
        stepped = solve_one_for_one(problem)
    assert stepped.status is listed.status
    if listed.objective is not None:
        assert stepped.objective == pytest.approx(listed.objective, rel=1e-9, abs=1e-9)
        check_answer(problem, stepped)


@settings(quick, max_examples=60)
@given(problems())
def test_front_agrees_with_single_solves(problem):
    n = problem.space.n_features
    front = pareto_f_max(problem, range(n + 1))
    assert list(front) == list(range(n + 1))
    for f_max, solution in front.items():
        limited = replace(problem, allocation=replace(problem.allocation, f_max=f_max))
        single = solve_one_for_one(limited)
        assert solution.status is single.status
        if single.objective is not None:
            assert solution.objective == pytest.approx(single.objective, rel=1e-9, abs=1e-9)
            check_answer(limited, solution)
        elif "least_f_max" in solution.details:
            least = solution.details["least_f_max"]
            assert front[least].status is Status.OPTIMAL
            assert front[least - 1].status is Status.INFEASIBLE


@settings(quick, max_examples=60)
@given(problems(most_features=4, most_instances=3))
def test_reference_formulation_agrees(problem):
    exact, reference = solve_one_for_one(problem), solve_reference(problem, solver="scip")
    assert reference.status is exact.status
    if exact.objective is not None:
        assert reference.objective == pytest.approx(exact.objective, rel=1e-6, abs=2e-6)
        assert reference.bound <= exact.objective + 1e-6
        check_answer(problem, reference)


@settings(quick, max_examples=20)
@given(problems(most_features=4, most_instances=3))
def test_linear_reference_formulation_agrees_with_highs(problem):
    linear = replace(problem, cost=replace(problem.cost, gauge="l1"))
    exact, reference = solve_one_for_one(linear), solve_reference(linear, solver="highs")
    assert reference.status is exact.status
    if exact.objective is not None:
        assert reference.objective == pytest.approx(exact.objective, rel=1e-6, abs=2e-6)


def test_binaries_that_nothing_prices_are_left_out():
    space = FeatureSpace((Feature("x", Kind.NUMERICAL, 0, 1), Feature("y", Kind.NUMERICAL, 0, 1)))
    plain = Problem(space, LinearScore(np.array([1.0, 2.0]), -1.0), np.full((2, 2), 0.1), 0.0)
    assert not hasattr(build(plain), "xi")
    assert not hasattr(build(plain), "xi_star")
    assert hasattr(build(replace(plain, cost=Cost(lam_ind=0.1))), "xi")
    assert hasattr(build(replace(plain, allocation=OneForOne(f_max=1))), "xi_star")
