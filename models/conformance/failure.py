"""The exception that conformance checks raise. No torch here: formats are checked without it."""


class Failure(Exception):  # noqa: N818 (the outcome of a check, not a program error)
    """A conformance check does not hold; the message says why."""


class Unchecked(Exception):  # noqa: N818
    """A check cannot be made here; the message says why."""
