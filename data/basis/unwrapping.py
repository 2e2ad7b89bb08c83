"""Interruptions that pydantic has wrapped: it turns every exception of a serializer into an error of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticSerializationError


@contextmanager
def interruptions_unwrapped() -> Iterator[None]:
    """Context in which a Ctrl-C or another interruption during serialization is raised unwrapped.

    Otherwise it would be taken for an error of the value that was serialized, and the study would go on.
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
