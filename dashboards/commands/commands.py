"""The commands of ``skipstack``. A command's file is imported only when the command is typed, or for ``--help``."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from skipstack.data.basis.collection import collection_put_off

FILES: Final[Mapping[str, str]] = {
    "search": "search",
    "resume": "search",
    "extend": "extend",
    "rerun": "extend",
    "stop": "stop",
    "note": "note",
    "rename": "note",
    "ablate": "ablate",
    "plan": "plan",
    "simulate": "simulate",
    "report": "report",
    "log": "log",
    "dashboard": "dashboard",
    "sync": "sync",
    "upgrade": "upgrade",
    "export": "bundles",
    "verify": "bundles",
    "predict": "bundles",
    "compare": "compare",
    "inspect": "inspect",
    "draw": "draw",
    "spaces": "catalogue",
    "check": "check",
    "data": "corpora",
}
"""Maps each command to the file in this folder that adds it by ``add_to``. The order is that of ``--help``."""


class Commands(TyperGroup):
    """The group of all commands in ``FILES``. A command's file is imported when the command is looked up."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": dict.fromkeys(FILES)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with the name ``cmd_name``; None if there is none."""
        if cmd_name not in FILES:
            return None
        with collection_put_off():
            file = import_module(f"skipstack.dashboards.commands.{FILES[cmd_name]}")
        own = typer.Typer(rich_markup_mode=None)
        file.add_to(own)
        return get_group(own).get_command(ctx, cmd_name)


def help_without_command(context: typer.Context) -> None:
    """Print the help of a group of commands if no command was typed. This is the callback of the group."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")
