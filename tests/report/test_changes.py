"""The table behind heat maps and sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcf.errors import DataError
from groupcf.features import FeatureSpace
from groupcf.report.changes import Changes
from groupcf.report.plots.group import reading_order


def frame(**columns: object) -> pd.DataFrame:
    n = len(columns["row"])  # type: ignore[arg-type]
    return pd.DataFrame({"flipped": [True] * n, "cost": [0.0] * n} | columns)


def test_reads_what_a_record_holds() -> None:
    changes = Changes.from_instances(
        frame(row=[4, 9], flipped=[True, False],
              **{"from a": [1.0, 2.0], "to a": [0.5, 2.0], "diff a": [-0.25, 0.0],
                 "from from x": ["p", "q"], "to from x": ["q", "q"], "diff from x": [1.0, 0.0]})
    )  # fmt: skip
    assert changes.rows == ("4", "9")
    assert changes.features == ("a", "from x")
    assert changes.diff.tolist() == [[-0.25, 1.0], [0.0, 0.0]]
    assert changes.nominal.tolist() == [False, True]
    assert changes.counts() == {"a": (0, 1, 0), "from x": (0, 0, 1)}
    assert changes.largest == 0.25


def test_kinds_decide_over_looks() -> None:
    # a step of an ordinal feature looks like a change of category
    table = frame(row=[0], **{"from age": ["young"], "to age": ["old"], "diff age": [1.0]})
    assert Changes.from_instances(table).nominal.tolist() == [True]
    assert Changes.from_instances(table, {"age": "ordinal"}).nominal.tolist() == [False]


def test_rounding_errors_and_outliers_are_no_changes() -> None:
    table = frame(row=[0, 1], flipped=[True, False],
                  **{"from a": [1.0, 1.0], "to a": [1.0, 2.0], "diff a": [1e-12, 0.5]})  # fmt: skip
    assert not Changes.from_instances(table).changed.any()


def test_several_counterfactuals_of_one_instance_are_numbered() -> None:
    table = frame(row=[7, 7, 8], **{"from a": [1.0] * 3, "to a": [1.0] * 3, "diff a": [0.0] * 3})
    assert Changes.from_instances(table).rows == ("7 (1)", "7 (2)", "8 (1)")


@pytest.mark.parametrize("missing", ["row", "flipped", "to a", "diff a"])
def test_a_missing_column_is_named(missing: str) -> None:
    table = frame(row=[0], **{"from a": [1.0], "to a": [1.0], "diff a": [0.0]})
    with pytest.raises(DataError, match=missing):
        Changes.from_instances(table.drop(columns=missing))


def test_encoded_rows_give_the_same_as_the_feature_space() -> None:
    people = pd.DataFrame(
        {
            "age": [20.0, 40.0, 60.0, 30.0],
            "job": ["a", "b", "c", "a"],
            "owner": [True, False, True, False],
        }
    )
    space = FeatureSpace.from_frame(people, kinds={"job": "nominal"})
    X0, X = space.encode(people), space.encode(people.iloc[[1, 2, 0, 3]].reset_index(drop=True))
    changes = Changes.from_encoded(space, X0, X, list("pqrs"))
    assert np.array_equal(changes.changed, space.changed(X0, X))
    assert np.array_equal(changes.diff, space.differences(X0, X))
    assert changes.nominal.tolist() == [False, True, False]
    assert changes.before[0].tolist() == [20.0, "a", True]
    assert changes.after[0].tolist() == [40.0, "b", False]


@given(st.integers(1, 40), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_reading_order_keeps_everybody_and_puts_alike_ones_together(
    n: int, outliers: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    flipped = np.arange(n) >= outliers
    diff = rng.integers(0, 2, (n, 3)) * rng.normal(size=(n, 3)) * flipped[:, None]
    text = np.full((n, 3), "", dtype=object)
    changes = Changes(tuple(map(str, range(n))), ("a", "b", "c"), diff, text, text,
                      np.zeros(3, dtype=bool), flipped, rng.random(n))  # fmt: skip
    order = reading_order(changes)
    assert sorted(order) == list(range(n))
    ordered = changes.take(order)
    assert (np.diff(ordered.flipped.astype(int)) <= 0).all()
    patterns = [tuple(row) for row in ordered.changed[ordered.flipped]]
    starts = [p for i, p in enumerate(patterns) if i == 0 or p != patterns[i - 1]]
    assert len(starts) == len(set(starts))
    sizes = [patterns.count(p) for p in starts]
    assert sizes == sorted(sizes, reverse=True)
