"""What goes to the user's terminal: the result to stdout, everything else to stderr."""

import codecs
import sys
from io import TextIOWrapper
from typing import Final

from rich.console import Console

from skipstack.dashboards.pages.page import Report
from skipstack.dashboards.pages.rendering import Format, render
from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted

TWINS: Final = {"–": "-", "±": "+-", "²": "^2", "†": "+", "›": ">", "≠": "!=", "◆": "*"}
"""The signs of our reports, each with what stands for it where there is only ASCII."""


def print_everywhere() -> None:
    """From now on nothing that is printed fails because the terminal does not know a sign.

    Our own signs are written with those of ASCII, the bytes of file names that are no text as they are, other
    characters by their numbers.
    """
    codecs.register_error("skipstack", _twin)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="skipstack")


def print_report(report: Report, form: Format = "text") -> None:
    """Print a report: to fit the terminal and in its colours, or plain and as wide as the report says."""
    console = Console()
    width, terminal = (console.width, True) if console.is_terminal else (report.width, False)
    sys.stdout.write(render(report, form, width=width, terminal=terminal))


def say(line: str) -> None:
    """Tell the user something that is not the result, without the secrets that it may hold."""
    print(visible(redacted(line)), file=sys.stderr)


def _twin(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return TWINS.get(sign, sign.encode("ascii", "backslashreplace").decode()), error.start + 1
