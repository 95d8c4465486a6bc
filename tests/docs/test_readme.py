"""The README's code runs, and prints what the README says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
TIMES = re.compile(r"in \d+\.\d+ s")


def test_there_is_code_to_run():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_code_runs_and_prints_what_is_said(block, capsys):
    exec(compile(block, "README.md", "exec"), {})
    printed = TIMES.sub("in … s", capsys.readouterr().out)
    said = TIMES.sub("in … s", README)
    assert printed.strip()
    # lines, not columns: how wide pandas prints depends on the terminal
    for line in printed.splitlines()[:3]:
        assert line.strip() in said, line


def test_every_local_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_named_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:`|\$ |  )make ([a-z][a-z-]*)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
