"""The type of functions that show a line to the user."""

from collections.abc import Callable
from contextlib import suppress

Say = Callable[[str], None]
"""Shows one line to the user."""


def tried(say: Say) -> Say:
    """The same function, except that if a line cannot be shown, as on a closed stderr, only that line is lost."""

    def attempt(line: str) -> None:
        with suppress(Exception):  # of handlers and streams of any class
            say(line)

    return attempt


def unsaid(line: str) -> None:
    """Shows nothing."""
