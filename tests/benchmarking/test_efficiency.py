"""Farrell efficiencies, slacks, peers, super-efficiency and directions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcf.benchmarking import Benchmark, efficiency
from groupcf.benchmarking.verification import EfficiencyChecker
from groupcf.datasets import load_efficiencies, load_units
from groupcf.errors import ConfigError, DataError
from groupcf.solvers.highs import solve_matrix

SCALES = ("crs", "vrs", "drs", "irs", "fdh")
FIRMS = load_units("firms").frame


def table(seed, *, hostile=False, zeros=True):
    """Return a small random table with duplicates, zeros, weakly efficient units."""
    rng = np.random.default_rng(seed)
    K, n_in, n_out = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    X = rng.uniform(0.1, 3, (K, n_in)).round(int(rng.integers(1, 4)))
    Y = rng.uniform(0.1, 3, (K, n_out)).round(int(rng.integers(1, 4)))
    if zeros and rng.random() < 0.4:
        X[rng.random(X.shape) < 0.2] = 0
        Y[rng.random(Y.shape) < 0.2] = 0
    if rng.random() < 0.4:
        X[0], Y[0] = X[-1], Y[-1]
    if rng.random() < 0.3:  # as good in one input, worse in the others: weakly efficient
        X[0], Y[0] = X[-1] * 1.5, Y[-1]
        X[0, 0] = X[-1, 0]
    X[~X.any(axis=1), 0] = 1.0
    X[0, ~X.any(axis=0)] = 1.0
    Y[0, ~Y.any(axis=0)] = 1.0
    scale = 10.0 ** rng.integers(-6, 10, n_in + n_out) if hostile else np.ones(n_in + n_out)
    inputs, outputs = [f"x{i}" for i in range(n_in)], [f"y{o}" for o in range(n_out)]
    frame = pd.DataFrame(np.hstack([X, Y]) * scale, columns=[*inputs, *outputs])
    return frame, inputs, outputs


def by_program(X, Y, x, y, rts, side):
    """Farrell's measure of a point by the plain linear or binary program."""
    K = len(X)
    if side == "input":  # min E: E x >= X'l, y <= Y'l
        rows = [np.column_stack([-X.T, x]), np.column_stack([Y.T, np.zeros(len(y))])]
        low, high = [np.zeros(len(x)), y], [np.full(len(x), np.inf), np.full(len(y), np.inf)]
        c = np.append(np.zeros(K), 1.0)
    else:  # max F: x >= X'l, F y <= Y'l
        rows = [np.column_stack([X.T, np.zeros(len(x))]), np.column_stack([Y.T, -y])]
        low = [np.full(len(x), -np.inf), np.zeros(len(y))]
        high = [x, np.full(len(y), np.inf)]
        c = np.append(np.zeros(K), -1.0)
    if rts != "crs":
        rows.append(np.append(np.ones(K), 0.0)[None])
        low.append(np.array([-np.inf if rts == "drs" else 1.0]))
        high.append(np.array([np.inf if rts == "irs" else 1.0]))
    whole = np.append(np.full(K, rts == "fdh"), False)
    found = solve_matrix(
        c, np.vstack(rows), np.concatenate(low), np.concatenate(high), 0.0, np.inf,
        integrality=whole if rts == "fdh" else None,
    )  # fmt: skip
    return abs(found.objective) if found.objective is not None else np.inf


