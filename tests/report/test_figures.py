"""From a study and its records to figures."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from groupcf.errors import ConfigError
from groupcf.features import FeatureSpace
from groupcf.report.figures import draw, draw_changes
from groupcf.report.panels import plan
from groupcf.report.parameters import series, swept


def study(kind: str, **more: object) -> dict:
    return {"id": "fig-2.3", "figure": {"kind": kind, **more}}


@pytest.fixture
def sweep(make, unsolved, instances, boston):
    """Records of F_max = 1 (infeasible), 2 and 10, as two classifiers answer."""
    out = []
    for i, classifier in enumerate(("logistic", "random_forest")):
        for f_max in (10, 1, 2):
            facts = {
                "study": "fig-2.3",
                "parameters": {"nu": 0.5, "f_max": f_max},
                "classifier": {"name": classifier},
            }
            key = f"k{i}{f_max}"
            if f_max == 1:
                out.append(unsolved(key, "infeasible", **facts))
            else:
                frame = instances(50, boston, seed=f_max)
                out.append(make(key, frame, objective=40.0 - f_max, bound=40.0 - f_max, **facts))
    return out


def test_one_solve_is_one_figure_named_as_its_study(make, instances, boston) -> None:
    figures = draw(
        {"id": "fig-2.1", "figure": {"kind": "heatmap"}}, [make("k", instances(10, boston))]
    )
    assert list(figures) == ["fig-2.1"]
    (ax, *_) = figures["fig-2.1"].axes
    assert ax.get_title(loc="left") == "Logistic regression"
    assert "Cost 2.126358, proven to be the least possible." in figures["fig-2.1"].get_label()


def test_several_solves_are_lettered_and_told_apart_by_what_varies(make, instances, boston) -> None:
    records = [
        make(f"k{lam}", instances(60, boston, 3), parameters={"nu": 0.5, "lam_glob": lam})
        for lam in (0.1, 10)
    ]
    figures = draw(study("group"), records)
    assert list(figures) == ["fig-2.3-a", "fig-2.3-b"]
    titles = [f.axes[0].get_title(loc="left") for f in figures.values()]
    assert titles == [
        "(a) Logistic regression, λ_glob = 0.1", "(b) Logistic regression, λ_glob = 10",
    ]  # fmt: skip


def test_sweeps_show_feature_use_and_front_in_ascending_order(sweep) -> None:
    panels = plan(study("features_by_parameter"), sweep)
    assert [p.plot for p in panels] == ["features", "features", "front"]
    assert [r.parameters["f_max"] for r in panels[0].records[0]] == [1, 2, 10]
    assert "F_max = 1: proven infeasible." in panels[0].alt
    assert "2 gives 38" in panels[2].alt
    figures = draw(study("pareto", parameter="f_max"), sweep)
    assert list(figures) == ["fig-2.3-a", "fig-2.3-b", "fig-2.3-c"]
    legend = figures["fig-2.3-a"].axes[0].get_legend()
    labels = [t.get_text() for t in legend.get_texts()]
    assert labels == ["Logistic regression", "Random forest", "infeasible"]


def test_the_swept_parameter_is_found(sweep) -> None:
    assert swept({}, sweep) == "f_max"
    assert swept({"sweep": {"nu": [0.5]}}, sweep) == "f_max"
    assert swept({}, sweep[:1]) == ""
    assert [len(g) for g in series(sweep, "f_max")] == [3, 3]


def test_progress_needs_a_history(make, instances, boston) -> None:
    history = [[0.0, None, 1.0, None, None], [2.0, 3.0, 3.0, None, None]]
    records = [make("k0", instances(3, boston), history=history), make("k1", instances(3, boston))]
    assert list(draw(study("progress"), records)) == ["fig-2.3"]
    assert draw(study("progress"), records[1:]) == {}


@pytest.mark.parametrize(
    "kind", ["heatmap", "group", "features_by_parameter", "pareto", "progress"]
)
def test_nothing_solved_means_nothing_drawn(unsolved, kind: str) -> None:
    records = [
        unsolved("k0", "skipped"),
        unsolved("k1", "failed"),
        unsolved("k2", "infeasible"),
        unsolved("k3", "no_incumbent", parameters={}),
    ]
    assert draw(study(kind), records) == {}
    assert draw(study(kind), []) == {}
    assert draw({"id": "x"}, records) == {}


def test_an_unknown_kind_is_refused_by_name(make) -> None:
    with pytest.raises(ConfigError, match=r"fig-2\.3.*figure\.kind: 'pie'"):
        draw(study("pie"), [])


def test_the_configured_caption_comes_first(make, instances, boston) -> None:
    (panel,) = plan(study("heatmap", caption="As published."), [make("k", instances(3, boston))])
    assert panel.caption.startswith("As published. Changes, in encoded units")


@pytest.mark.parametrize("n", [3, 50])
def test_an_explanation_draws_itself(n: int) -> None:
    people = pd.DataFrame(
        {"age": [20.0 + i for i in range(n)], "owner": [True, False] * (n // 2) + [True] * (n % 2)}
    )
    space = FeatureSpace.from_frame(people)
    X0 = space.encode(people)
    X = X0.copy()
    X[:, 0] += 0.1
    figure = draw_changes(space, X0, X, [str(i) for i in range(n)])
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels == ["age", "owner"]


def test_page_and_tables_do_without_matplotlib() -> None:
    code = (
        "import sys; import groupcf.report.page, groupcf.report.tables, groupcf.report.figures;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
