"""Commands are loaded when they are asked for, so they are listed by name: the list has all of them, in their files."""

from importlib import import_module
from importlib.metadata import version
from pkgutil import iter_modules

import pytest
import typer
from typer.main import get_group

from skipstack.dashboards import commands
from skipstack.dashboards.commands.commands import FILES
from tests.command_line import typed


def test_every_command_is_listed_with_its_file() -> None:
    found = {}
    for file in iter_modules(commands.__path__):
        module = import_module(f"{commands.__name__}.{file.name}")
        if hasattr(module, "add_to"):
            app = typer.Typer()
            module.add_to(app)
            found |= dict.fromkeys(get_group(app).commands, file.name)
    assert found == FILES


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("group", [[], ["data"]])
def test_the_list_shows_every_summary_whole(group: list[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = typed(*group, "--help").out.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert len(listed) == (4 if group else len(FILES))  # so each takes one line
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= columns for line in listed)


@pytest.mark.parametrize("group", [[], ["data"]])
def test_a_group_of_commands_alone_shows_its_help(group: list[str]) -> None:
    shown, asked, short = typed(*group), typed(*group, "--help"), typed(*group, "-h")
    assert (shown.code, shown.error) == (0, "")
    assert shown.out == asked.out == short.out
    assert "Commands:\n" in shown.out


def test_the_version_is_that_of_the_package() -> None:
    assert typed("--version").out == f"skipstack {version('skipstack')}\n"
