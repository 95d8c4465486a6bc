"""Records are whole or absent, and survive what a disk can do to them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from groupcf import records
from groupcf.errors import DataError
from groupcf.records import Record

RECORD = Record(
    study="s",
    key="k",
    status="optimal",
    objective=1.5,
    bound=1.5,
    gap=0.0,
    history=[[0.1, 2.0, None, None, None]],
    changed_features={"Año": 3},
)
TABLE = pd.DataFrame({"row": [1, 2], "from x": ["a", "b"]})


def test_round_trip(tmp_path):
    records.write(tmp_path / "s" / "k", RECORD, TABLE)
    (back,) = records.load_records(tmp_path)
    assert back.to_dict() == RECORD.to_dict()
    pd.testing.assert_frame_equal(records.load_instances(back), TABLE)


def test_a_record_replaces_the_old_one_completely(tmp_path):
    records.write(tmp_path / "s" / "k", RECORD, TABLE)
    records.write(tmp_path / "s" / "k", Record(study="s", key="k", status="infeasible"))
    (back,) = records.load_records(tmp_path)
    assert back.status == "infeasible"
    assert records.load_instances(back) is None
    assert [p.name for p in (tmp_path / "s").iterdir()] == ["k"]


@pytest.mark.parametrize("step", ["to_parquet", "write_text"])
def test_a_failing_write_leaves_the_old_record(tmp_path, monkeypatch, step):
    records.write(tmp_path / "s" / "k", RECORD, TABLE)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "pandas.DataFrame.to_parquet" if step == "to_parquet" else "pathlib.Path.write_text", full
    )
    with pytest.raises(OSError, match="No space"):
        records.write(tmp_path / "s" / "k", Record(study="s", key="k", status="x"), TABLE)
    monkeypatch.undo()
    assert [r.status for r in records.load_records(tmp_path)] == ["optimal"]
    assert [p.name for p in (tmp_path / "s").iterdir()] == ["k"]


def test_half_written_directories_are_not_read(tmp_path):
    records.write(tmp_path / "s" / "k", RECORD)
    (tmp_path / "s" / ".k.abc").mkdir()
    (tmp_path / "s" / ".k.abc" / "record.json").write_text("{")
    assert len(records.load_records(tmp_path)) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}'])
def test_a_damaged_record_is_named(tmp_path, text):
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "record.json").write_text(text)
    with pytest.raises(DataError, match=r"record\.json"):
        records.load(tmp_path / "k")


def test_numbers_that_json_does_not_know_become_none():
    value = {"a": math.inf, "b": np.float64("nan"), "c": np.int64(3), "d": (np.array([1.0]),)}
    assert records.plain(value) == {"a": None, "b": None, "c": 3, "d": [[1.0]]}
