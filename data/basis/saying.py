"""The type of functions that show a line to the user."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Shows one line to the user."""


def unsaid(line: str) -> None:
    """Shows nothing."""
