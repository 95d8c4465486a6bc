"""The summary file and the comparison with published values."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcf.report import tables
from groupcf.report.tables import compare, comparison, natural, summary


def test_summary_has_one_row_per_solve_and_survives_csv(make, unsolved, instances, boston) -> None:
    records = [
        make("k1", instances(3, boston), study="fig-2.10", published={"objective": 2.1264},
             note='says "so", and more'),
        unsolved("k2", "skipped", study="fig-2.9", message="no data; set GROUPCF_DATA_MIRROR",
                 dataset={"name": "students", "variant": "corrected"}, classifier=None),
    ]  # fmt: skip
    frame = summary(records)
    assert list(frame.columns) == list(tables.SUMMARY)
    assert frame["study"].tolist() == ["fig-2.9", "fig-2.10"]
    back = pd.read_csv(io.StringIO(frame.to_csv(index=False)), keep_default_na=False)
    assert back.loc[1, "objective"] == "2.126357949"
    assert json.loads(back.loc[1, "parameters"]) == {"nu": 0.5, "lam_ind": 0.02}
    assert json.loads(back.loc[1, "published"]) == {"objective": 2.1264}
    assert back.loc[1, "note"] == 'says "so", and more'
    assert back.loc[0].tolist()[1:3] == ["students-corrected", ""]
    assert back.loc[0, "note"] == "no data; set GROUPCF_DATA_MIRROR"
    assert back["verified"].tolist() == ["", "true"]


def test_summary_of_nothing_has_its_columns() -> None:
    assert list(summary([]).columns) == list(tables.SUMMARY)
    assert list(comparison([]).columns) == list(tables.COMPARISON)


@pytest.mark.parametrize(
    ("published", "ours", "agrees"),
    [
        (37.1479, 37.147889131, "yes"),
        (37.1479, 37.14796, "no"),
        (20.7799, 20.77985, "yes"),
        (0.31, 0.3164, "no"),
        (2, 2, "yes"),
        (2, 5, "no"),
        (32, 32.4, "no"),
        ("infeasible", "infeasible", "yes"),
        ("infeasible", "optimal", "no"),
        ([3, 1], [1, 3], "yes"),
        ([3, 1], [1, 2], "no"),
        ([], [], "yes"),
        (1.0, None, ""),
    ],
)
def test_agreement_is_agreement_in_the_digits_published(published, ours, agrees: str) -> None:
    assert compare(published, ours)[0] == agrees


@given(st.floats(0.001, 1e6), st.integers(1, 6))
def test_a_value_always_agrees_with_its_own_rounding(value: float, digits: int) -> None:
    assert compare(round(value, digits), value)[0] == "yes"


@given(st.floats(1.0, 1e6), st.integers(1, 6), st.sampled_from([1, -1]))
def test_a_value_off_by_one_digit_does_not_agree(value: float, digits: int, sign: int) -> None:
    published = round(value, digits)
    if repr(published).split(".")[1] == "0" or len(repr(published).split(".")[1]) < digits:
        return  # fewer digits are printed than asked for: coarser agreement is right
    assert compare(published, published + sign * 10.0**-digits)[0] == "no"


def test_differences_are_spelt_out() -> None:
    assert compare(4, 3)[1] == "−1 (−25 %)"
    assert compare(["LSTAT", "RM"], ["RM", "TAX"])[1] == (
        "1 in common; only published: LSTAT; only here: TAX"
    )


def test_comparison_names_quantities_settings_and_notes(make, unsolved, instances, boston) -> None:
    frame = instances(20, boston, 2)
    left = frame.loc[~frame["flipped"], "row"].tolist()
    records = [
        make("k1", frame, parameters={"nu": 0.5, "lam_glob": 0.1}, note="charged once",
             published={"outliers": [*left, -1], "n_features": 7, "note": "Figure 2.4"}),
        make("k2", frame, parameters={"nu": 0.5, "lam_glob": 10},
             published={"n_outliers": 2, "features": ["LSTAT"]}),
        unsolved("k3", "infeasible", parameters={"nu": 0.5, "lam_glob": 50},
                 published={"status": "infeasible", "objective": 3.5}),
        unsolved("k4", "skipped", published={"objective": 3.5}),
    ]  # fmt: skip
    found = comparison(records).set_index(["parameters", "quantity"])
    assert found["agrees"].to_dict() == {
        ("λ_glob = 0.1", "outliers"): "no",
        ("λ_glob = 0.1", "number of features changed"): "yes",
        ("λ_glob = 10", "number of outliers"): "yes",
        ("λ_glob = 10", "features changed"): "no",
        ("λ_glob = 50", "outcome"): "yes",
        ("λ_glob = 50", "objective"): "",
        ("λ_ind = 0.02", "objective"): "",
    }
    row = found.loc[("λ_glob = 0.1", "outliers")]
    assert row["difference"] == "2 in common; only published: -1"
    assert row["note"] == "Figure 2.4 charged once"


def test_the_most_features_of_a_sweep_are_compared_once_per_classifier(
    make, instances, boston
) -> None:
    records = [
        make(f"k{f}{c}", instances(20, boston[: 2 * f]), study="fig-2.17",
             classifier={"name": c, "sha256": f"{f}"},
             parameters={"f_max": f}, published={"max_features": 5})
        for f in (1, 3, 5)
        for c in ("logistic", "xgboost")
    ]  # fmt: skip
    found = comparison(records)
    assert found["ours"].tolist() == ["5", "5"]
    assert found["classifier"].tolist() == ["logistic regression", "XGBoost"]
    assert found["agrees"].tolist() == ["yes", "yes"]


def test_studies_are_sorted_as_people_number_them() -> None:
    names = ["tab-2.10", "fig-2.10", "fig-2.9", "fig-2.1", "fig-10.1", "fig-2.3a"]
    assert sorted(names, key=natural) == [
        "fig-2.1", "fig-2.3a", "fig-2.9", "fig-2.10", "fig-10.1", "tab-2.10",
    ]  # fmt: skip
