"""Prints to the user's terminal: results to stdout, everything else to stderr."""

import codecs
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final, get_args

from rich.console import Console

from skipstack.dashboards.formats.page import Page, Report
from skipstack.dashboards.formats.rendering import FileFormat, render, rendered
from skipstack.dashboards.formats.text import PAGE
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted
from skipstack.data.basis.streams import OutputLostError, shown

TWINS: Final = {"–": "-", "±": "+-", "²": "^2", "†": "+", "›": ">", "≠": "!=", "→": "->", "◆": "*"}
"""The special characters of reports, with their replacements for encodings that lack them."""


def print_everywhere() -> None:
    """Make printing succeed in any encoding, by changing how ``sys.stdout`` and ``sys.stderr`` handle errors.

    Characters that the encoding lacks are replaced: the special characters of reports by ASCII (``TWINS``), and other
    characters by their code numbers. Undecodable bytes of file names are printed as they are.
    """
    codecs.register_error("skipstack", _twin)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="skipstack")


def write_utf8() -> None:
    """Make stdout UTF-8, whatever the locale's encoding. Call this for results that other programs read."""
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:  # a text buffer of a test has none
        reconfigure(encoding="utf-8", errors="strict")


def print_report(report: Report, form: FileFormat = "text", out: Path | None = None, *, full: bool = False) -> None:
    """Print a report, or write it to the file ``out``.

    On a terminal, the report has colours and the terminal's width. Elsewhere it is plain, and ``page_width`` wide.
    ``full``: whether to print the details. If pictures of an HTML report are missing, a line on stderr says why. Raises
    UserError if the file cannot be written, or if a binary format has no file.
    """
    if out is not None:
        check_name("--out", out, form, get_args(FileFormat))
        write_file(rendered(report, form, width=page_width(), full=full), out)
    elif form == "parquet":
        raise UserError("--format parquet: got no file for it (allowed: with --out FILE)")
    else:
        console = Console()
        sys.stdout.write(render(report, form, width=_width(console), terminal=console.is_terminal, full=full))
    if form == "html" and DRAWING.trouble is not None:
        say(f"pictures are left out: {DRAWING.trouble}")


def print_page(page: Page) -> None:
    """Print a page that has no machine-readable form, in the same way as a report."""
    print_report(Report(page=page, content={}))


def page_width() -> int:
    """The width of pages that are not printed to a terminal: the environment variable ``COLUMNS``, or else 80."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and int(asked) else PAGE


FORMATS: Final[Mapping[str, str]] = {
    **{f".{each}": each for each in ("html", "json", "csv", "parquet", "svg", "png", "pdf", "jpg")},
    ".htm": "html",
    ".tex": "latex",
    ".md": "markdown",
    ".jpeg": "jpg",
}
"""The format of a file, by the suffix of its name."""


def check_name(option: str, out: Path, form: str, forms: Sequence[str] = ()) -> None:
    """Raise UserError if the suffix of the file ``out`` belongs to another format than ``form``, in which the file is
    to be written. ``option``: the option that gives ``out``. ``forms``: the values of ``--format``.
    """
    meant = FORMATS.get(out.suffix.lower(), form)
    if meant != form:
        other = f", or --format {meant}" if meant in forms else ""
        raise UserError(f"{option} {out}: got a name for {meant}, and {form} to write (allowed: another name{other})")


def write_file(content: bytes, out: Path) -> None:
    """Write a file atomically. Raises UserError if it cannot be written."""
    try:
        target = out.resolve()
        if target.exists() and not target.is_file():
            raise UserError(f"--out {out}: is no file (allowed: a new file, or one to replace)")
        write_atomically(target, content)
    except (OSError, RuntimeError) as error:  # RuntimeError: a symbolic link to itself
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UserError(f"--out {out}: cannot be written ({reason})") from error


def say_page(page: Page) -> None:
    """Print to stderr a page that is not the command's result."""
    for line in render(Report(page=page, content={}), "text", width=_width(Console(stderr=True))).splitlines():
        say(line)


def say(line: str) -> None:
    """Print a line to stderr, with secrets removed. If stderr is lost, the line is dropped."""
    print(visible(redacted(line)), file=shown(sys.stderr))


@contextmanager
def unless_lost(again: str) -> Iterator[None]:
    """Return a context in which a lost stdout is no error. Only the first loss prints a line to stderr. ``again``: the
    end of this line, which says how to print the output again.

    Use this for output on finished work: the work does not fail if its output is lost.
    """
    try:
        yield
        sys.stdout.flush()
    except OutputLostError as error:
        if error.first:
            say(f"{error}; {again}")


def _width(console: Console) -> int:
    """The width of the console if it is a terminal; otherwise ``page_width``."""
    return console.width if console.is_terminal else page_width()


def _twin(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return TWINS.get(sign, sign.encode("ascii", "backslashreplace").decode()), error.start + 1
