"""Commands are loaded when they are asked for, so they are listed by name: the list has all of them, in their files."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules

import pytest
import typer

from skipstack.dashboards import commands
from skipstack.dashboards.commands.commands import FILES, GROUPS
from tests.command_line import typed


def test_every_command_is_listed_with_its_file() -> None:
    found = {}
    for file in iter_modules(commands.__path__):
        module = import_module(f"{commands.__name__}.{file.name}")
        about = module.__doc__.partition("\n\n")[0]
        if about.startswith("``skipstack"):
            own = re.findall(r"``(?:skipstack )?(\w+)``", about)  # not ``skipstack data describe``
            found |= dict.fromkeys(own, file.name)
            assert all(isinstance(getattr(module, name), Callable | typer.Typer) for name in own)
    assert found == FILES


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("group", [[], ["data"]])
def test_the_list_shows_every_summary_whole(group: list[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    sections = typed(*group, "--help").out.split("\n\n")[3:]  # after the usage, the summary and the options
    headings, listed = zip(*(section.strip().split("\n", 1) for section in sections), strict=True)
    lines = "\n".join(listed).splitlines()
    assert headings == (("Commands:",) if group else tuple(f"{heading}:" for heading in GROUPS))
    assert group or [line.split()[0] for line in lines] == [*FILES]
    assert len(lines) == (4 if group else len(FILES))  # so each takes one line
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= columns for line in lines)
    assert len({len(re.match(r" +\S+ +", line)[0]) for line in lines}) == 1  # in one column


@pytest.mark.parametrize("group", [[], ["data"]])
def test_a_group_of_commands_alone_shows_its_help(group: list[str]) -> None:
    shown, asked, short = typed(*group), typed(*group, "--help"), typed(*group, "-h")
    assert (shown.code, shown.error) == (0, "")
    assert shown.out == asked.out == short.out
    assert "[OPTIONS] COMMAND [ARGS]...\n" in shown.out


def test_the_version_is_that_of_the_package() -> None:
    assert typed("--version").out == f"skipstack {version('skipstack')}\n"


COMPLETED = """
skipstack --install-completion > "$HOME/said"
source "$HOME/.bashrc"
complete -p skipstack
for COMP_LINE in "skipstack re" "skipstack search --sch" "skipstack search --scheduler h"; do
    COMP_WORDS=($COMP_LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _skipstack_completion skipstack
    echo "$COMP_LINE: ${COMPREPLY[@]}"
done
"""
"""The command that installs it, the next shell, and the tabulator after each of three lines."""


@pytest.mark.slow
def test_bash_completes_commands_options_and_values(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", COMPLETED],
        env={**os.environ, "HOME": str(tmp_path), "PATH": programs},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "complete -o default -F _skipstack_completion skipstack",
        "skipstack re: resume report rename rerun",
        "skipstack search --sch: --scheduler",
        "skipstack search --scheduler h: hyperband",
    ]
