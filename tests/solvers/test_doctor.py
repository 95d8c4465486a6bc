"""The report on the machine, and that it notices what does not work."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from groupcf import doctor
from groupcf.doctor import Check, Verdict, checkup, render
from groupcf.errors import SolverCrashedError
from groupcf.solution import Status
from groupcf.solvers import SOLVERS, Availability, SolveResult


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return checkup()


def find(checks, name):
    (check,) = [c for c in checks if c.name == name]
    return check


def test_default_solvers_are_tried(checks):
    for name in doctor.REQUIRED_SOLVERS:
        check = find(checks, SOLVERS[name].title)
        assert check.verdict == Verdict.OK
        assert SOLVERS[name].version() in check.detail
        assert "solved a tiny" in check.detail
    assert find(checks, "crash isolation").verdict == Verdict.OK
    assert find(checks, "Gurobi").verdict in (Verdict.OK, Verdict.NOTE)


def test_what_is_looked_at(checks):
    assert {c.group for c in checks} == {
        "groupcf",
        "packages",
        "solvers",
        "machine",
        "data",
        "tools",
    }
    assert not [c for c in checks if c.verdict == Verdict.FAILED]


def test_the_table_carries_every_check(checks):
    text = render(checks, width=200)
    for check in checks:
        assert check.name in text
        assert check.verdict in text
    assert max(map(len, text.splitlines())) <= 200


def test_a_solver_that_answers_wrongly_fails(monkeypatch):
    wrong = SolveResult(status=Status.OPTIMAL, objective=3.0)
    monkeypatch.setattr("groupcf.solvers.dispatch.solve", lambda *a, **k: wrong)
    check = doctor._solver("highs")
    assert check.verdict == Verdict.FAILED
    assert "optimum 2 gave optimal 3.0" in check.detail


@pytest.mark.parametrize(("name", "verdict"), [("scip", Verdict.FAILED), ("gurobi", Verdict.NOTE)])
def test_a_missing_solver_fails_only_if_the_default_needs_it(monkeypatch, name, verdict):
    gone = Availability(False, reason="not installed: pip install it")
    monkeypatch.setattr("groupcf.solvers.dispatch.available", lambda _: gone)
    check = doctor._solver(name)
    assert (check.verdict, check.detail) == (verdict, "not installed: pip install it")


def test_isolation_that_fails_is_noticed(monkeypatch):
    monkeypatch.setattr("groupcf.solvers.isolation.run_isolated", lambda *a, **k: None)
    assert doctor._isolation()[0].verdict == Verdict.FAILED

    def broken(*a, **k):
        raise SolverCrashedError("the solver process ended with exit code 1")

    monkeypatch.setattr("groupcf.solvers.isolation.run_isolated", broken)
    assert doctor._isolation()[0].detail.endswith("exit code 1")


def test_a_mirror_that_is_not_there_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path / "nowhere"))
    (check,) = doctor._data()
    assert check.verdict == Verdict.FAILED
    assert "nowhere" in check.detail
    monkeypatch.setenv("GROUPCF_DATA_MIRROR", str(tmp_path))
    assert find(doctor._data(), "mirror").verdict == Verdict.OK
    monkeypatch.delenv("GROUPCF_DATA_MIRROR")
    assert find(doctor._data(), "mirror").verdict == Verdict.NOTE


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.NOTE, 0), (Verdict.FAILED, 1)])
def test_exit_code(monkeypatch, verdict, code):
    monkeypatch.setattr(doctor, "checkup", lambda: [Check("a", "b", verdict, "c")])
    run = CliRunner().invoke(doctor.command)
    assert run.exit_code == code
    assert ("failed: a, b: c" in run.output) == (code == 1)
