"""Lines for the user, to whoever shows them."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one line for the user."""


def unsaid(line: str) -> None:
    """Leave a line for the user out."""
