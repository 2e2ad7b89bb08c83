"""What does not hold of a piece of one's own. No torch here: formats are checked without it."""


class Failure(Exception):  # noqa: N818 (of a check, in words; nothing broke)
    """What does not hold of a piece, in words."""
