"""Studies that bring their own data: units of benchmarking, curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from groupcf import records
from groupcf.datasets.units import UNITS, synthetic_branches
from groupcf.errors import GroupcfError
from groupcf.pipeline import config as configuration
from groupcf.pipeline import solving

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {"method": "auto", "solver": "auto", "time_limit": 60, "threads": 1}


@pytest.fixture(scope="module")
def studies():
    return configuration.load_studies(configuration.read_yaml(ROOT / "config/config.yaml"), ROOT)


def run(study, home, files=None):
    index = home / "index.json"
    solving.run_own(study, home / "raw", files or {}, home / "records", index, OPTIONS)
    return records.load_records(home / "records")


def test_the_small_example_is_reproduced_with_its_proofs(studies, tmp_path):
    found = run(studies["tab-4.2"], tmp_path)
    assert [r.status for r in found] == ["optimal"] * 3
    assert all(r.verified for r in found)
    cost = {r.parameters["target_cost"]: r for r in found}
    assert cost["farrell"].details["moving"] == 2
    for record in found:
        table = records.load_instances(record).set_index("row")
        plans = record.published["plans"]
        table.index = table.index.map(str)
        for unit, plan in plans.items():
            np.testing.assert_allclose(
                table.loc[unit, ["to x1", "to x2"]].astype(float), plan, atol=0.0051
            )
        if record is cost["farrell"]:
            assert record.bound is None  # a comparison, not the least-cost target
        else:
            assert record.bound == pytest.approx(record.objective, abs=1e-6)
    # Table 4.3: the squared distance of firm 3 under l0+l2 is 0.3164, one input changed
    table = records.load_instances(cost["l0+l2"])
    row = table[table["row"].map(str) == "3"].iloc[0]
    assert row["cost"] == pytest.approx(1.0 + 0.31640625, abs=1e-6)


def test_a_second_run_keeps_what_is_there(studies, tmp_path):
    first = {r.key: r.started for r in run(studies["tab-4.2"], tmp_path)}
    assert {r.key: r.started for r in run(studies["tab-4.2"], tmp_path)} == first


def test_units_that_are_not_public_are_skipped_by_name_and_solved_from_a_file(studies, tmp_path):
    study = next(s for s in studies.values() if s["dataset"] == "branches_canadian")
    skipped = run(study, tmp_path / "without")
    assert {r.status for r in skipped} == {records.SKIPPED}
    assert "branches_canadian" in skipped[0].message
    assert "data.files" in skipped[0].message
    frame = synthetic_branches(12)
    short = tmp_path / "short.csv"
    frame.drop(columns=UNITS["branches_canadian"][0][0]).to_csv(short)
    with pytest.raises(GroupcfError, match=str(UNITS["branches_canadian"][0][0])):
        run(study, tmp_path / "short", {"branches_canadian": str(short)})
    whole = tmp_path / "whole.csv"
    frame.to_csv(whole)
    small = {k: v for k, v in study.items() if k != "targets"} | {"targets": {"scale": "own"}}
    found = run(small, tmp_path / "with", {"branches_canadian": str(whole)})
    assert {r.status for r in found} == {"optimal"}
    assert found[0].dataset["rows"] == 12


def test_a_question_without_a_target_names_the_key(studies, tmp_path):
    study = studies["tab-4.2"] | {"sweep": {"target_cost": ["l2"]}, "published": []}
    with pytest.raises(GroupcfError, match="target is needed"):
        run(study, tmp_path)
    (record,) = records.load_records(tmp_path / "records")
    assert record.status == records.FAILED


def test_a_curve_is_solved_with_proof_and_verified(studies, tmp_path):
    study = studies["fig-3.2"] | {"sweep": {"b_max": [1]}}
    (record,) = run(study, tmp_path)
    assert record.status == "optimal"
    assert record.verified
    assert record.objective - record.bound <= 1e-6


def test_a_class_that_curves_do_not_have_is_named(studies, tmp_path):
    study = studies["fig-3.2"] | {"curves": {"unwanted": "1", "wanted": "july"}}
    with pytest.raises(GroupcfError, match="july"):
        run(study, tmp_path)
