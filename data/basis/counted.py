"""Formats counts with their nouns, and lists in words."""

from collections.abc import Sequence


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: ``1 trial``, ``1,200 trials``. ``nouns``: the plural; None means ``noun`` with an s."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def listed(things: Sequence[str]) -> str:
    """A list in words, such as ``one``, ``one and two``, or ``one, two and three``."""
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last
