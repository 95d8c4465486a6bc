"""Sparse one-for-many in the pipeline: cells, methods, jobs of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from groupcf import records
from groupcf.datasets import load, train_test_rows
from groupcf.errors import GroupcfError
from groupcf.pipeline import data as data_stage
from groupcf.pipeline import solving
from groupcf.pipeline.config import solve_options, training_key
from groupcf.pipeline.training import read_classifier, train_classifier

OPTIONS = {"method": "auto", "solver": "auto", "time_limit": 60, "threads": 1}
STUDY = {
    "id": "cells",
    "title": "Cells",
    "chapter": 2,
    "kind": "sparse_one_for_many",
    "dataset": "compas_binned",
    "variant": "published",
    "classifiers": ["logistic"],
    "test_share": 0.5,
    "instances": "test_rows",
    "timed": "solve",
    "methods": ["pattern pricing with proof", "plain MILP"],
    "nu": 0.5,
    "allocation": {},
    "cost": {},
    "sweep": {"J_max": [2, 3], "S": [10]},
    "published": [{"when": {"J_max": 2}, "incumbent": 5, "milp": 6}],
    "figure": {"kind": "methods"},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    home = tmp_path_factory.mktemp("sparse")
    data_stage.prepare("compas_binned", "published", home / "data.json", home / "raw")
    train_classifier("logistic", home / "data.json", home / "model.json", test_share=0.5)
    return home


def run(prepared, home, study=STUDY, **more):
    paths = {"logistic": prepared / "model.json"}
    index = home / f"{more.get('only', 'all')}.json"
    solving.run_study(
        study, prepared / "data.json", paths, home / "records", index, OPTIONS, **more
    )
    return records.load_records(home / "records")


def test_the_classifier_is_trained_on_the_half_that_is_not_explained(prepared):
    data = load("compas_binned")
    fit, held = train_test_rows(data, 0.5)
    _, described = read_classifier(prepared / "model.json")
    assert described["test_share"] == 0.5
    assert not set(fit) & set(held)
    assert training_key(STUDY, "logistic") == "compas_binned-published-50-logistic"


def test_each_solve_can_be_a_job_of_its_own_and_the_study_collects_them(prepared, tmp_path):
    for order in range(4):
        found = run(prepared, tmp_path, only=order)
        assert len(found) == order + 1
    started = {r.key: r.started for r in found}
    found = run(prepared, tmp_path)
    assert {r.key: r.started for r in found} == started
    assert json.loads((tmp_path / "all.json").read_text())["keys"] == [r.key for r in found]
    exact, plain = ([r for r in found if r.method == m] for m in STUDY["methods"])
    assert [r.objective for r in exact] == [r.objective for r in plain]
    assert all(r.status == "optimal" and r.verified for r in found)
    assert [r.parameters["J_max"] for r in exact] == [2, 3]
    assert exact[0].published == {"incumbent": 5, "milp": 6}
    assert exact[1].published is None
    clusters = exact[0].details["clusters"]
    assert len(clusters) == exact[0].objective == len(exact[0].details["points"]["values"])
    assert sum(c["size"] for c in clusters) == 10
    table = records.load_instances(exact[0])
    data = load("compas_binned")
    assert table["row"].tolist() == train_test_rows(data, 0.5)[1][:10].tolist()
    changed = [c for c in table.columns if c.startswith("diff ")]
    assert (table["cost"] == (table[changed] != 0).sum(axis=1)).all()
    assert (table["probability"] >= 0.5).all()


def test_new_labels_reach_a_record_that_is_kept(prepared, tmp_path):
    study = STUDY | {"methods": STUDY["methods"][:1]}
    before = run(prepared, tmp_path, study)
    after = run(prepared, tmp_path, study | {"title": "Other", "published": [], "note": "why"})
    assert [r.started for r in after] == [r.started for r in before]
    assert {(r.title, r.note, r.published) for r in after} == {("Other", "why", None)}
    assert records.load_instances(after[0]) is not None


def test_more_instances_than_there_are_is_refused_by_key(prepared, tmp_path):
    with pytest.raises(GroupcfError, match="key S: 99999 is more than the"):
        run(prepared, tmp_path, STUDY | {"sweep": {"J_max": [2], "S": [99999]}})


def test_timed_studies_have_a_limit_of_their_own():
    config = {"solve": OPTIONS, "timing": {"time_limit": 7}}
    assert solve_options(config, STUDY)["time_limit"] == 7
    assert solve_options(config, {k: v for k, v in STUDY.items() if k != "timed"}) == OPTIONS


def test_predicted_negatives_are_rejected_rows(prepared, tmp_path):
    study = STUDY | {
        "instances": "predicted_negative",
        "methods": STUDY["methods"][:1],
        "sweep": {"J_max": [3], "S": [25]},
    }
    (record,) = run(prepared, tmp_path, study)
    table = records.load_instances(record)
    assert (table["probability0"] < 0.5).all()
    assert np.all(np.diff(table["row"]) > 0)
