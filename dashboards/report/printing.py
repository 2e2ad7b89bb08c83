"""What goes to the user's terminal: the result to stdout, everything else to stderr."""

import sys

from rich.console import Console

from skipstack.dashboards.pages.page import Report
from skipstack.dashboards.pages.rendering import Format, render
from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted


def print_report(report: Report, form: Format = "text") -> None:
    """Print a report: to fit the terminal and in its colours, or plain and as wide as the report says."""
    console = Console()
    width, terminal = (console.width, True) if console.is_terminal else (report.width, False)
    sys.stdout.write(render(report, form, width=width, terminal=terminal))


def say(line: str) -> None:
    """Tell the user something that is not the result, without the secrets that it may hold."""
    print(visible(redacted(line)), file=sys.stderr)
