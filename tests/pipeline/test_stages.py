"""The stages of the pipeline without the workflow manager."""

from __future__ import annotations

import json

import numpy as np
import pytest

from groupcf import records
from groupcf.errors import GroupcfError
from groupcf.pipeline import data as data_stage
from groupcf.pipeline import solving
from groupcf.pipeline.reporting import closing_message, write_summary
from groupcf.pipeline.training import read_classifier, train_classifier

OPTIONS = {"method": "auto", "solver": "auto", "time_limit": 60, "threads": 1}
STUDY = {
    "id": "demo",
    "title": "Demo",
    "chapter": 2,
    "kind": "one_for_one",
    "dataset": "boston",
    "variant": "published",
    "classifiers": ["logistic"],
    "instances": "boston_10",
    "rows": [9, 49, 60],
    "nu": 0.5,
    "allocation": {},
    "cost": {"lam_glob": 0.2},
    "sweep": {"f_max": [1, 2, 3]},
    "figure": {"kind": "heatmap"},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    home = tmp_path_factory.mktemp("stages")
    data_stage.prepare("boston", "published", home / "boston.json", home / "raw")
    train_classifier("logistic", home / "boston.json", home / "model.json")
    return home


def run(prepared, home, study=STUDY, options=OPTIONS):
    solving.run_study(
        study,
        prepared / "boston.json",
        {"logistic": prepared / "model.json"},
        home / "records",
        home / "studies" / "demo.json",
        options,
    )
    return records.load_records(home / "records")


def times(found):
    return {r.key: r.started + str(r.seconds) for r in found}


def test_prepared_data_and_classifier_come_back_as_they_were(prepared):
    from groupcf.datasets import load

    data, original = data_stage.read(prepared / "boston.json"), load("boston")
    assert data.sha256 == original.sha256
    assert np.array_equal(data.X, original.X)
    classifier, described = read_classifier(prepared / "model.json")
    assert described["score_error"] < 1e-9
    assert described["accuracy_test"] == pytest.approx(
        (classifier.predict_wanted(data.X) == (data.y == 1)).mean(), abs=0.1
    )


@pytest.mark.parametrize("name", ["linear_svm", "random_forest", "xgboost", "network"])
def test_every_classifier_of_the_configuration_trains_and_is_read_exactly(prepared, tmp_path, name):
    train_classifier(name, prepared / "boston.json", tmp_path / "model.json")
    _, described = read_classifier(tmp_path / "model.json")
    assert described["score_error"] < 1e-9
    assert described["accuracy_test"] > 0.8


def test_a_study_writes_one_verified_record_a_solve(prepared, tmp_path):
    found = run(prepared, tmp_path)
    assert [r.parameters["f_max"] for r in found] == [1, 2, 3]
    index = json.loads((tmp_path / "studies" / "demo.json").read_text())
    assert index["keys"] == [r.key for r in found]
    for record in found:
        assert record.status in ("optimal", "infeasible")
        if record.status == "optimal":
            assert record.verified
            table = records.load_instances(record)
            assert list(table["row"]) == [9, 49, 60]
            assert (table["probability"] >= 0.5).all()
            unchanged = table["diff LSTAT"] == 0
            assert (table["from LSTAT"] == table["to LSTAT"])[unchanged].all()
        else:
            assert record.message


def test_finished_solves_are_kept_and_only_the_missing_are_done(prepared, tmp_path):
    first = run(prepared, tmp_path)
    lost = first[1]
    (lost.directory / "record.json").unlink()  # as if the job had been killed here
    (tmp_path / "studies" / "demo.json").unlink()
    second = run(prepared, tmp_path)
    before, after = times(first), times(second)
    assert {k for k in before if before[k] == after[k]} == set(before) - {lost.key}


def test_changing_a_parameter_redoes_what_depends_on_it_and_drops_the_rest(prepared, tmp_path):
    first = run(prepared, tmp_path)
    second = run(prepared, tmp_path, STUDY | {"nu": 0.6})
    assert not {r.key for r in first} & {r.key for r in second}
    assert len(list((tmp_path / "records" / "demo").iterdir())) == 3


def test_values_are_the_same_run_after_run(prepared, tmp_path):
    def values(home):
        return [
            (r.key, r.status, r.objective, r.bound, r.verified, r.changed_features, r.outliers)
            for r in run(prepared, home)
        ]

    assert values(tmp_path / "a") == values(tmp_path / "b")


def test_a_failing_solve_leaves_a_record_and_is_tried_again(prepared, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("solver exploded")

    with monkeypatch.context() as patched:
        patched.setattr("groupcf.pipeline.studies.one_for_one.route", broken)
        with pytest.raises(GroupcfError, match=r"3 solves failed.*solver exploded"):
            run(prepared, tmp_path)
    found = records.load_records(tmp_path / "records")
    assert {r.status for r in found} == {"failed"}
    assert all("solver exploded" in r.message and "Traceback" not in r.message for r in found)
    assert not (tmp_path / "studies" / "demo.json").exists()
    assert {r.status for r in run(prepared, tmp_path)} <= {"optimal", "infeasible"}


def test_unavailable_data_are_skipped_by_name_all_the_way(tmp_path, monkeypatch):
    monkeypatch.delenv("GROUPCF_DATA_MIRROR", raising=False)
    monkeypatch.setenv("GROUPCF_OFFLINE", "1")
    data_stage.prepare("students", "published", tmp_path / "students.json", tmp_path / "raw")
    train_classifier("logistic", tmp_path / "students.json", tmp_path / "model.json")
    study = STUDY | {"dataset": "students", "id": "skipped-one"}
    solving.run_study(
        study,
        tmp_path / "students.json",
        {"logistic": tmp_path / "model.json"},
        tmp_path / "records",
        tmp_path / "studies.json",
        OPTIONS,
    )
    found = records.load_records(tmp_path / "records")
    assert {r.status for r in found} == {"skipped"}
    assert all("Students-Performance" in r.message for r in found)
    message = closing_message(tmp_path / "records", ["skipped-one"], tmp_path)
    assert "skipped for lack of data: skipped-one" in message
    assert "GROUPCF_DATA_MIRROR" in message


def test_rows_outside_of_the_data_are_a_named_failure(prepared, tmp_path):
    with pytest.raises(GroupcfError, match="row 9999"):
        run(prepared, tmp_path, STUDY | {"rows": [9999]})


def test_summary_has_one_row_a_solve(prepared, tmp_path):
    import pandas as pd

    run(prepared, tmp_path)
    write_summary(tmp_path / "records", ["demo"], tmp_path / "summary.csv")
    table = pd.read_csv(tmp_path / "summary.csv")
    assert list(table.columns) == [
        "study",
        "dataset",
        "classifier",
        "model",
        "method",
        "parameters",
        "status",
        "objective",
        "bound",
        "gap",
        "seconds",
        "verified",
        "published",
        "note",
    ]
    assert len(table) == 3
    assert [json.loads(p)["f_max"] for p in table["parameters"]] == [1, 2, 3]
