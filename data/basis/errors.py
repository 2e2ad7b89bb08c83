"""Errors that the user can fix, in one line."""

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from skipstack.data.basis.redaction import redacted


class UserError(ValueError):
    """A mistake in what the user gave; the command line prints it and exits with 2.

    The message is one line: what was got, what is allowed, the nearest valid name, and the
    file and line where there is one.
    """


class AbsentCorpusError(UserError):
    """A named corpus that is not on this machine: its studies can be described, but not trained."""


class NoGpuError(UserError):
    """A GPU is asked for, and torch finds none on this machine."""


def unknown(kind: str, got: object, allowed: Iterable[object]) -> str:
    """The line for a name that does not exist: ``unknown preset 'qick' (nearest: 'quick'; allowed: ...)``."""
    names = [str(name) for name in allowed]
    near = get_close_matches(str(got), names, n=1, cutoff=0.4)
    nearest = f"nearest: {near[0]!r}; " if near else ""
    return f"unknown {kind} {str(got)!r} ({nearest}allowed: {', '.join(names)})"


def newer(what: str, got: int, known: int) -> UserError:
    """The error for a file in a format that only a later version knows."""
    return UserError(f"{what} of format {got} (allowed: up to {known}; a newer version of skipstack reads this one)")


def older(what: str, path: Path) -> UserError:
    """The error for a file in a format of an earlier version; ``path``: what is rewritten, a study or a bundle."""
    return UserError(
        f"{what}, of an earlier version (allowed: after `{shlex.join(['skipstack', 'upgrade', str(path)])}`)"
    )


def one_line(error: BaseException) -> str:
    """Another library's error as one line without secrets: ``RuntimeError: out of memory``."""
    return redacted(f"{type(error).__name__}: {' '.join(str(error).split())}")
