"""Processed tables against the published ones, cell by cell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from groupcf.datasets import DATASETS, load, load_series, load_units, train_test_rows, where
from groupcf.datasets.series import parse_ts
from groupcf.errors import ConfigError, DataError, SourceUnavailableError

INSTANCES = yaml.safe_load((Path(__file__).parents[2] / "config" / "instances.yaml").read_text())


def test_boston_equals_the_published_scaled_table(mirror):
    published = pd.read_csv(mirror / "boston_normalized.csv")
    data = load("boston")
    assert data.source == "bundled"
    assert np.allclose(data.X, published.drop(columns="target"), rtol=0, atol=1e-15)
    assert (data.y == published["target"]).all()


def test_credit_from_the_bundled_raw_table_equals_the_published_one(mirror):
    published = pd.read_csv(mirror / "credit_processed.csv.gz")
    data = load("credit")
    assert data.source == "bundled"
    assert data.frame.shape == (29623, 14)
    assert (data.frame == published.drop(columns="NoDefaultNextMonth")).all(axis=None)
    assert (data.y == np.where(published["NoDefaultNextMonth"] == 1, 1, -1)).all()


def test_compas_published_and_bundled(mirror):
    published, bundled = load("compas"), load("compas", variant="bundled")
    assert published.variant == "published"
    assert published.frame.shape == (6172, 5)
    assert bundled.frame.shape == (6167, 5)
    assert any("6167 rows" in note for note in bundled.notes)

    def rows(data):
        race = np.where(data.frame["Race"] == "Caucasian", "Caucasian", "not Caucasian")
        return Counter(data.frame.assign(Race=race, y=data.y).itertuples(index=False, name=None))

    # the bundled rows all occur in the published table, which has five more
    assert not rows(bundled) - rows(published)
    assert sum((rows(published) - rows(bundled)).values()) == 5


def test_german_bundled_differs_in_one_column_only(mirror):
    published, bundled = load("german"), load("german", variant="bundled")
    same = (published.frame == bundled.frame).all()
    assert list(same.index[~same]) == ["status_sex"]
    assert (published.y == bundled.y).all()


def test_students_published_preprocessing_has_eight_constant_columns(mirror):
    published, corrected = load("students"), load("students", variant="corrected")
    constant = published.frame.nunique() < 2
    assert constant.sum() == 8
    assert (corrected.frame.nunique() > 1).all()
    assert (published.frame.loc[:, ~constant] == corrected.frame.loc[:, ~constant]).all(axis=None)


@pytest.mark.parametrize(
    ("name", "columns", "features"),
    [("compas_binned", 15, 5), ("students_binned", 85, 30), ("german_binned", 59, 20)],
)
def test_binned_tables_have_the_published_number_of_columns(mirror, name, columns, features):
    data = load(name)
    assert (data.space.n_columns, data.space.n_features) == (columns, features)
    assert all(f.discrete for f in data.space.features)


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
    assert np.abs(ours[codes.columns].to_numpy() - codes.to_numpy(float)).max() < 1e-9


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
        ("compas", "bundled instead"),
        ("students", None),
    ],
)
def test_where_without_mirror_and_network(no_mirror, tmp_path, name, served):
    assert where(name, cache=tmp_path) == served


def test_without_the_mirror_the_bundled_variant_says_so(no_mirror, tmp_path):
    data = load("compas", cache=tmp_path)
    assert data.variant == "bundled"
    assert data.notes
    with pytest.raises(SourceUnavailableError, match="Students-Performance"):
        load("students", cache=tmp_path)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ConfigError, match="boston"):
        load("bostn")
    with pytest.raises(ConfigError, match="corrected"):
        load("students", variant="other")
    with pytest.raises(ConfigError, match="banks1"):
        load_units("banks")


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_bundled_variant_encodes_and_decodes(name, no_mirror, tmp_path):
    if where(name, cache=tmp_path) is None:
        pytest.skip(f"{name} is not bundled")
    data = load(name, cache=tmp_path)
    back = data.space.decode(data.X[:200])
    for column in data.frame.columns:
        ours, theirs = back[column], data.frame[column].head(200)
        if pd.api.types.is_float_dtype(ours):
            assert np.allclose(ours, theirs.astype(float), rtol=1e-12)
        else:
            assert list(ours) == list(theirs)


def test_series_shapes():
    italy, motions = load_series("ItalyPowerDemand"), load_series("BasicMotions")
    assert (italy.X_train.shape, italy.X_test.shape) == ((67, 1, 24), (1029, 1, 24))
    assert (motions.X_train.shape, motions.X_test.shape) == ((40, 6, 100), (40, 6, 100))
    assert set(italy.y_train) == {"1", "2"}


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


def test_units():
    banks = load_units("banks1")
    assert banks.frame.shape == (247, 6)
    assert (banks.frame >= 0).all(axis=None)
