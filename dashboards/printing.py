"""What goes to the user's terminal: the result to stdout, everything else to stderr."""

import sys

from rich.console import Console

from dashboards.tables import Format, render
from search.ablation import Ablation


def print_report(ablation: Ablation, form: Format = "text") -> None:
    """Print a report: to fit the terminal and in its colours, or plain and as wide as it is."""
    console = Console()
    width = console.width if console.is_terminal else None
    sys.stdout.write(render(ablation, form, width=width, terminal=console.is_terminal))


def say(line: str) -> None:
    """Tell the user something that is not the result."""
    print(line, file=sys.stderr)
