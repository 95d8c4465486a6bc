"""The command line: ``groupcf doctor | targets | track``."""

from __future__ import annotations

import importlib
import sys

import click

from groupcf import __version__
from groupcf.errors import GroupcfError

COMMANDS = {
    "doctor": ("groupcf.doctor:command", "Say what works on this machine."),
    "targets": ("groupcf.benchmarking.commands:targets", "Efficiency targets of units (DEA)."),
    "track": ("groupcf.pipeline.commands:track", "Import records into MLflow; open its UI."),
}
"""Command -> where it lives and its one line of help; imported only when called."""


class LazyGroup(click.Group):
    """A group that imports a command only when it runs: start-up stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="groupcf")
def group() -> None:
    """Group counterfactual analysis with proofs."""


def main() -> None:
    """Run the command line; a groupcf error is one line on stderr and exit code 2."""
    try:
        group(standalone_mode=True)
    except GroupcfError as error:
        click.echo(f"groupcf: {error}", err=True)
        sys.exit(2)
