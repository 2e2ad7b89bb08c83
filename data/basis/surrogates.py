"""Finds half of a surrogate pair in a text, which no encoding can express."""


def half_pair(text: str) -> int | None:
    """The place of the first character that is half of a surrogate pair; None if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
