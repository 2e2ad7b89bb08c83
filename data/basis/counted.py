"""Formats counts with their nouns."""


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: ``1 trial``, ``1,200 trials``. ``nouns``: the plural; None means ``noun`` with an s."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
