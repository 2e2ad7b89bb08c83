"""Programs that find some of the installed libraries and no others, as in an environment that has these alone."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.install.environments import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

CUSTOMISED = """
import os, sys, sysconfig

absent, places = set(os.environ["ABSENT"].split()), sysconfig.get_paths()

class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        found = self.finder.find_spec(name, path, target)
        if found is None or name not in absent:
            return found
        # Ray brings copies of its own of some.
        at = (*(found.submodule_search_locations or ()), found.origin or "")[0]
        return None if os.path.dirname(at) in (places["purelib"], places["platlib"]) else found

sys.meta_path[:] = map(Without, sys.meta_path)
"""
"""What each Python runs first, those that a program starts, too."""


def required(extra: str = "") -> list[str]:
    """What the project asks for; with an ``extra``, that too."""
    return [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else ())]


def installed_by(requirements: Iterable[str]) -> set[str]:
    """The distributions that pip would install for them, by their normal names."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        each = waiting.pop()
        key = (canonicalize_name(each.name), frozenset(each.extras))
        if key in found:
            continue
        found.add(key)
        try:
            further = [Requirement(line) for line in requires(each.name) or ()]
        except PackageNotFoundError:  # made for another system
            continue
        extras = [{"extra": extra} for extra in ("", *each.extras)]
        waiting += [one for one in further if one.marker is None or any(map(one.marker.evaluate, extras))]
    return {name for name, _ in found}


def absent_beside(requirements: Iterable[str]) -> set[str]:
    """The modules that are installed here, and would not be where these requirements alone are."""
    there = installed_by(requirements) | {"skipstack", "pip"}
    owners = packages_distributions()
    return {
        module
        for module, names in owners.items()
        if module.isidentifier() and not any(canonicalize_name(name) in there for name in names)
    }


def run(
    absent: Iterable[str], folder: Path, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A run of Python in ``folder`` that does not find these modules."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment_without(absent, folder) | environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def environment_without(absent: Iterable[str], folder: Path) -> dict[str, str]:
    """The environment of such a run."""
    customised = folder / ".customised"
    customised.mkdir(exist_ok=True)
    (customised / "sitecustomize.py").write_text(CUSTOMISED)
    names = " ".join(sorted(absent))
    return {**os.environ, "PYTHONPATH": str(customised), "ABSENT": names, "OMP_NUM_THREADS": "1"}


def skipstack(absent: Iterable[str], folder: Path, *arguments: str, **environment: str) -> str:
    """What a command prints on stdout and stderr; it must succeed."""
    ran = run(absent, folder, "-c", MAIN, *arguments, **environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def refused(absent: Iterable[str], folder: Path, *arguments: str, **environment: str) -> str:
    """The one line with which a command is refused."""
    ran = run(absent, folder, "-c", MAIN, *arguments, **environment)
    assert (ran.returncode, ran.stdout) == (2, ""), ran
    assert re.fullmatch(r"skipstack: [^\n]+\n", ran.stderr), ran.stderr
    return ran.stderr.removeprefix("skipstack: ").rstrip("\n")


MAIN = "from skipstack.dashboards.cli import main; main()"
