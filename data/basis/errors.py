"""Errors that the user can fix, in one line."""

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from skipstack.data.basis.redaction import redacted


class UserError(ValueError):
    """A mistake in the user's input. The command line prints the message and exits with code 2.

    The message is one line: the value received, the allowed values, the nearest valid name, and any file and line.
    """


class AbsentCorpusError(UserError):
    """Raised if a named corpus is not on this machine. Studies of it can be described, but not trained."""


class MissingFileError(AbsentCorpusError):
    """Raised if a file does not exist. It is an AbsentCorpusError, so that a preset can be described before the user
    has added the files of its corpus.
    """


class NoGpuError(UserError):
    """Raised if a GPU is requested, but torch finds none on this machine."""


def unknown(kind: str, got: object, allowed: Iterable[object], nearest: str | None = None) -> str:
    """The message for an unknown name: ``unknown KIND 'qick' (nearest: 'quick'; allowed: ...)``. ``got``: the name.
    ``nearest``: the nearest valid name. None means the first allowed name that begins with the name received, otherwise
    the one that is most similar, ignoring case, if any is similar.
    """
    names = [str(name) for name in allowed]
    if not names:
        return f"unknown {kind} {str(got)!r} (there is none)"
    if nearest is None:
        spelled, typed = {name.lower(): name for name in reversed(names)}, str(got).lower()
        begun = [name for name in names if typed and name.lower().startswith(typed)]
        ends = (typed, typed.rpartition(".")[2])  # a short name may be meant by a whole path
        similar = [spelled[near] for end in ends for near in get_close_matches(end, spelled, n=1, cutoff=0.4)]
        nearest = next(iter([*begun, *similar]), None)
    near = "" if nearest is None else f"nearest: {nearest!r}; "
    return f"unknown {kind} {str(got)!r} ({near}allowed: {', '.join(names)})"


def undecodable(error: UnicodeDecodeError, encoding: str = "UTF-8") -> str:
    """The message for bytes that are no text in ``encoding``. It names the first such byte."""
    return f"got the byte 0x{error.object[error.start]:02x}, allowed: {encoding} text"


def unreadable(path: Path, error: OSError) -> UserError:
    """The error for a file that cannot be read. For a file that does not exist, it is a MissingFileError, which
    suggests the nearest name in the folder.
    """
    message = f"cannot read {path}: {error.strerror}"
    if not isinstance(error, FileNotFoundError):
        return UserError(message)
    near = nearest_file(path)
    return MissingFileError(f"{message} (nearest: {near})" if near else message)


def missing_here(path: Path, what: str, allowed: str) -> UserError:
    """The error for a path where ``what`` should be. For a path that does not exist, it suggests the nearest one."""
    near = None if path.exists() else nearest_file(path)
    nearest = "" if near is None else f"nearest: {path.parent / near}; "
    return UserError(f"{path}: no {what} here ({nearest}allowed: {allowed})")


def nearest_file(path: Path) -> str | None:
    """The name that is most similar to the name of ``path``, a missing file, in its folder; None if none is similar."""
    try:
        beside = {each.name.lower(): each.name for each in sorted(path.parent.iterdir())}
    except OSError:
        return None
    near = get_close_matches(path.name.lower(), beside, n=1, cutoff=0.6)
    return beside[near[0]] if near else None


def newer(what: str, got: int, known: int) -> UserError:
    """The error for ``what``, a file of format ``got``, if ``known`` is the newest format that can be read."""
    return UserError(f"{what} of format {got} (allowed: up to {known}; a newer version of skipstack reads this one)")


def older(what: str, path: Path) -> UserError:
    """The error for ``what``, a file in an old format. ``path``: the study or bundle for ``skipstack upgrade``."""
    return UserError(
        f"{what}, of an earlier version (allowed: after `{shlex.join(['skipstack', 'upgrade', str(path)])}`)"
    )


def one_line(error: BaseException) -> str:
    """The error of another library as one line without secrets, such as ``RuntimeError: out of memory``."""
    return redacted(f"{type(error).__name__}: {' '.join(str(error).split())}")
