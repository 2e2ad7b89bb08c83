"""What goes to the user's terminal: the result to stdout, everything else to stderr."""

import sys

from rich.console import Console

from skipstack.dashboards.report import comparison_report as beside
from skipstack.dashboards.report.rendering import Format, render
from skipstack.data.basis.redaction import redacted
from skipstack.search.ablation.ablation import Ablation
from skipstack.search.ablation.against import Comparison


def print_report(made: Ablation | Comparison, form: Format = "text") -> None:
    """Print a report: to fit the terminal and in its colours, or plain and as wide as it is."""
    console = Console()
    width, terminal = console.width if console.is_terminal else None, console.is_terminal
    if isinstance(made, Ablation):
        sys.stdout.write(render(made, form, width=width, terminal=terminal))
    else:
        sys.stdout.write(beside.render(made, form, width=width, terminal=terminal))


def say(line: str) -> None:
    """Tell the user something that is not the result, without the secrets that it may hold."""
    print(redacted(line), file=sys.stderr)
