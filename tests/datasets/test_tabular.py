"""Processed tables against the published ones, cell by cell."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from groupcf.datasets import (
    files_of,
    load,
    load_efficiencies,
    load_series,
    load_units,
    names,
    train_test_rows,
    where,
)
from groupcf.datasets.preprocessing import GERMAN_COLUMNS
from groupcf.datasets.registry import students_table
from groupcf.datasets.series import parse_ts
from groupcf.errors import ConfigError, DataError, SourceUnavailableError

INSTANCES = yaml.safe_load((Path(__file__).parents[2] / "config" / "instances.yaml").read_text())


@pytest.mark.mirror
def test_boston_equals_the_published_scaled_table(mirror):
    published = pd.read_csv(mirror / "boston_normalized.csv")
    data = load("boston")
    assert list(data.frame.columns) == list(published.columns[:-1])
    assert np.allclose(data.X, published.drop(columns="target"), rtol=0, atol=1e-15)
    assert (data.y == published["target"]).all()


@pytest.mark.mirror
def test_credit_from_the_raw_table_equals_the_published_one(mirror):
    published = pd.read_csv(mirror / "credit_processed.csv.gz")
    data = load("credit")
    assert data.frame.shape == (29623, 14)
    pd.testing.assert_frame_equal(data.frame, published.drop(columns="NoDefaultNextMonth"))
    assert (data.y == np.where(published["NoDefaultNextMonth"] == 1, 1, -1)).all()


@pytest.mark.mirror
def test_compas_from_the_raw_table_equals_the_published_one(mirror):
    published = pd.read_csv(mirror / "compas_processed.csv", sep=";", encoding="utf-8-sig")
    data = load("compas")
    assert data.frame.shape == (6172, 5)
    pd.testing.assert_frame_equal(data.frame, published[list(data.frame.columns)])
    assert (data.y == np.where(published["TwoYearRecid"] == 0, 1, -1)).all()


@pytest.mark.mirror
def test_german_from_the_labels_equals_the_publisher_s_codes(mirror):
    published = pd.read_csv(
        mirror / "german.data", sep=" ", header=None, names=list(GERMAN_COLUMNS)
    )
    data = load("german")
    assert data.frame.shape == (1000, 20)
    pd.testing.assert_frame_equal(data.frame, published.drop(columns="class"))
    assert (data.y == np.where(published["class"] == 1, 1, -1)).all()


@pytest.mark.mirror
def test_students_table_from_the_publisher_s_layout(mirror):
    """UCI's file has grades instead of the class; the rest is the published file's text."""
    content = (mirror / "Students-Performance-MAT.csv").read_bytes()
    table = pd.read_csv(io.BytesIO(content))
    passed = table.pop("Class")
    table = table.assign(G1=1, G2=2, G3=np.where(passed == 1, 12, 11))
    quoted = table.to_csv(index=False, sep=";", quoting=csv.QUOTE_NONNUMERIC).encode()
    assert students_table(quoted) == content


@pytest.mark.mirror
def test_students_published_preprocessing_has_eight_constant_columns(mirror):
    published, corrected = load("students"), load("students", variant="corrected")
    constant = (published.frame == published.frame.iloc[0]).all()
    assert constant.sum() == 8
    assert (published.frame.loc[:, constant] == "yes").all(axis=None)
    assert not (corrected.frame == corrected.frame.iloc[0]).all().any()
    assert (published.y == corrected.y).all()
    assert published.notes
    assert published.sha256 != corrected.sha256
    assert (published.frame.loc[:, ~constant] == corrected.frame.loc[:, ~constant]).all(axis=None)


@pytest.mark.parametrize(
    ("name", "columns", "features", "nominal"),
    [("compas_binned", 15, 5, 3), ("german_binned", 59, 20, 11)],
)
def test_binned_tables_have_the_published_columns(name, columns, features, nominal):
    check_binned(load(name), columns, features, nominal)


@pytest.mark.mirror
@pytest.mark.parametrize("variant", ["published", "corrected"])
def test_binned_students_have_the_published_columns(mirror, variant):
    data = load("students_binned", variant=variant)
    check_binned(data, 85, 30, 16)
    assert set(data.frame["age"]) == {"15-16", "17", "18+"}


def check_binned(data, columns, features, nominal):
    space = data.space
    assert (space.n_columns, space.n_features) == (columns, features)
    kinds = Counter(str(f.kind) for f in space.features)
    assert kinds == {"nominal": nominal, "binary": features - nominal}
    assert set(np.unique(data.X)) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("name", "column", "value", "binned"),
    [
        ("compas", "PriorsCount", 0, "0"),
        ("compas", "PriorsCount", 3, "2-3"),
        ("compas", "PriorsCount", 4, ">3"),
        ("german", "amount", 2319, "<=2319.5"),
        ("german", "amount", 2320, ">2319.5"),
        ("german", "age", 33, "<=33"),
        ("german", "age", 34, ">33"),
    ],
)
def test_cut_points(name, column, value, binned):
    base, table = load(name), load(f"{name}_binned")
    at = np.flatnonzero(base.frame[column] == value)
    assert len(at)
    assert set(table.frame[column].iloc[at]) == {binned}


@pytest.mark.mirror
@pytest.mark.parametrize("group", sorted(INSTANCES))
def test_published_instances_are_these_rows(mirror, group):
    entry = INSTANCES[group]
    published = pd.read_csv(mirror / entry["file"])
    data = load(entry["dataset"])
    ours = pd.DataFrame(data.X, columns=data.space.columns).iloc[entry["rows"]]
    if entry["dataset"] == "students":
        codes = published.drop(columns=["Mjob", "Fjob", "reason", "guardian"])
        labels = data.frame.iloc[entry["rows"]]
        for column in ("Mjob", "Fjob", "reason", "guardian"):
            assert list(labels[column]) == list(published[column])
    else:
        codes = published.rename(columns={c.split("=")[-1]: c for c in ours.columns})
        codes = codes[ours.columns]
    # the authors' files show amounts as the classifier saw them, counts and orders unscaled
    unit = {f.name: (f.offset, f.scale) for f in data.space.features}
    for column in codes.columns:
        offset, scale = unit.get(column, (0.0, 1.0))
        scaled, file = ours[column].to_numpy(), codes[column].to_numpy(float)
        error = min(np.abs(scaled - file).max(), np.abs(scaled * scale + offset - file).max())
        assert error < 1e-9, column


@pytest.mark.mirror
def test_the_published_negatives_are_those_of_the_published_classifier(mirror):
    from groupcf.classifiers import train

    data = load("boston")
    rows, _ = train_test_rows(data, 0.33)
    model = train("logistic", data.X[rows], data.y[rows])
    negative = data.X[model.predict(data.X) == -1]
    published = pd.read_csv(mirror / "x0_negativeclass.csv").to_numpy()
    assert len(negative) == 286
    assert np.abs(negative - published).max() < 1e-12


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("boston", "bundled"),
        ("credit", "bundled"),
        ("compas", "bundled"),
        ("german_binned", "bundled"),
        ("students", None),
        ("NATOPS", None),
        ("BasicMotions", "bundled"),
        ("banks1", "bundled"),
    ],
)
def test_where_without_mirror_and_network(no_mirror, tmp_path, name, served):
    assert where(name, cache=tmp_path) == served


def test_where_needs_all_files_of_a_set_and_reads_none(no_mirror, tmp_path):
    (tmp_path / "NATOPS_TRAIN.ts").write_bytes(b"not read")
    assert where("NATOPS", cache=tmp_path) is None
    (tmp_path / "NATOPS_TEST.ts.gz").write_bytes(b"not read")
    assert where("NATOPS", cache=tmp_path) == "cache"


def test_without_a_source_the_file_is_named(no_mirror, tmp_path):
    with pytest.raises(SourceUnavailableError, match=r"Students-Performance.*GROUPCF_DATA_MIRROR"):
        load("students", cache=tmp_path)


def test_every_data_set_has_a_publisher_and_terms():
    for kind in ("tabular", "series", "units"):
        for name in names(kind):
            for file in files_of(name):
                assert file.origin.publisher
                assert file.origin.licence
                assert file.sha256


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ConfigError, match="boston"):
        load("bostn")
    with pytest.raises(ConfigError, match="corrected"):
        load("students", variant="other")
    with pytest.raises(ConfigError, match="banks1"):
        load_units("banks")
    with pytest.raises(ConfigError, match="banks1"):
        load_efficiencies("banks")
    with pytest.raises(ConfigError, match="NATOPS"):
        where("NATOP")
    with pytest.raises(ConfigError, match="tabular"):
        names("tables")
    with pytest.raises(ConfigError, match="no name of the UCR"):
        load_series("../NATOPS")


@pytest.mark.parametrize("name", [n for n in names("tabular") if not n.startswith("students")])
def test_tables_encode_and_decode(name, no_mirror, tmp_path):
    check_round_trip(load(name, cache=tmp_path))


@pytest.mark.mirror
@pytest.mark.parametrize("variant", ["published", "corrected"])
@pytest.mark.parametrize("name", ["students", "students_binned"])
def test_students_tables_encode_and_decode(mirror, name, variant):
    check_round_trip(load(name, variant=variant))


def check_round_trip(data):
    back = data.space.decode(data.X[:200])
    for column in data.frame.columns:
        ours, theirs = back[column], data.frame[column].head(200)
        if pd.api.types.is_float_dtype(ours):
            assert np.allclose(ours, theirs.astype(float), rtol=1e-12)
        else:
            assert list(ours) == list(theirs)
    assert set(data.y) == {-1, 1}
    assert data.space.violations(data.X, data.X) == []


def test_the_content_checksum_tells_tables_apart_and_is_stable(no_mirror):
    boston = load("boston")
    assert boston.sha256 == load("boston").sha256
    assert boston.sha256 != replace(boston, target=-boston.target).sha256


@pytest.mark.parametrize(("test_size", "sizes"), [(0.33, (339, 167)), (0.5, (253, 253))])
def test_split_is_that_of_scikit_learn(test_size, sizes):
    from sklearn.model_selection import train_test_split

    data = load("boston")
    train, test = train_test_rows(data, test_size, 0)
    assert (len(train), len(test)) == sizes
    X_train, X_test = train_test_split(data.X, test_size=test_size, random_state=0)
    assert (data.X[train] == X_train).all()
    assert (data.X[test] == X_test).all()


def test_series_shapes():
    italy, motions = load_series("ItalyPowerDemand"), load_series("BasicMotions")
    assert (italy.X_train.shape, italy.X_test.shape) == ((67, 1, 24), (1029, 1, 24))
    assert (motions.X_train.shape, motions.X_test.shape) == ((40, 6, 100), (40, 6, 100))
    assert set(italy.y_train) == {"1", "2"}


@pytest.mark.mirror
def test_natops_from_the_mirror(mirror):
    natops = load_series("NATOPS")
    assert natops.X_train.shape == natops.X_test.shape == (180, 24, 51)
    assert natops.X_train[0, 0, 0] == pytest.approx(-0.372758)


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ("1,2:3,4:a\n1,2,3:4,5,6:b", "line 3"),
        ("1,2:3:a", "unequal length"),
        ("1,x:a", "line 2"),
        ("1,nan:a", "missing"),
        ("", "no data lines"),
    ],
)
def test_bad_series_files_name_the_line(lines, part):
    with pytest.raises(DataError, match=part):
        parse_ts("@data\n" + lines, "x.ts")


def test_a_series_of_the_user_s_choice_is_taken_as_it_is(no_mirror, tmp_path):
    for part, last in (("TRAIN", "3,4:b"), ("TEST", "5,6:a")):
        (tmp_path / f"Mine_{part}.ts").write_text(f"@data\n1,2:a\n{last}\n")
    mine = load_series("Mine", cache=tmp_path)
    assert mine.X_test.tolist() == [[[1.0, 2.0]], [[5.0, 6.0]]]
    assert mine.notes
    assert where("Mine", kind="series", cache=tmp_path) == "cache"
    (tmp_path / "Mine_TEST.ts").write_text("@data\n1,2,3:a\n")
    with pytest.raises(DataError, match="test curves 1 of length 3"):
        load_series("Mine", cache=tmp_path)


@pytest.mark.mirror
def test_reference_efficiencies_belong_to_the_units(mirror):
    table = load_efficiencies("banks1")
    assert len(table) == len(load_units("banks1").frame)
    assert (table.filter(like="input") <= 1 + 1e-9).all(axis=None)
    assert (table.filter(like="output") >= 1 - 1e-9).all(axis=None)


def test_units():
    banks = load_units("banks1")
    assert banks.frame.shape == (247, 6)
    assert (banks.frame >= 0).all(axis=None)
