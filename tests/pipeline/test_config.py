"""Configuration: every fault is named by file and key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from groupcf.errors import ConfigError
from groupcf.pipeline.config import (
    digest,
    fingerprint,
    load_studies,
    published_value,
    read_yaml,
    solves,
    validate,
)

ROOT = Path(__file__).parents[2]
STUDY = {
    "id": "s1",
    "title": "t",
    "chapter": 2,
    "kind": "one_for_one",
    "dataset": "boston",
    "classifiers": ["logistic"],
    "instances": "boston_10",
    "figure": {"kind": "heatmap"},
}


@pytest.fixture
def configured(tmp_path):
    """Write studies to a file beside the project's schemas; return how to load them."""

    def load(*studies, only=None):
        (tmp_path / "workflow").symlink_to(ROOT / "workflow")
        (tmp_path / "groups.yaml").write_text("boston_10: {dataset: boston, rows: [1, 2]}\n")
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(list(studies)))
        config = {"instances": "groups.yaml", "studies": ["s.yaml"], "only": only}
        return load_studies(config, tmp_path)

    return load


def test_defaults_and_rows_are_filled_in(configured):
    study = configured(STUDY)["s1"]
    assert study["variant"] == "published"
    assert study["nu"] == 0.5
    assert study["rows"] == [1, 2]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"nu": 1.0}, "key nu"),
        ({"lambda": 1}, "lambda"),
        ({"cost": {"lam_globe": 0.1}}, "lam_globe"),
        ({"allocation": {"s_share": 0}}, r"key allocation\.s_share"),
        ({"kind": "magic"}, "key kind"),
        ({"classifiers": []}, "key classifiers"),
        ({"instances": "boston_11"}, "'boston_11' is none of"),
        ({"instances": "boston_10", "dataset": "credit"}, "belongs to data set 'boston'"),
        ({"sweep": {"fmax": [1]}}, "fmax"),
        ({"id": "Fig 1"}, "key id"),
    ],
)
def test_a_faulty_study_is_refused_by_study_and_key(configured, change, part):
    with pytest.raises(ConfigError, match=part) as error:
        configured(STUDY | change)
    assert "s.yaml" in str(error.value)


def test_repeated_and_unknown_ids(configured):
    with pytest.raises(ConfigError, match="occurs twice"):
        configured(STUDY, STUDY)


def test_unknown_selection_lists_the_known_ones(configured):
    with pytest.raises(ConfigError, match=r"no study \['s2'\].*s1"):
        configured(STUDY, only=["s2"])


def test_missing_and_broken_files_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: no such"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1")
    with pytest.raises(ConfigError, match=r"bad\.yaml: not valid YAML"):
        read_yaml(tmp_path / "bad.yaml")


@pytest.mark.parametrize("name", ["config.yaml", "smoke.yaml", "timing.yaml"])
def test_the_shipped_configurations_are_valid(name):
    config = read_yaml(ROOT / "config" / name)
    validate(config, read_yaml(ROOT / "workflow/schemas/config.schema.yaml"), name)
    assert load_studies(config, ROOT)


def test_every_key_of_the_configuration_is_documented():
    text = (ROOT / "config" / "README.md").read_text()
    for schema in ("config", "study"):
        keys = read_yaml(ROOT / f"workflow/schemas/{schema}.schema.yaml")["properties"]
        for key, described in keys.items():
            for name in (key, *described.get("properties", {})):
                assert f"`{name}`" in text, f"{schema}: {name}"


def test_a_sweep_expands_to_one_solve_a_value_and_classifier():
    study = STUDY | {
        "nu": 0.5,
        "cost": {"lam_glob": 1},
        "allocation": {},
        "classifiers": ["logistic", "linear_svm"],
        "sweep": {"f_max": [1, 2], "nu": [0.5, 0.9]},
    }
    found = list(solves(study))
    assert len(found) == 8
    assert found[1] == {
        "classifier": "logistic",
        "parameters": {"nu": 0.9, "lam_glob": 1, "f_max": 1},
    }


def test_published_values_are_matched_by_parameters():
    study = {"published": [{"when": {"f_max": 1}, "status": "infeasible"}, {"n_features": 3}]}
    solve = {"classifier": "logistic", "parameters": {"f_max": 1}}
    assert published_value(study, solve) == {"status": "infeasible"}
    solve["parameters"]["f_max"] = 2
    assert published_value(study, solve) == {"n_features": 3}
    assert published_value({}, solve) is None


def test_hashes_depend_on_content_alone():
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert fingerprint("features") == fingerprint("features")
    assert fingerprint("features") != fingerprint("features", "costs")