@pytest.mark.parametrize("rts", SCALES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_efficiencies_are_those_of_the_plain_programs(rts, seed):
    frame, inputs, outputs = table(seed)
    X, Y = frame[inputs].to_numpy(), frame[outputs].to_numpy()
    for side in ("input", "output"):
        found = efficiency(frame, inputs=inputs, outputs=outputs, rts=rts, orientation=side)
        for k, value in enumerate(found):
            if side == "output" and not Y[k].any():
                assert np.isinf(value)
                continue
            expected = by_program(X, Y, X[k], Y[k], rts, side)
            assert value == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("rts", SCALES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_units_of_measurement_make_no_difference(rts, seed):
    plain, inputs, outputs = table(seed)
    hostile, _, _ = table(seed, hostile=True)
    for side in ("input", "output"):
        options = {"inputs": inputs, "outputs": outputs, "rts": rts, "orientation": side}
        a, b = efficiency(plain, **options), efficiency(hostile, **options)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.mirror
def test_the_reference_efficiencies_of_real_banks(mirror):
    units, reference = load_units("banks1"), load_efficiencies("banks1")
    assert len(reference.columns) == 8
    for column in reference.columns:
        side, rts = column.split("_")
        found = efficiency(
            units.frame, inputs=units.inputs, outputs=units.outputs, rts=rts, orientation=side
        )
        np.testing.assert_allclose(found, reference[column], atol=1e-6, err_msg=column)


@pytest.mark.parametrize("rts", SCALES)
def test_the_independent_checker_agrees_on_real_banks(rts):
    units = load_units("banks1")
    benchmark = Benchmark(units.frame, inputs=units.inputs, outputs=units.outputs, rts=rts)
    checker = EfficiencyChecker(benchmark.units, rts)
    for k in range(0, 247, 13):
        value = checker.efficiency(benchmark.units.X[k], benchmark.units.Y[k])
        assert value == pytest.approx(benchmark.efficiency().iloc[k], rel=1e-7)


def test_published_efficiencies_of_the_four_firms():
    found = efficiency(FIRMS, inputs=["x1", "x2"], outputs=["y"])
    assert found.round(2).tolist() == [1.0, 1.0, 0.59, 0.5]
    assert found.index.tolist() == [1, 2, 3, 4]
    out = efficiency(FIRMS, inputs=["x1", "x2"], outputs=["y"], orientation="output")
    np.testing.assert_allclose(out, 1.0 / found)


@pytest.mark.parametrize("rts", SCALES)
@pytest.mark.parametrize("side", ["input", "output"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_peers_and_slacks_rebuild_the_frontier_point(rts, side, seed):
    frame, inputs, outputs = table(seed, zeros=False)
    benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
    value = benchmark.efficiency(side)
    slacks, peers = benchmark.slacks(side), benchmark.peers(side)
    for k in frame.index:
        mine = peers[peers["unit"] == k]
        x = mine["lambda"].to_numpy() @ frame.loc[mine["peer"], inputs].to_numpy()
        y = mine["lambda"].to_numpy() @ frame.loc[mine["peer"], outputs].to_numpy()
        times_x, times_y = (value[k], 1.0) if side == "input" else (1.0, value[k])
        np.testing.assert_allclose(
            x + slacks.loc[k, inputs], times_x * frame.loc[k, inputs], rtol=1e-6, atol=1e-8
        )
        np.testing.assert_allclose(
            y - slacks.loc[k, outputs], times_y * frame.loc[k, outputs], rtol=1e-6, atol=1e-8
        )
        assert (slacks.loc[k] >= 0).all()
        total = mine["lambda"].sum()
        assert rts in ("crs", "irs") or total <= 1 + 1e-9
        assert rts in ("crs", "drs") or total >= 1 - 1e-9


@pytest.mark.parametrize("rts", SCALES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_super_efficiency_leaves_the_unit_out(rts, seed):
    frame, inputs, outputs = table(seed, zeros=False)
    if len(frame) < 3:
        return
    X, Y = frame[inputs].to_numpy(), frame[outputs].to_numpy()
    benchmark = Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts)
    found = benchmark.super_efficiency()
    for k in range(len(frame)):
        rest = np.arange(len(frame)) != k
        expected = by_program(X[rest], Y[rest], X[k], Y[k], rts, "input")
        if np.isinf(expected):
            assert np.isnan(found.iloc[k])
        else:
            assert found.iloc[k] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rts", SCALES)
def test_the_directional_search_has_farrell_as_one_case(rts):
    units = load_units("banks1")
    benchmark = Benchmark(units.frame, inputs=units.inputs, outputs=units.outputs, rts=rts)
    inward = benchmark.directional("input")
    np.testing.assert_allclose(1.0 - inward["step"], benchmark.efficiency(), atol=1e-9)
    outward = benchmark.directional("output")
    np.testing.assert_allclose(1.0 + outward["step"], benchmark.efficiency("output"), rtol=1e-9)
    one = benchmark.directional({"STEXP": 1000.0})
    assert (one["STEXP"] <= units.frame["STEXP"] + 1e-9).all()
    assert (one["FASUM"] == units.frame["FASUM"]).all()
    if rts != "fdh":  # the plan reached cannot be moved further
        again = Benchmark(
            pd.concat([units.frame, one.drop(columns="step").head(5).set_axis(range(900, 905))]),
            inputs=units.inputs, outputs=units.outputs, rts=rts,
        )  # fmt: skip
        assert (again.directional({"STEXP": 1000.0})["step"].loc[900:] < 1e-6).all()


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"x1": [1, np.nan, 1, 1]}, DataError, "'x1' has no value in row 2"),
        ({"x1": [1, -1, 1, 1]}, DataError, "'x1' is negative in row 2"),
        ({"x1": [1, np.inf, 1, 1]}, DataError, "infinite in row 2"),
        ({"x1": [1, "two", 1, 1]}, DataError, "'two' in row 2 is not a number"),
        ({"x1": [0, 1, 1, 1], "x2": [0, 1, 1, 1]}, DataError, "unit 1 uses no input at all"),
        ({"y": [0, 0, 0, 0]}, DataError, "'y' is zero in every row"),
    ],
)
def test_bad_tables_are_refused_by_column_and_row(change, error, part):
    with pytest.raises(error, match=part):
        efficiency(FIRMS.assign(**change), inputs=["x1", "x2"], outputs=["y"])


def test_bad_questions_are_refused_by_key():
    good = {"inputs": ["x1", "x2"], "outputs": ["y"]}
    with pytest.raises(DataError, match="no column 'x9'"):
        efficiency(FIRMS, inputs=["x9"], outputs=["y"])
    with pytest.raises(ConfigError, match="named twice"):
        efficiency(FIRMS, inputs=["x1", "y"], outputs=["y"])
    with pytest.raises(ConfigError, match="rts: 'cars'"):
        efficiency(FIRMS, **good, rts="cars")
    with pytest.raises(ConfigError, match="orientation: 'up'"):
        efficiency(FIRMS, **good, orientation="up")
    with pytest.raises(DataError, match="more than one row is named 1"):
        efficiency(FIRMS.set_axis([1, 1, 2, 3]), **good)
    with pytest.raises(ConfigError, match="direction: it is zero"):
        Benchmark(FIRMS, **good).directional({"x1": 0.0})
