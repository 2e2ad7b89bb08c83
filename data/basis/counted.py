"""Counts in words."""


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: ``1 trial``, ``1,200 trials``."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
