"""The command line: every listed command is there, and faults are one line."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from groupcf.cli import COMMANDS, group


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_listed_command_exists_and_has_help(name):
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, click.Command)
    result = CliRunner().invoke(group, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_help_lists_all_commands():
    output = CliRunner().invoke(group, ["--help"]).output
    assert all(name in output for name in COMMANDS)


def test_a_missing_configuration_is_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from groupcf.cli import main; main()", "track"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("groupcf: config/config.yaml: no such configuration file")
    assert "Traceback" not in done.stderr
