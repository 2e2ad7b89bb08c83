"""What goes to the user's terminal: the result to stdout, everything else to stderr."""

import codecs
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from textwrap import wrap
from typing import Final

from rich.console import Console

from skipstack.dashboards.formats.page import Page, Report
from skipstack.dashboards.formats.rendering import FileFormat, render, rendered
from skipstack.dashboards.formats.text import PAGE
from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted

TWINS: Final = {"–": "-", "±": "+-", "²": "^2", "†": "+", "›": ">", "≠": "!=", "→": "->", "◆": "*"}
"""The signs of our reports, each with what stands for it where there is only ASCII."""

HARD: Final = "\u00a0"
"""A blank at which no line ends."""


def print_everywhere() -> None:
    """From now on nothing that is printed fails because the terminal does not know a sign.

    Our own signs are written with those of ASCII, the bytes of file names that are no text as they are, other
    characters by their numbers.
    """
    codecs.register_error("skipstack", _twin)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="skipstack")


def print_report(report: Report, form: FileFormat = "text", out: Path | None = None) -> None:
    """Print a report: to fit the terminal and in its colours, or plain and ``page_width`` wide; or write a file.

    Raises UserError where the file cannot be written, and for a format that is no text and no file.
    """
    if out is not None:
        write_report(report, form, out)
        return
    if form == "parquet":
        raise UserError("--format parquet: got no file for it (allowed: with --out FILE)")
    console = Console()
    sys.stdout.write(render(report, form, width=_width(console), terminal=console.is_terminal))


def print_page(page: Page) -> None:
    """Print a page that is there for people alone, as ``print_report`` prints a report."""
    print_report(Report(page=page, content={}))


def page_width() -> int:
    """The columns of a page that no terminal shows: those that ``COLUMNS`` of the environment asks for, else 80."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and int(asked) else PAGE


def print_sentence(sentence: str) -> None:
    """Print a sentence below a report, after an empty line, in lines of at most 80 columns, however wide the page is.

    A line ends neither before ``%`` nor beside ``±``.
    """
    width = min(_width(Console()), PAGE)
    together = visible(sentence).replace(" %", f"{HARD}%").replace(" ± ", f"{HARD}±{HARD}")
    lines = wrap(together, width, break_on_hyphens=False)
    sys.stdout.write("\n" + "".join(f"{line}\n" for line in lines).replace(HARD, " "))


def write_report(report: Report, form: FileFormat, out: Path) -> None:
    """Write a report to a file, whole or not at all. Raises UserError where it cannot be written."""
    write_file(rendered(report, form, width=page_width()), out)


def write_file(content: bytes, out: Path) -> None:
    """Write a file, whole or not at all. Raises UserError where it cannot be written."""
    target = out.resolve()
    try:
        if target.exists() and not target.is_file():
            raise UserError(f"--out {out}: is no file (allowed: a new file, or one to replace)")
        write_atomically(target, content)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written ({error.strerror})") from error


def say_page(page: Page) -> None:
    """Tell the user a page that is not the result."""
    for line in render(Report(page=page, content={}), "text", width=_width(Console(stderr=True))).splitlines():
        say(line)


def say(line: str) -> None:
    """Tell the user something that is not the result, without the secrets that it may hold."""
    print(visible(redacted(line)), file=sys.stderr)


def _width(console: Console) -> int:
    """The columns of the terminal, if it is one."""
    return console.width if console.is_terminal else page_width()


def _twin(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return TWINS.get(sign, sign.encode("ascii", "backslashreplace").decode()), error.start + 1
