"""Interruptions that pydantic has wrapped: it turns whatever a serializer raises into an error of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticSerializationError


@contextmanager
def interruptions_unwrapped() -> Iterator[None]:
    """Within, a Ctrl-C or another interruption that comes amid a serializer is raised as what it is.

    Else it would be taken for an error of whatever was to be serialized, and the study would go on.
    """
    try:
        yield
    except PydanticSerializationError as error:
        cause = error.__cause__
        while isinstance(cause, PydanticSerializationError):
            cause = cause.__cause__
        if cause is None or isinstance(cause, Exception):
            raise
        raise cause from error
