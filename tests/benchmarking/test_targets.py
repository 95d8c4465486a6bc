"""Least-cost targets: published tables, methods against each other, and edge cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from groupcf.benchmarking import Benchmark, TargetCost, targets
from groupcf.benchmarking.verification import EfficiencyChecker
from groupcf.datasets import load_units
from groupcf.errors import ConfigError, DataError, UnsupportedProblemError
from groupcf.solution import Status

FIRMS = load_units("firms").frame
NAMES = {"inputs": ["x1", "x2"], "outputs": ["y"]}


def firms(rts="crs"):
    return Benchmark(FIRMS, **NAMES, rts=rts)


@pytest.mark.parametrize("method", ["enum", "lazy", "kkt", "bilinear"])
@pytest.mark.parametrize(
    ("cost", "unit", "inputs", "squares"),
    [
        ("l0+l2", 3, (1.75, 0.69), 0.3164),  # 0.31 is printed
        ("l2", 3, (1.53, 0.80), 0.25),
        ("l0+l2", 4, (2.50, 0.63), 0.39),
        ("l2", 4, (2.50, 0.63), 0.39),
    ],
)
def test_tables_4_2_and_4_3(method, cost, unit, inputs, squares):
    result = firms().targets(target=0.8, cost=cost, units=[unit], method=method)
    (found,) = result
    assert found.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert result.verified
    assert found.values == pytest.approx(inputs, abs=0.006)
    moved = float(((found.values - found.now) ** 2).sum())
    assert moved == pytest.approx(squares, abs=0.0051 if squares != 0.3164 else 5e-5)


def test_the_farrell_targets_of_the_tables():
    result = firms().targets(target=0.8, cost="farrell", units=[3, 4])
    assert result.values().round(2)[["x1", "x2"]].values.tolist() == [[1.29, 0.92], [1.56, 0.78]]
    assert [round(t.objective, 2) for t in result] == [0.32, 1.10]
    assert result.verified


def instance(seed):
    """Return a benchmark and a question: all technologies, both directions, all limits."""
    rng = np.random.default_rng(seed)
    while True:
        K, n_in, n_out = int(rng.integers(3, 8)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
        X, Y = rng.uniform(0.2, 3, (K, n_in)).round(2), rng.uniform(0.2, 3, (K, n_out)).round(2)
        if rng.random() < 0.3:
            X[rng.random(X.shape) < 0.2] = 0
        if rng.random() < 0.3:
            Y[rng.random(Y.shape) < 0.2] = 0
        if rng.random() < 0.3:
            X[0], Y[0] = X[-1], Y[-1]
        if X.any(axis=1).all() and X.any(axis=0).all() and Y.any(axis=0).all():
            break
    inputs, outputs = [f"x{i}" for i in range(n_in)], [f"y{o}" for o in range(n_out)]
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*inputs, *outputs])
    change = ("input", "output")[(seed // 4) % 2]
    names = inputs if change == "input" else outputs
    options = {}
    if rng.random() < 0.3:
        options["frozen"] = [names[int(rng.integers(len(names)))]]
    if rng.random() < 0.3:
        key, value = ("relative_lower", 0.5) if change == "input" else ("relative_upper", 1.5)
        options[key] = value
    if rng.random() < 0.2:
        options["weights"] = {names[0]: 2.0}
    question = {
        "target": float(rng.choice([0.8, 1.0])),
        "cost": ["l0+(l2)", "l0+l2", "l2", "l1", "l0+0.5*l1+l2"][int(rng.integers(5))],
        "change": change,
        "units": [int(rng.integers(K))],
        "scale": "mean",
        **options,
    }
    rts = ("crs", "vrs", "drs", "irs")[seed % 4]
    return frame, inputs, outputs, rts, question


def one(benchmark, method, question):
    (found,) = benchmark.targets(method=method, time_limit=2.0, **question)
    return found


def both(target):
    return np.array([target.objective, target.second or 0.0])


@pytest.mark.parametrize("block", range(8))
def test_both_exact_methods_and_the_kkt_model_agree(block):
    compared = 0
    for seed in range(40 * block, 40 * block + 40):
        frame, inputs, outputs, rts, question = instance(seed)
        benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
        enum, lazy = one(benchmark, "enum", question), one(benchmark, "lazy", question)
        assert enum.status == lazy.status in (Status.OPTIMAL, Status.INFEASIBLE), seed
        kkt = one(benchmark, "kkt", question)
        assert (enum.values is None) == (lazy.values is None), seed
        if enum.values is None:
            assert kkt.values is None or not kkt.verified, seed
            assert enum.reachable == pytest.approx(lazy.reachable, rel=1e-5), seed
            continue
        assert enum.verified, seed
        assert lazy.verified, seed
        np.testing.assert_allclose(both(enum), both(lazy), rtol=1e-7, atol=1e-9, err_msg=str(seed))
        assert enum.bound == pytest.approx(enum.objective, abs=1e-9)
        if kkt.status is Status.OPTIMAL and kkt.verified and enum.before < enum.target:
            np.testing.assert_allclose(both(enum), both(kkt), rtol=2e-3, atol=2e-3)
            compared += 1
    assert compared > 4


def test_the_bilinear_model_agrees():
    compared = 0
    for seed in range(0, 160, 4):
        frame, inputs, outputs, rts, question = instance(seed)
        benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
        enum, other = one(benchmark, "enum", question), one(benchmark, "bilinear", question)
        if other.status is not Status.OPTIMAL or not other.verified or enum.values is None:
            continue
        np.testing.assert_allclose(both(enum), both(other), rtol=2e-3, atol=2e-3)
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("method", ["enum", "lazy"])
def test_units_of_measurement_make_no_difference(method):
    compared = 0
    for seed in range(120):
        frame, inputs, outputs, rts, question = instance(seed)
        factor = 10.0 ** np.random.default_rng(seed).integers(-6, 10, len(frame.columns))
        plain = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
        hostile = Benchmark(frame * factor, inputs=inputs, outputs=outputs, rts=rts)
        a, b = one(plain, method, question), one(hostile, method, question)
        assert a.status == b.status, seed
        if a.values is None:
            continue
        np.testing.assert_allclose(both(a), both(b), rtol=1e-9, atol=1e-9, err_msg=str(seed))
        at = [frame.columns.get_loc(n) for n in a.names]
        size = np.abs(b.values).max()
        np.testing.assert_allclose(a.values * factor[at], b.values, rtol=1e-7, atol=1e-9 * size)
        compared += 1
    assert compared > 60


@pytest.mark.parametrize("change", ["input", "output"])
def test_the_free_disposal_hull_against_enumeration(change):
    for seed in range(60):
        frame, inputs, outputs, _, question = instance(seed)
        names = inputs if change == "input" else outputs
        benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts="fdh")
        k, goal = question["units"][0], question["target"]
        (found,) = benchmark.targets(
            target=goal, cost="l0+l1", change=change, units=[k], scale="mean"
        )
        checker = EfficiencyChecker(benchmark.units, "fdh")
        X, Y = frame[inputs].to_numpy(), frame[outputs].to_numpy()
        now, mean = frame.loc[k, names].to_numpy(), frame[names].mean().to_numpy()
        step = 1e-6 * mean
        if change == "input":
            grid = [np.unique(np.append(X[:, i] / goal, now[i])) for i in range(len(names))]
            grid = [g[g <= now[i]] for i, g in enumerate(grid)]
        else:
            grid = [np.unique(np.append(Y[:, i] + step[i], now[i])) for i in range(len(names))]
            grid = [g[g >= now[i]] for i, g in enumerate(grid)]
        best = np.inf
        for point in product(*grid):
            goods = np.array(point)
            x, y = (goods, Y[k]) if change == "input" else (X[k], goods)
            reached = checker.efficiency(x, y)
            if reached >= goal * (1 - 1e-9) and (change == "input" or np.isfinite(reached)):
                u = (goods - now) / mean
                best = min(best, float((u != 0).sum() + np.abs(u).sum()))
        if np.isinf(best):
            assert found.status is Status.INFEASIBLE, seed
        else:
            assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-5), seed
            assert found.verified, seed


@pytest.mark.parametrize("rts", ["crs", "vrs", "fdh"])
def test_whole_numbers_of_people_by_enumeration(rts):
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "people": rng.integers(1, 9, 6).astype(float),
                "rooms": rng.integers(1, 9, 6).astype(float),
                "y": rng.integers(1, 5, 6).astype(float),
            }
        )
        benchmark = Benchmark(frame, inputs=["people", "rooms"], outputs=["y"], rts=rts)
        (found,) = benchmark.targets(target=0.8, cost="l1", units=[0], integer=["people", "rooms"])
        checker = EfficiencyChecker(benchmark.units, rts)
        now, best = frame.loc[0, ["people", "rooms"]].to_numpy(), np.inf
        for a, b in product(range(int(now[0]) + 1), range(int(now[1]) + 1)):
            x = np.array([float(a), float(b)])
            if x.any() and checker.efficiency(x, frame.loc[0, ["y"]].to_numpy()) >= 0.8 - 1e-9:
                best = min(best, float((now - x).sum()))
        assert found.objective == pytest.approx(best), seed
        assert (found.values == np.round(found.values)).all()
        compared += 1
    assert compared == 25


# -- the seven edge cases of models.md section 6 -----------------------------------------------


def test_a_unit_that_is_efficient_enough_pays_nothing():
    (found,) = firms().targets(target=0.5, units=[3])
    assert (found.objective, found.bound, found.changed) == (0.0, 0.0, ())
    assert "already" in found.message


def test_all_frozen_is_unattainable_with_the_best_efficiency():
    (found,) = firms().targets(target=0.8, units=[3], frozen=["x1", "x2"])
    assert found.status is Status.INFEASIBLE
    assert found.reachable == pytest.approx(10 / 17)
    assert "0.5882" in found.message
    (some,) = firms().targets(target=1.0, units=[4], relative_lower=0.9)
    assert some.status is Status.INFEASIBLE
    assert some.reachable == pytest.approx(0.5 / 0.9)


def test_a_unit_without_outputs():
    table = pd.concat([FIRMS, pd.DataFrame({"x1": 2.0, "x2": 2.0, "y": 0.0}, index=[5])])
    (none,) = Benchmark(table, **NAMES).targets(target=0.8, units=[5])
    assert none.status is Status.INFEASIBLE
    assert "no output at all" in none.message
    (ordinary,) = Benchmark(table, **NAMES, rts="vrs").targets(target=0.8, units=[5])
    assert ordinary.status is Status.OPTIMAL
    assert ordinary.verified


def test_outputs_from_no_input_is_a_data_error_that_names_the_unit():
    table = pd.concat([FIRMS, pd.DataFrame({"x1": 0.0, "x2": 0.0, "y": 1.0}, index=["ghost"])])
    with pytest.raises(DataError, match="'ghost' uses no input at all and yet has outputs"):
        targets(table, **NAMES, target=0.8)


def test_duplicates_and_weakly_efficient_units():
    twin = FIRMS.loc[[1]].set_axis(["twin"])
    weak = pd.DataFrame({"x1": [0.5], "x2": [2.0], "y": [1.0]}, index=["weak"])
    table = pd.concat([FIRMS, twin, weak])
    benchmark = Benchmark(table, **NAMES)
    assert benchmark.efficiency()[["twin", "weak"]].tolist() == [1.0, 1.0]
    assert benchmark.slacks().loc["weak", "x2"] == pytest.approx(1.0)
    for method in ("enum", "lazy"):
        result = benchmark.targets(target=0.8, cost="l2", method=method)
        assert result.values().loc[3].round(3).tolist() == [1.525, 0.8, 1.0]
        assert result.verified
    every = Benchmark(pd.concat([twin, twin.set_axis(["again"])]), **NAMES, rts="vrs")
    assert every.targets(target=1.0, method="enum").counts() == {"optimal": 2}


def test_above_one_only_as_super_efficiency():
    with pytest.raises(ConfigError, match="super_efficiency"):
        firms().targets(target=1.2, units=[1])
    (found,) = firms().targets(target=3.5, units=[1], super_efficiency=True)
    assert found.before == pytest.approx(3.0)
    assert found.status is Status.OPTIMAL
    assert found.efficiency == pytest.approx(3.5)


# -- questions ---------------------------------------------------------------------------------


def test_limits_are_kept_and_the_rest_is_the_users_own_digits():
    units = load_units("banks1")
    benchmark = Benchmark(units.frame, inputs=units.inputs, outputs=units.outputs, rts="vrs")
    result = benchmark.targets(
        target=0.9, cost="l0+l1", scale="own", frozen=["FASUM"], relative_lower=0.2
    )
    plan = result.values()
    solved = plan.notna().all(axis=1)
    assert (plan.loc[solved, "FASUM"] == units.frame.loc[solved, "FASUM"]).all()
    assert (plan.loc[solved, "LNSUM"] == units.frame.loc[solved, "LNSUM"]).all()
    share = plan.loc[solved, "STEXP"] / units.frame.loc[solved, "STEXP"]
    assert (share >= 0.2 * (1 - 1e-12)).all()
    assert result.verified
    lost = [t for t in result if t.status is Status.INFEASIBLE]
    assert lost
    assert all(t.reachable < 0.9 for t in lost)
    table = result.frame()
    assert len(table) == 247
    assert table["status"].isin(["optimal", "infeasible"]).all()


def test_moving_all_units_at_once_is_jointly_valid():
    units = load_units("banks1")
    for rts in ("crs", "vrs"):
        benchmark = Benchmark(units.frame, inputs=units.inputs, outputs=units.outputs, rts=rts)
        for cost in ("l0+(l2)", "l2"):
            view = benchmark.targets(target=1.0, cost=cost, scale="mean").group()
            assert view.shortfall < 1e-7
            assert len(view.chosen) + sum(benchmark.efficiency() >= 1 - 1e-9) == 247
            assert view.use()["units"].sum() == (view.counts() * view.counts().index).sum()


def test_a_budget_moves_as_many_as_can_be_and_the_worthy_first():
    result = firms().targets(target=0.8, cost="l2")
    assert [t.unit for t in result.moving] == [3, 4]
    costs = {t.unit: t.objective for t in result.moving}
    assert set(costs) == {3, 4}
    cheap = min(costs, key=costs.get)
    assert result.group(most=1).chosen == (cheap,)
    assert result.group(budget=costs[cheap]).chosen == (cheap,)
    dear = max(costs, key=costs.get)
    assert cheap != dear
    worth = {cheap: 1.0, dear: 5.0}
    view = result.group(most=1, worth=worth)
    assert view.chosen == (dear,)
    assert view.left == (cheap,)
    assert result.group(budget=sum(costs.values())).left == ()
    with pytest.raises(ConfigError, match="budget"):
        result.group(budget=-1)
    with pytest.raises(ConfigError, match="worth"):
        result.group(most=1, worth={cheap: 1.0})


def test_a_menu_is_a_front_and_different_ways():
    menu = firms().menu(4, targets=[0.6, 0.8, 1.0])
    for _, part in menu.front.groupby("cost"):
        assert part["target"].is_monotonic_increasing
        assert part["value"].is_monotonic_increasing
    ways = menu.alternatives
    assert len(ways) > 1
    assert not ways[["x1", "x2"]].round(6).duplicated().any()
    checker = EfficiencyChecker(firms().units, "crs")
    for row in ways.itertuples():
        assert checker.efficiency(np.array([row.x1, row.x2]), np.ones(1)) >= 1 - 1e-7


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"target": 0.0}, ConfigError, "target: 0 is not above 0"),
        ({"target": "high"}, ConfigError, "target"),
        ({"target": {3: 0.8}}, ConfigError, "none for unit 1"),
        ({"cost": "l3"}, ConfigError, "'l3' is not understood"),
        ({"cost": TargetCost(radial=True), "frozen": ["x1"]}, UnsupportedProblemError, "Farrell"),
        ({"change": "both"}, ConfigError, "change: 'both'"),
        ({"units": [9]}, ConfigError, "no unit 9"),
        ({"units": "3"}, ConfigError, "units"),
        ({"weights": {"x1": 0}}, ConfigError, "weights"),
        ({"weights": {"y": 1}}, ConfigError, "'y' is not among"),
        ({"frozen": ["z"]}, ConfigError, "'z' is not among"),
        ({"lower": {"x1": 9.0}}, DataError, "unit 1: 'x1'|at least 9"),
        ({"scale": "big"}, ConfigError, "scale: 'big'"),
        ({"method": "magic"}, ConfigError, "method: 'magic'"),
        ({"time_limit": -1}, ConfigError, "time_limit"),
    ],
)
def test_bad_questions_are_refused_by_key(change, error, part):
    options = {"target": 0.8} | change
    if "lower" in change:
        options["upper"] = {"x1": 1.0}
    with pytest.raises(error, match=part):
        firms().targets(**options)


def test_models_that_do_not_fit_are_refused_by_name():
    with pytest.raises(UnsupportedProblemError, match="free disposal hull"):
        firms("fdh").targets(target=0.8, method="kkt")
    with pytest.raises(UnsupportedProblemError, match="whole numbers"):
        firms().targets(target=0.8, method="kkt", integer=["x1"])


def test_a_reference_without_a_solver_for_it_is_refused_by_name():
    with pytest.raises(UnsupportedProblemError, match="HiGHS cannot take this model"):
        firms().targets(target=0.8, units=[3], method="bilinear", solver="highs")
