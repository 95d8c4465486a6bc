"""Questions and answers in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcf.report import sentences, wording
from groupcf.report.changes import Changes


def changes(diff, features=("LSTAT", "RM", "Race"), flipped=None, nominal=(False, False, True)):
    diff = np.asarray(diff, dtype=float)
    before = np.empty(diff.shape, dtype=object)
    after = np.empty(diff.shape, dtype=object)
    for i, j in np.ndindex(*diff.shape):
        before[i, j] = "a" if nominal[j] else 10.0
        after[i, j] = ("b" if diff[i, j] else "a") if nominal[j] else 10.0 + 10 * diff[i, j]
    n = len(diff)
    return Changes(
        tuple(str(100 + i) for i in range(n)), features, diff, before, after, np.array(nominal),
        np.ones(n, dtype=bool) if flipped is None else np.array(flipped), np.zeros(n),
    )  # fmt: skip


def test_a_group_is_told_by_count_and_direction() -> None:
    found = sentences.group(
        changes([[-1, 0.5, 1], [-1, -0.5, 0], [-1, 0, 0], [-1, 0, 0], [0, 0, 0]],
                flipped=[True] * 4 + [False])
    )  # fmt: skip
    assert found == [
        "All 4 lower LSTAT; 2 of 4 change RM (1 raises it, 1 lowers it); 1 of 4 changes Race.",
        "1 outlier left unchanged: 104.",
    ]


def test_features_that_change_alike_share_a_sentence_and_unused_ones_are_named() -> None:
    found = sentences.group(changes([[-1, -1, 0], [-1, -1, 0], [0, 0, 0]]))
    assert found == ["2 of 3 lower LSTAT and RM.", "Race stays the same for everybody."]


def test_nobody_changing_anything_is_said() -> None:
    assert sentences.group(changes([[0, 0, 0]])) == ["Nothing changes."]


def test_an_instance_is_told_change_by_change() -> None:
    table = changes([[-0.43, 0.5, 1], [0, 0, 0], [0, 0, 0]], flipped=[True, True, False])
    assert sentences.instance(table, 0) == (
        "lower LSTAT from 10 to 5.7; raise RM from 10 to 15; change Race from a to b"
    )
    assert sentences.instance(table, 1) == "nothing changes"
    assert sentences.instance(table, 2) == "stays as it is (outlier)"


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_two_values_that_differ_are_written_differently(a: float, b: float) -> None:
    written = wording.pair(a, b)
    assert (written[0] != written[1]) == (a != b)


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_numbers_keep_four_digits(value: float) -> None:
    written = float(wording.number(value).replace("−", "-"))
    assert math.isclose(written, value, rel_tol=5.0001e-4, abs_tol=0.0)


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (math.nan, "–"), (math.inf, "∞"), (-2, "−2"), (0.30000000000000004, "0.3"),
     (1e-7, "1e−7"), (123456.0, "123456"), (9.99996, "10"), (133.3333, "133.3"),
     (48533.29, "48533"), (0.012344, "0.01234"), (1.5e12, "1.5e12"), (100.04, "100"),
     (np.float64(0.25), "0.25"), (np.int64(7), "7")],
)  # fmt: skip
def test_numbers_are_written_plainly(value: object, written: str) -> None:
    assert wording.number(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0.0002, "< 1 ms"), (0.057, "57 ms"), (2.15, "2.1 s"), (93.0, "93.0 s"),
     (689.0, "11 min 29 s"), (3600.0, "1 h 00 min"), (119.7, "2 min 00 s")],
)  # fmt: skip
def test_durations(value: float | None, written: str) -> None:
    assert wording.seconds(value) == written


def test_gaps_are_not_rounded_to_nothing() -> None:
    assert wording.percent(0.0) == "0 %"
    assert wording.percent(1e-6) == "0.0001 %"
    assert wording.percent(0.1234) == "12 %"


def test_a_study_is_asked_in_full(make, instances, boston) -> None:
    frame = instances(50, boston)
    records = [
        make(f"k{f}{c}", frame, model="ColCE", classifier={"name": c},
             parameters={"nu": 0.5, "f_max": f, "s_share": 0.95, "lam_glob": 0.1})
        for c in ("logistic", "random_forest")
        for f in (1, 2, 3, 4)
    ]  # fmt: skip
    text = " ".join(sentences.question(records))
    assert text == (
        "For 50 instances of Boston housing, find the changes of least cost after which each "
        "classifier by itself (logistic regression and random forest) accepts them with a "
        "probability of at least 0.5. The cost of a change is the squared Euclidean distance "
        "in encoded units, plus 0.1 for each feature that at least one instance changes. At "
        "most 1, 2, …, 4 features change over the whole group. At least 95 % of the instances "
        "must be accepted, the others stay as they are."
    )


def test_unknown_models_and_settings_are_told_without_guessing(make, instances, boston) -> None:
    record = make("k", instances(3, boston), model="many-for-one", parameters={"R": 3})
    assert sentences.question([record]) == [
        "many-for-one for 3 instances of Boston housing.", "Settings: R = 3.",
    ]  # fmt: skip
    record = make("k", instances(3, boston), parameters={"nu": 0.5, "sensitive": "sex"})
    assert sentences.question([record])[-1] == "Further settings: sensitive = sex."
    assert sentences.question([]) == []


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "Cost 2.126358, proven to be the least possible."),
        ({"status": "feasible", "bound": 2.0, "gap": 0.059},
         "Cost 2.126358; at least 2 is needed, gap 5.9 %: not proven to be the least."),
        ({"status": "infeasible", "objective": None, "message": "Two are needed."},
         "No change fulfils all demands; that is proven. Two are needed."),
        ({"status": "no_incumbent", "objective": None, "bound": 1.0},
         "Stopped before an answer was found (any would cost at least 1)."),
        ({"status": "licence_missing", "objective": None, "message": "Set one up."},
         "Licence missing. Set one up."),
    ],
)  # fmt: skip
def test_answers_say_how_sure_they_are(make, facts, said: str) -> None:
    assert sentences.answer(make("k", **facts)) == said
