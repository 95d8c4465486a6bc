"""The workflow as a person runs it: from nothing to report, killed, resumed, edited."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from groupcf import records

ROOT = Path(__file__).parents[2]
STUDIES = [
    {
        "id": "quick",
        "title": "Three instances",
        "chapter": 2,
        "kind": "one_for_one",
        "dataset": "boston",
        "classifiers": ["logistic"],
        "instances": [9, 49, 60],
        "cost": {"lam_glob": 0.2},
        "figure": {"kind": "heatmap"},
    },
    {
        "id": "front",
        "title": "All negatives, few features",
        "chapter": 2,
        "kind": "one_for_one",
        "dataset": "boston",
        "classifiers": ["logistic"],
        "instances": "predicted_negative",
        "sweep": {"f_max": [1, 2, 3]},
        "published": [{"when": {"f_max": 1}, "status": "infeasible"}],
        "figure": {"kind": "features_by_parameter", "parameter": "f_max"},
    },
    {
        "id": "pupils",
        "title": "Needs the mirror",
        "chapter": 2,
        "kind": "one_for_one",
        "dataset": "students",
        "classifiers": ["logistic"],
        "instances": [11, 39],
        "cost": {"lam_ind": 0.02},
        "figure": {"kind": "heatmap"},
    },
]


class Project:
    """A copy of the workflow with a small configuration."""

    def __init__(self, home: Path, results: str = "results"):
        self.home = home
        self.results = home / results
        for name in ("Snakefile", "workflow", "profiles", "envs"):
            target = home / name
            if not target.exists():
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, target)
        (home / "config").mkdir(exist_ok=True)
        shutil.copy(ROOT / "config" / "instances.yaml", home / "config")
        config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
        config |= {"results": results, "studies": ["config/small.yaml"]}
        (home / "config" / "config.yaml").write_text(yaml.safe_dump(config))
        self.write(STUDIES)

    def write(self, studies) -> None:
        (self.home / "config" / "small.yaml").write_text(yaml.safe_dump(studies))

    def start(self, *more: str, cores: int = 2, mirror: str | None = None) -> subprocess.Popen:
        environment = os.environ | {"GROUPCF_OFFLINE": "1", "COLUMNS": "200"}
        environment.pop("GROUPCF_DATA_MIRROR", None)
        if mirror is not None:
            environment["GROUPCF_DATA_MIRROR"] = mirror
        command = [sys.executable, "-m", "groupcf.pipeline.run", "--cores", str(cores), *more]
        return subprocess.Popen(
            command,
            cwd=self.home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *more: str, **options) -> str:
        process = self.start(*more, **options)
        output, _ = process.communicate(timeout=900)
        assert process.returncode == 0, output[-4000:]
        return output

    def records(self):
        return records.load_records(self.results / "records")

    def planned(self) -> dict[str, int]:
        """Jobs that a dry run lists, by rule."""
        output = self.run("-n", "--quiet", "rules")
        jobs = {}
        for line in output.splitlines():
            words = line.split()
            if len(words) == 2 and words[1].isdigit():
                jobs[words[0]] = int(words[1])
        return jobs


def values(found):
    keep = ("study", "key", "status", "objective", "bound", "verified", "changed_features")
    return [{k: r.to_dict()[k] for k in keep} for r in found]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project after its first complete run, offline and without a mirror."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.output = project.run(cores=2)
    return project


def test_the_first_run_solves_skips_by_name_and_says_where_to_look(project):
    by_study = {}
    for record in project.records():
        by_study.setdefault(record.study, []).append(record.status)
    assert by_study == {
        "front": ["infeasible", "optimal", "optimal"],
        "pupils": ["skipped"],
        "quick": ["optimal"],
    }
    assert "skipped for lack of data: pupils" in project.output
    assert "Students-Performance-MAT.csv" in project.output
    for name in ("report.html", "summary.csv"):
        assert str(Path("results") / name) in project.output
        assert (project.results / name).stat().st_size > 0
    assert "make ui" in project.output
    tracking = json.loads((project.results / "tracking.json").read_text())
    assert tracking["created"] == 5
    assert (project.results / "figures" / "front" / "figures.json").is_file()


def test_a_second_run_has_nothing_to_solve(project):
    planned = project.planned()
    assert "study" not in planned or planned["study"] == 1  # the skipped one is tried again
    assert planned.get("classifier", 0) <= 1


def test_values_do_not_depend_on_the_number_of_cores(project, tmp_path):
    other = Project(tmp_path)
    other.run(cores=1)
    assert values(other.records()) == values(project.records())


def test_editing_one_study_plans_that_study_alone(project):
    edited = [dict(s) for s in STUDIES]
    edited[0]["nu"] = 0.6
    with_only = [s for s in edited if s["id"] != "pupils"]
    project.write([s for s in STUDIES if s["id"] != "pupils"])
    project.run()
    assert project.planned() == {}
    project.write(with_only)
    try:
        planned = project.planned()
        assert planned.pop("total") == sum(planned.values())
        assert planned == {
            "all": 1,
            "figures": 1,
            "report": 1,
            "study": 1,
            "summary": 1,
            "tracking": 1,
        }
    finally:
        project.write(STUDIES)


def test_a_killed_run_resumes_and_keeps_what_was_finished(tmp_path):
    project = Project(tmp_path)
    process = project.start(cores=1)
    deadline = time.monotonic() + 600
    while not list((project.results / "records").glob("*/[!.]*/record.json")):
        assert process.poll() is None, process.stdout.read()[-4000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # jobs of the killed run may be in sessions of their own; nothing of them is waited for
    finished = {r.key: r.started for r in project.records()}
    assert finished
    project.run(cores=2)
    after = {r.key: r.started for r in project.records()}
    assert len(after) == 5
    kept = {key for key in finished if after.get(key) == finished[key]}
    skipped = {r.key for r in project.records() if r.status == "skipped"}
    assert set(finished) - skipped <= kept


def test_two_runs_at_once_are_refused(tmp_path):
    project = Project(tmp_path)
    project.results.mkdir()
    with open(project.results / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = project.start()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "another run is writing" in output


def test_a_faulty_configuration_is_one_line(tmp_path):
    project = Project(tmp_path)
    project.write([STUDIES[0] | {"nu": 2}])
    process = project.start()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "study quick, key nu" in output
    assert "Traceback" not in output


def test_when_the_mirror_appears_the_skipped_study_runs(project, mirror):
    project.run(mirror=str(mirror))
    assert {r.status for r in project.records() if r.study == "pupils"} == {"optimal"}
