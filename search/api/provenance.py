"""Finds the provenance of a run: the command line without secrets, the user, and the commit of the code."""

import getpass
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from skipstack.data.basis.redaction import redacted, without_secrets

LONGEST: Final = 2000
"""The maximum length of a recorded command, in characters."""

PATIENCE: Final = 10.0
"""The timeout of a git command in seconds, in case the disk hangs."""


def provenance() -> Mapping[str, str]:
    """The ``command``, ``user`` and ``commit`` of this process, by these names. Unknown values are empty."""
    return {"command": command(), "user": user(), "commit": commit()}


def command(arguments: list[str] | None = None) -> str:
    """The command line, quoted for a shell, without secrets and without the folder of the program, cut to ``LONGEST``
    characters. ``arguments``: the program and its arguments; None means this process.
    """
    program, *others = sys.argv if arguments is None else arguments
    return redacted(shlex.join([Path(program).name, *map(_without_secrets, others)]))[:LONGEST]


@cache
def commit() -> str:
    """The commit of the git checkout of this file. Empty for an installed package, or if git is missing or fails."""
    here = Path(__file__).resolve()
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) != here.name:
        return ""  # git does not track this file: the folder may be in a checkout of another project
    return _git(here.parent, "rev-parse", "HEAD")


def user() -> str:
    """The name of the user of this process; empty if unknown."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user ID without a name, as in many containers
        return ""


def _without_secrets(argument: str) -> str:
    """Remove the secrets from a command-line argument that is an address, or an option with an address."""
    option, equals, address = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    return f"{option}{equals}{without_secrets(address) if re.match(r'[a-z0-9+]+:/', address) else address}"


def _git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder``, and return its output; empty if it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
