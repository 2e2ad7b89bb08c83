"""Commands are loaded when they are asked for, so they are listed by name: the list has all of them, in their files."""

from importlib import import_module
from pkgutil import iter_modules

import typer
from typer.main import get_group

from skipstack.dashboards import commands
from skipstack.dashboards.commands.commands import FILES


def test_every_command_is_listed_with_its_file() -> None:
    found = {}
    for file in iter_modules(commands.__path__):
        module = import_module(f"{commands.__name__}.{file.name}")
        if hasattr(module, "add_to"):
            app = typer.Typer()
            module.add_to(app)
            found |= dict.fromkeys(get_group(app).commands, file.name)
    assert found == FILES
