"""The type of functions that show a line to the user."""

from collections.abc import Callable
from contextlib import suppress

Say = Callable[[str], None]
"""Shows one line to the user."""


def tried(say: Say) -> Say:
    """The same function, but the failure of whatever shows a line, such as a closed stderr, costs that line alone."""

    def attempt(line: str) -> None:
        with suppress(Exception):  # of handlers and streams of any class
            say(line)

    return attempt


def unsaid(line: str) -> None:
    """Shows nothing."""
