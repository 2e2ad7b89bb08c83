"""The type of functions that show a line to the user."""

from collections.abc import Callable
from contextlib import suppress

Say = Callable[[str], None]
"""Shows one line to the user."""


def tried(say: Say) -> Say:
    """Wrap ``say`` so that it raises no error. A line that cannot be shown, for example on a closed stderr, is lost."""

    def attempt(line: str) -> None:
        with suppress(Exception):  # handlers and streams may be of any class
            say(line)

    return attempt


def unsaid(line: str) -> None:
    """Drop the line. This is the ``Say`` of callers that want no output."""
