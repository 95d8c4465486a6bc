"""Import of records into MLflow: idempotent, complete, failures marked."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from groupcf import records
from groupcf.records import Record
from groupcf.tracking import default_uri, import_records

BASE = Record(
    study="s1",
    key="k1",
    chapter=2,
    status="optimal",
    objective=2.0,
    bound=2.0,
    gap=0.0,
    seconds=1.5,
    parameters={"nu": 0.5},
    history=[[0.1, 3.0, 1.0, None, None], [1.0, 2.0, 2.0, None, None]],
    verified=True,
    started="2026-01-01T00:00:00+00:00",
    dataset={"name": "boston", "variant": "published", "sha256": "abc"},
    classifier={"name": "logistic", "accuracy_test": 0.9},
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


def write(home, *found):
    for r in found:
        records.write(home / r.study / r.key, r, pd.DataFrame({"row": [1]}))
    return records.load_records(home)


def runs(uri):
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiments = [e.experiment_id for e in client.search_experiments()]
    return client, client.search_runs(experiments)


def test_import_creates_keeps_replaces_and_removes(store):
    uri = default_uri(store)
    failed = replace(BASE, key="k2", status="failed", objective=None, verified=None, message="no")
    found = write(store / "records", BASE, failed)
    options = {"artifacts": store / "artifacts", "invocation": "first"}
    assert import_records(found, uri, **options) == {"created": 2, "kept": 0, "deleted": 0}
    assert import_records(found, uri, **options) == {"created": 0, "kept": 2, "deleted": 0}

    client, present = runs(uri)
    by_key = {r.data.tags["key"]: r for r in present}
    assert by_key["k1"].info.status == "FINISHED"
    assert by_key["k2"].info.status == "FAILED"
    assert by_key["k1"].data.metrics["objective"] == 2.0
    assert by_key["k1"].data.params["nu"] == "0.5"
    history = client.get_metric_history(by_key["k1"].info.run_id, "history.bound")
    assert [(m.step, m.value) for m in history] == [(0, 1.0), (1, 2.0)]
    names = {a.path for a in client.list_artifacts(by_key["k1"].info.run_id)}
    assert names == {"record.json", "instances.parquet"}
    assert client.get_experiment(by_key["k1"].info.experiment_id).name == "groupcf chapter 2"

    # a changed record is replaced, a record that is gone loses its run
    found = write(store / "records", replace(BASE, objective=1.0, bound=1.0))
    assert import_records(found[:1], uri, **options) == {"created": 1, "kept": 0, "deleted": 2}
    _, present = runs(uri)
    assert [r.data.metrics["objective"] for r in present] == [1.0]


def test_an_import_that_was_killed_is_completed(store, monkeypatch):
    uri = default_uri(store)
    found = write(store / "other", replace(BASE, study="s2"))
    options = {"artifacts": store / "artifacts"}

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copy", killed)
        with pytest.raises(KeyboardInterrupt):
            import_records(found, uri, **options)
    assert import_records(found, uri, **options) == {"created": 1, "kept": 0, "deleted": 1}
