"""``groupcf targets``: the edge cases of efficiency targets have readable outcomes."""

from __future__ import annotations

import pandas as pd
import pytest
from click.testing import CliRunner

from groupcf.benchmarking.commands import targets
from groupcf.errors import GroupcfError

FIRMS = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "x1": [0.5, 1.5, 1.75, 2.5],
        "x2": [1, 0.5, 1.25, 1.25],
        "y": [1.0, 1, 1, 1],
    }
)


def run(home, frame=FIRMS, *more):
    frame.to_csv(home / "units.csv", index=False)
    arguments = [str(home / "units.csv"), "--unit", "name", "--inputs", "x1,x2"]
    arguments += ["--outputs", "y", "--out", str(home / "out"), *more]
    done = CliRunner().invoke(targets, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output, pd.read_csv(home / "out.csv", index_col=0)


def test_targets_are_written_as_csv_and_as_a_page(tmp_path):
    output, written = run(tmp_path, FIRMS, "--target", "0.8", "--cost", "l0+l2", "--scale", "raw")
    assert written.index.tolist() == ["a", "b", "c", "d"]
    columns = [c for c in written.columns if "x2" in c]
    assert any(written.loc["c", c] == pytest.approx(0.6875) for c in columns)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "units.csv" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "out.csv" in output


def test_a_unit_that_is_efficient_enough_pays_nothing(tmp_path):
    output, written = run(tmp_path, FIRMS, "--only", "a", "--target", "0.8")
    assert len(written) == 1
    assert float(written["cost"].iloc[0]) == 0.0
    assert "a" in output


def test_all_frozen_says_which_efficiency_can_be_had(tmp_path):
    output, written = run(tmp_path, FIRMS, "--only", "d", "--frozen", "x1,x2")
    assert written["status"].iloc[0] == "infeasible"
    assert "0.5" in output


@pytest.mark.parametrize(("rts", "status"), [("crs", "infeasible"), ("vrs", "optimal")])
def test_a_unit_without_outputs(tmp_path, rts, status):
    frame = FIRMS.copy()
    frame.loc[3, "y"] = 0.0
    output, written = run(tmp_path, frame, "--only", "d", "--rts", rts)
    assert written["status"].iloc[0] == status, output


def test_outputs_from_no_input_name_the_unit(tmp_path):
    frame = FIRMS.copy()
    frame.loc[2, ["x1", "x2"]] = 0.0
    with pytest.raises(GroupcfError, match="c"):
        run(tmp_path, frame)
    assert not (tmp_path / "out.csv").exists()


def test_duplicates_and_weakly_efficient_units_are_ordinary(tmp_path):
    frame = pd.concat(
        [FIRMS, FIRMS.iloc[[3]].assign(name="e"), FIRMS.iloc[[0]].assign(name="f", x2=2.0)]
    )
    _, written = run(tmp_path, frame)
    assert set(written["status"]) == {"optimal"}
    assert written.loc["d", "cost"] == pytest.approx(written.loc["e", "cost"])


def test_above_one_is_for_super_efficiency(tmp_path):
    with pytest.raises(GroupcfError, match="super"):
        run(tmp_path, FIRMS, "--target", "1.2")
    output, _ = run(tmp_path, FIRMS, "--target", "1.1", "--super-efficiency", "--only", "a")
    assert "a" in output


def test_the_unit_of_measurement_makes_no_difference(tmp_path):
    _, small = run(tmp_path, FIRMS, "--target", "0.8", "--scale", "own")
    _, large = run(
        tmp_path, FIRMS.assign(x1=FIRMS["x1"] * 1e9), "--target", "0.8", "--scale", "own"
    )
    assert large["cost"].tolist() == pytest.approx(small["cost"].tolist(), rel=1e-9)


def test_a_budget_says_who_moves_first(tmp_path):
    _, written = run(tmp_path, FIRMS, "--most", "1")
    assert written["moves"].notna().sum() == 1


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--only", "z"), "'z'"),
        (("--weight", "x1"), "column=number"),
        (("--rts", "xrs"), "rts"),
        (("--frozen", "x9"), "x9"),
    ],
)
def test_bad_questions_are_named(tmp_path, more, part):
    with pytest.raises(GroupcfError, match=part):
        run(tmp_path, FIRMS, *more)
    assert not (tmp_path / "out.csv").exists()
