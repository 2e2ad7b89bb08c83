"""Errors that the user can fix, in one line."""

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from skipstack.data.basis.redaction import redacted


class UserError(ValueError):
    """A mistake in the user's input. The command line prints the message and exits with code 2.

    The message is one line: the value received, the allowed values, the nearest valid name, and the file and line if
    there is one.
    """


class AbsentCorpusError(UserError):
    """Raised if a named corpus is not on this machine. Studies of it can be described, but not trained."""


class NoGpuError(UserError):
    """Raised if a GPU is requested, but torch finds none on this machine."""


def unknown(kind: str, got: object, allowed: Iterable[object]) -> str:
    """The message for a name that does not exist: ``unknown preset 'qick' (nearest: 'quick'; allowed: ...)``.

    ``kind``: the noun for such a name, ``preset`` here. ``got``: the name. ``allowed``: the names that exist.
    """
    names = [str(name) for name in allowed]
    near = get_close_matches(str(got), names, n=1, cutoff=0.4)
    nearest = f"nearest: {near[0]!r}; " if near else ""
    return f"unknown {kind} {str(got)!r} ({nearest}allowed: {', '.join(names)})"


def newer(what: str, got: int, known: int) -> UserError:
    """The error for a file ``what`` whose format, ``got``, is newer than ``known``, the latest that this version can
    read.
    """
    return UserError(f"{what} of format {got} (allowed: up to {known}; a newer version of skipstack reads this one)")


def older(what: str, path: Path) -> UserError:
    """The error for ``what``, a file in a format of an earlier version. ``path``: the study or the bundle that
    ``skipstack upgrade`` has to rewrite.
    """
    return UserError(
        f"{what}, of an earlier version (allowed: after `{shlex.join(['skipstack', 'upgrade', str(path)])}`)"
    )


def one_line(error: BaseException) -> str:
    """Another library's error as one line without secrets: ``RuntimeError: out of memory``."""
    return redacted(f"{type(error).__name__}: {' '.join(str(error).split())}")
