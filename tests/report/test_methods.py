"""Methods side by side: profile, progress, the table of cells, and shared counterfactuals."""

from __future__ import annotations

import math

import pytest

from groupcf.records import Record
from groupcf.report.figures import draw
from groupcf.report.methods import cell_table, times
from groupcf.report.panels import plan
from groupcf.report.sentences import SPARSE, answer, question
from groupcf.report.tables import comparison

FAST, SLOW = "pattern pricing with proof", "plain MILP"


def cell(study, S, method, seconds, *, status="optimal", objective=4.0, published=None, **details):
    return Record(
        study=study,
        key=f"{study}-{S}-{method}",
        status=status,
        model=SPARSE,
        method=method,
        dataset={"name": f"data {study}"},
        classifier={"name": "logistic"},
        parameters={"nu": 0.5, "J_max": 5, "S": S, "method": method},
        objective=objective,
        bound=objective if status == "optimal" else 1.0,
        gap=0.0,
        seconds=seconds,
        n_instances=S,
        message=f"{objective} counterfactuals for {S} instances",
        history=[[0.1, 5.0, 1.0, 1, 3], [seconds, objective, objective, 2, 7]],
        published=published,
        details={"iterations": 2, "columns": 7} | details,
    )


@pytest.fixture
def timed():
    return [
        cell("a", 10, FAST, 0.01),
        cell("a", 10, SLOW, 2.0),
        cell("a", 20, FAST, 0.02),
        cell("a", 20, SLOW, 60.0, status="feasible"),
        cell("b", 10, FAST, 0.01),
    ]


def test_times_count_what_every_method_was_asked_and_only_proofs(timed):
    assert times(timed) == {FAST: [0.01, 0.02], SLOW: [2.0, math.inf]}


def test_profile_over_several_studies_and_progress_of_its_own(timed):
    more = [cell("b", 10, SLOW, 1.0)]
    study = {"id": "a", "figure": {"kind": "methods", "with": ["b"]}}
    panels = plan(study, timed + more)
    assert [p.plot for p in panels] == ["profile", "progress", "progress"]
    assert "plain MILP: 2 of 3 proven" in panels[0].caption
    figures = draw(study, timed + more)
    assert len(figures) == 3
    assert "3 problems" in figures["a-a"].axes[0].get_ylabel()
    legend = [t.get_text() for t in figures["a-b"].axes[0].get_legend().get_texts()]
    assert legend == [FAST, SLOW, "incumbent", "proven bound"]
    assert figures["a-b"].axes[0].get_xscale() == "log"


def test_cells_stand_beside_the_published_ones(timed):
    told = {"incumbent": 90, "cg_seconds": 3600, "milp": 100, "milp_seconds": 3600}
    records = [*timed[:2], cell("a", 100, FAST, 0.3, objective=63.0, published=told)]
    table = cell_table(records)
    assert len(set(map(len, [table["head"], *table["rows"]]))) == 1
    last = dict(zip(table["head"], table["rows"][-1], strict=True))
    assert (last["S"], last["y*"], last["published y*"]) == ("100", "63", "90")
    assert last["its CG time"] == "1 h 00 min"
    assert cell_table([Record(study="x", key="k", status="optimal", model="CEsep")] * 3) is None


@pytest.mark.parametrize(
    ("ours", "agrees", "said"), [(63.0, "yes", "27 fewer"), (90.0, "yes", ""), (91.0, "no", "1")]
)
def test_a_published_incumbent_is_to_be_reached(ours, agrees, said):
    record = cell("a", 100, FAST, 0.3, objective=ours, published={"incumbent": 90, "milp": 100})
    row = comparison([record]).iloc[0]
    assert row["agrees"] == agrees
    assert said in row["difference"]


def test_shared_counterfactuals_are_drawn_value_by_value():
    record = cell(
        "a", 10, FAST, 0.01,
        points={"columns": ["job = a", "job = b", "sex = 1"], "values": [[1, 0, 1], [0, 1, 0]]},
        clusters=[
            {"size": 6, "features": ["job"], "changes": 4},
            {"size": 1, "features": [], "changes": 0},
        ],
    )  # fmt: skip
    study = {"id": "a", "figure": {"kind": "points"}}
    (panel,) = plan(study, [record])
    assert "shared by 6 instances, changes job" in panel.caption
    (figure,) = draw(study, [record]).values()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == [
        "1 (6 instances)", "2 (1 instance)",
    ]  # fmt: skip
    assert plan(study, [cell("a", 10, FAST, 0.01)]) == []


def test_question_and_answer_speak_of_counterfactuals(timed):
    text = " ".join(question(timed[:2]))
    assert "fewest counterfactuals" in text
    assert "at most 5 features between them" in text
    assert answer(timed[0]) == "4.0 counterfactuals for 10 instances."
