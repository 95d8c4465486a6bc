"""What a report says of efficiency targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from groupcf.report import targets


def units(moved: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Make the instances table of four units with two inputs, one without an answer."""
    frame = pd.DataFrame(
        {"row": ["A", "B", "C", "D"], "flipped": [True, True, True, False], "cost": 0.0}
    )
    for k, name in enumerate(("staff", "space")):
        change = [moved.get(u, (0.0, 0.0))[k] for u in frame["row"]]
        frame[f"from {name}"] = 10.0
        frame[f"diff {name}"] = change
        frame[f"to {name}"] = 10.0 * (1.0 + np.array(change))
    return frame


@pytest.fixture
def pair(make):
    def details(share, mean):
        return {
            "change": "input", "rts": "vrs", "cost": "l2", "moving": 2,
            "mean_changed": 1.5, "mean_distance": 0.25,
            "use": [
                {"good": "staff", "units": 2, "share": 1.0, "mean relative change": -0.3},
                {"good": "space", "units": 1, "share": share, "mean relative change": mean},
            ],
        }  # fmt: skip

    table = units({"A": (-0.2, 0.0), "B": (-0.4, -0.1)})
    shared = {"study": "tab-4.6", "chapter": 4, "model": "CEDEA"}
    data = {"name": "banks1", "rows": 4, "sha256": "0", "source": "bundled"}
    return [
        make(cost, table, **shared, dataset=data, details=details(0.5, -0.1) | {"cost": cost},
             parameters={"target": 0.8, "target_cost": cost})
        for cost in ("l2", "l0+l2")
    ]  # fmt: skip


def test_studies_of_targets_are_told_from_others(pair, make):
    assert targets.is_about(pair)
    assert not targets.is_about([])
    other = make("k9", model="CEsep")
    assert not targets.is_about([*pair, other])
    assert targets.use_table([other]) is None
    assert targets.use_frame([other]).empty


def test_the_question_names_units_goods_efficiency_costs_and_technology(pair):
    said = " ".join(targets.question(pair, {"target": [0.8], "target_cost": ["l2", "l0+l2"]}))
    for part in ("4 units", "banks1", "inputs", "at least 0.8", "sum of squared changes",
                 "number of goods changed plus", "variable returns to scale"):  # fmt: skip
        assert part in said, (part, said)


def test_the_table_says_how_often_and_by_how_much_each_good_changes(pair):
    table = targets.use_table(pair)
    assert table is not None
    assert len(table["rows"]) == 2
    assert all(len(row) == len(table["head"]) for row in table["rows"])
    row = dict(zip(table["head"], table["rows"][0], strict=True))
    assert row["units that move"] == "2 of 4"
    assert "50" in row["space: share"]
    assert "30" in row["staff: mean change"]
    frame = targets.use_frame(pair)
    assert set(frame["good"]) == {"staff", "space"}
    assert len(frame) == 4
    assert set(frame["target_cost"]) == {"l2", "l0+l2"}


def test_units_that_stay_and_units_without_an_answer_are_told_apart(pair):
    changes = targets.relative_changes(pair[0])
    assert changes.loc["B"].tolist() == [-0.4, -0.1]
    assert changes.loc["C"].tolist() == [0.0, 0.0]
    assert changes.loc["D"].isna().all()
    assert set(targets.new_values(pair[0])) == {"A", "B"}
    assert targets.new_values(pair[0])["B"] == pytest.approx([6.0, 9.0])


def test_each_solve_has_a_figure_with_its_words(pair):
    panels = targets.panels(pair)
    assert len(panels) == 2
    assert "2 units of 4 move" in panels[0].caption
    assert "2 change staff" in panels[0].caption
    axes = targets.draw_goods(panels[0])
    assert {t.get_text() for t in axes.get_yticklabels()} == {"staff", "space"}
