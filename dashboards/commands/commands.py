"""The commands of ``skipstack``. A command's file is imported only when the command is typed, or for ``--help``."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from skipstack.data.basis.collection import uncollected

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Prepare a study": {"data": "corpora", "spaces": "catalogue", "check": "check", "plan": "plan"},
    "Run a study": {"search": "search", "resume": "search", "extend": "extend", "stop": "stop"},
    "Read a study": {
        "report": "report",
        "compare": "compare",
        "log": "log",
        "dashboard": "dashboard",
        "note": "note",
        "rename": "note",
        "sync": "sync",
        "upgrade": "upgrade",
    },
    "Test a study": {"ablate": "ablate", "rerun": "extend", "simulate": "simulate"},
    "Use the best network": {
        "export": "bundles",
        "verify": "bundles",
        "predict": "bundles",
        "serve": "serve",
        "inspect": "inspect",
        "draw": "draw",
    },
}
"""The commands below each heading of ``--help``, each with the file in this folder that has it, under its name."""

FILES: Final = {name: file for group in GROUPS.values() for name, file in group.items()}
"""The file of each command."""


class Commands(TyperGroup):
    """The group of all commands in ``FILES``. A command's file is imported when the command is looked up."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": dict.fromkeys(FILES)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with the name ``cmd_name``; None if there is none."""
        if cmd_name not in FILES:
            return None
        with uncollected():
            file = import_module(f"skipstack.dashboards.commands.{FILES[cmd_name]}")
        own, command = typer.Typer(rich_markup_mode=None), getattr(file, cmd_name)
        if isinstance(command, typer.Typer):
            own.add_typer(command, name=cmd_name)
        else:
            own.command(cmd_name)(command)
        return get_group(own).get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, a section for each group."""
        width = max(map(len, FILES))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                summaries = (self.get_command(ctx, name).get_short_help_str(formatter.width - width) for name in group)
                formatter.write_dl([(name.ljust(width), each) for name, each in zip(group, summaries, strict=True)])


def help_without_command(context: typer.Context) -> None:
    """Print the help of a group of commands if no command was typed. This is the callback of the group."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")
