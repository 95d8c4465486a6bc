"""The reference formulation for every score, with linking constraints and several each."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from groupcf.classifiers import Classifier
from groupcf.constraints import options
from groupcf.costs import Cost
from groupcf.errors import ConfigError, UnsupportedProblemError
from groupcf.exact.feature_search import solve_one_for_one
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.linking import Apart, DistinctFeatures, FairCost, Lipschitz, Moments, SameValues
from groupcf.problems import ManyForOne, OneForMany, OneForOne, Problem
from groupcf.router import candidates, solve
from groupcf.solution import Status
from groupcf.verify import verify

few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

SPACE = FeatureSpace(
    (
        Feature("age", Kind.INTEGER, 0, 3, scale=3.0),
        Feature("job", Kind.NOMINAL, categories=("a", "b", "c"), weight=0.7),
        Feature("own", Kind.BINARY, categories=("no", "yes"), weight=0.4),
        Feature("grade", Kind.NUMERICAL, 0, 1, allowed=(0.0, 0.4, 1.0)),
    )
)


def points(x0):
    """Every point that an instance may become."""
    blocks = []
    for feature, block in zip(SPACE.features, SPACE.blocks, strict=True):
        nominal = feature.kind is Kind.NOMINAL
        own = int(x0[block].argmax()) if nominal else x0[block.start]
        values = options(feature, own)
        blocks.append([np.eye(3)[int(v)] if nominal else np.array([v]) for v in values])
    return np.array([np.concatenate(p) for p in itertools.product(*blocks)])


def trained(kind, seed):
    rng = np.random.default_rng(seed)
    n = 150
    X = np.column_stack(
        [
            rng.integers(0, 4, n) / 3.0,
            np.eye(3)[rng.integers(0, 3, n)],
            rng.integers(0, 2, n),
            rng.choice([0.0, 0.4, 1.0], n),
        ]
    )
    y = (X @ rng.normal(size=X.shape[1]) + rng.normal(0, 0.3, n) > 0.3).astype(int)
    y[:2] = [0, 1]
    model = {
        "linear": lambda: LogisticRegression(C=10),
        "trees": lambda: RandomForestClassifier(6, max_depth=3, random_state=seed),
        "network": lambda: MLPClassifier((4, 3), max_iter=300, random_state=seed),
    }[kind]()
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Classifier(model, SPACE, 1), X, rng


def linking(rng, n):
    """One or two random constraints."""
    everyone = tuple(range(n))
    kinds = {
        "lipschitz": lambda: Lipschitz(float(rng.uniform(0.3, 1.5))),
        "same": lambda: SameValues(everyone, (str(rng.choice(SPACE.names)),)),
        "apart": lambda: Apart(everyone, float(rng.uniform(0.2, 0.9))),
        "distinct": lambda: DistinctFeatures(everyone),
        "moments": lambda: Moments(float(rng.uniform(0.1, 0.6)), ("age", "job")),
        "fair": lambda: FairCost((0,), everyone[1:], float(rng.uniform(0, 0.5))),
    }
    chosen = rng.choice(sorted(kinds), rng.integers(1, 3), replace=False)
    return tuple(kinds[k]() for k in chosen)


def best_of(problem):
    """The cheapest feasible group, over all points of all instances."""
    reach = []
    for x0 in problem.instances:
        P = points(x0)
        reach.append(P[problem.score.decision(P) >= problem.target])
    best = np.inf
    for group in itertools.product(*reach):
        X = np.array(group)
        cost = problem.cost.total(problem.space, problem.instances, X)
        if cost < best - 1e-12 and all(
            c.violation(problem.space, problem.cost, problem.instances, X) <= 1e-9
            for c in problem.linking
        ):
            best = cost
    return best


@few
@given(
    st.sampled_from(["linear", "trees", "network"]),
    st.integers(0, 10**6),
    st.sampled_from(["l2_squared", "l1"]),
    st.sampled_from([0.0, 0.05]),
    st.booleans(),
)
def test_linked_groups_agree_with_enumeration(kind, seed, gauge, lam, linked):
    classifier, X, rng = trained(kind, seed)
    wanted = classifier.predict_wanted(X)
    n = 2 if linked else 1
    assume((~wanted).sum() >= n)
    problem = Problem(
        SPACE,
        classifier.score,
        X[np.flatnonzero(~wanted)[:n]],
        classifier.score.link.threshold(0.5),
        cost=Cost(gauge, lam, lam),
        linking=linking(rng, n) if linked else (),
    )
    solution, expected = solve(problem, method="reference formulation"), best_of(problem)
    if np.isinf(expected):
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert verify(problem, solution, classifier).failed == []


@few
@given(
    st.sampled_from(["linear", "trees", "network"]),
    st.integers(0, 10**6),
    st.sampled_from(["ranges", "apart", "distinct"]),
)
def test_several_each_agree_with_enumeration(kind, seed, what):
    classifier, X, rng = trained(kind, seed)
    rule = {
        "ranges": ManyForOne(feature="age", ranges=((-np.inf, 0), (0, 2), (2, np.inf))),
        "apart": ManyForOne(2, apart=float(rng.uniform(0.3, 1.2))),
        "distinct": ManyForOne(2, distinct_features=True),
    }[what]
    x0 = X[~classifier.predict_wanted(X)][:1]
    assume(len(x0) == 1)
    problem = Problem(
        SPACE, classifier.score, x0, classifier.score.link.threshold(0.5), rule, Cost(lam_ind=0.02)
    )
    P = points(x0[0])
    P = P[classifier.score.decision(P) >= problem.target]
    costs = np.array([problem.cost.total(SPACE, x0, p[None]) for p in P])
    if rule.ranges:  # nothing ties them together
        age = P[:, 0] * 3
        best = sum(
            costs[(age > low + 1e-9) & (age <= high + 1e-9)].min(initial=np.inf)
            for low, high in rule.ranges
        )
    else:
        best, twice = np.inf, np.repeat(x0, 2, axis=0)
        limit = Apart((0, 1), rule.apart) if rule.apart else DistinctFeatures((0, 1))
        for i, k in itertools.combinations_with_replacement(range(len(P)), 2):
            if costs[i] + costs[k] < best - 1e-12:
                over = limit.violation(SPACE, problem.cost, twice, P[[i, k]])
                best = best if over > 1e-9 else costs[i] + costs[k]
    solution = solve(problem)
    if np.isinf(best):
        assert solution.status is Status.INFEASIBLE
        assert "instance 0" in solution.message
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert verify(problem, solution, classifier).failed == []


def continuous_group(lam=0.0, gauge="l2_squared"):
    space = FeatureSpace(tuple(Feature(f"x{j}", Kind.NUMERICAL, 0, 1) for j in range(3)))
    rng = np.random.default_rng(5)
    X = rng.random((200, 3))
    y = (X.sum(axis=1) > 1.7).astype(int)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    classifier = Classifier(forest, space, 1)
    rows = np.flatnonzero(~classifier.predict_wanted(X))[:2]
    return classifier, Problem(space, classifier.score, X[rows], 0.5, cost=Cost(gauge, lam))


@pytest.mark.parametrize("gauge", ["l2_squared", "l1"])
def test_continuous_links_are_kept_and_cost_more(gauge):
    classifier, problem = continuous_group(gauge=gauge)
    free = solve(problem)
    before = Lipschitz(0.0).violation(
        problem.space, problem.cost, problem.instances, problem.instances
    )
    after = Lipschitz(0.0).violation(
        problem.space, problem.cost, problem.instances, free.counterfactuals
    )
    tied = replace(problem, linking=(Lipschitz(0.8 * after / before),))
    assert verify(tied, replace(free), classifier).failed != []
    linked = solve(tied)
    assert linked.method == "reference formulation"
    assert linked.status is Status.OPTIMAL
    assert linked.objective > free.objective
    assert verify(tied, linked, classifier).failed == []
    apart = replace(problem, linking=(Apart((0, 1), 1.5 * after),))
    found = solve(apart)
    assert verify(apart, found, classifier).failed == []


@pytest.mark.parametrize("gauge", ["l2_squared", "l1"])
@pytest.mark.parametrize("tau", [0.0, 1e-6, 1e-4, 0.01, 0.1, 1e300])
def test_lipschitz_of_any_size_is_kept(tau, gauge):
    classifier, problem = continuous_group(gauge=gauge)
    tied = replace(problem, linking=(Lipschitz(tau),))
    solution = solve(tied)
    assert solution.status is Status.OPTIMAL
    assert verify(tied, solution, classifier).failed == []


def test_equal_instances_stay_equal():
    classifier, problem = continuous_group()
    twice = replace(problem, instances=problem.instances[[0, 0]], linking=(Lipschitz(1.0),))
    assert verify(twice, solve(twice), classifier).failed == []


def test_rows_may_be_whole_floats_and_arrays():
    _, problem = continuous_group()
    tied = replace(problem, linking=[SameValues(np.array([0, 1])), SameValues((0.0, 1.0))])
    assert tied.linking[0] == tied.linking[1]
    assert solve(tied).status is Status.OPTIMAL


def test_what_cannot_be_says_why():
    _, problem = continuous_group()
    far = replace(problem, linking=(Apart((0, 1), 1e300),))
    solution = solve(far)
    assert solution.status is Status.INFEASIBLE
    assert "cannot be 1e+300 apart" in solution.message
    outside = replace(problem, allocation=ManyForOne(feature="x0", ranges=((5, 9),)))
    assert "feature 'x0': no value in its range" in solve(outside).message
    with pytest.raises(UnsupportedProblemError, match="value ranges tie them"):
        solve_one_for_one(far)


def test_exact_methods_leave_linked_groups_to_the_reference():
    _, problem = continuous_group()
    tied = replace(problem, linking=(Moments(0.05),))
    assert [m.name for m in candidates(tied)] == ["reference formulation"]
    with pytest.raises(UnsupportedProblemError, match="constraints or value ranges tie them"):
        solve(tied, method="threshold cells")


def test_what_makes_no_sense_is_refused_by_name():
    _, problem = continuous_group()
    for bad, words in [
        (lambda: Lipschitz(-1), "tau"),
        (lambda: Apart((0, 1), 0), "delta"),
        (lambda: Moments(-0.1), "eps"),
        (lambda: FairCost((0,), (1,), -1), "eps"),
        (lambda: replace(problem, linking=(Apart((0, 7), 1.0),)), "no instance 7"),
        (lambda: replace(problem, linking=(SameValues((0, 0)),)), "named twice"),
        (lambda: replace(problem, linking=(FairCost((0,), (0,)),)), "in group and in others"),
        (lambda: replace(problem, linking=(Apart((0,), 1.0),)), "at least 2"),
        (
            lambda: replace(problem, allocation=OneForOne(s_star=1), linking=(Moments(1.0),)),
            "s_star",
        ),
        (lambda: replace(problem, allocation=OneForMany(), linking=(Moments(1.0),)), "one-for-one"),
        (lambda: ManyForOne(2), "say what makes"),
        (lambda: ManyForOne(), "how many"),
        (lambda: ManyForOne(feature="x0"), "both or neither"),
        (lambda: ManyForOne(feature="x0", ranges=((1, 0),)), "empty"),
        (lambda: ManyForOne(3, feature="x0", ranges=((0, 1),)), "1 ranges"),
        (lambda: ManyForOne(feature="x0", ranges=((0, 1, 2),)), "not a pair"),
        (lambda: ManyForOne(feature="x0", ranges=(0, 1)), "ranges, entry"),
        (lambda: ManyForOne(feature="x0", ranges="0-1"), "ranges: give"),
        (lambda: ManyForOne(feature="x0", ranges=("01", "12")), "ranges, entry"),
        (lambda: ManyForOne(feature="x0", ranges=((None, 1),)), "None"),
        (lambda: ManyForOne(feature="x0", ranges=((np.nan, 1),)), "nan"),
        (lambda: ManyForOne(feature="x0", ranges=((0, 1), (0.5, 2))), "overlap"),
        (lambda: ManyForOne(2, apart=-1), "apart"),
        (lambda: ManyForOne(1, apart="x"), "apart"),
        (lambda: ManyForOne(2, distinct_features="no"), "distinct_features"),
        (
            lambda: replace(problem, allocation=ManyForOne(feature="no", ranges=((0, 1),))),
            "ManyForOne, feature",
        ),
        (lambda: SameValues(3), "SameValues, rows"),
        (lambda: SameValues(i for i in (0, 1)), "SameValues, rows"),
        (lambda: SameValues((0, 1), "x0"), "SameValues, features"),
        (lambda: FairCost(0, 1), "FairCost, group"),
        (lambda: replace(problem, linking=(SameValues((0, 1), ("no",)),)), "SameValues, features"),
        (lambda: replace(problem, linking=Lipschitz(1.0)), "linking"),
        (lambda: replace(problem, linking=None), "linking"),
        (lambda: replace(problem, linking=""), "linking"),
        (lambda: replace(problem, linking=(Lipschitz,)), "linking"),
        (lambda: replace(problem, linking=(c for c in (Lipschitz(1.0),))), "linking"),
    ]:
        with pytest.raises(ConfigError, match=words):
            bad()
