"""Unwraps interruptions from pydantic's errors: pydantic wraps every exception of a serializer in its own error."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticSerializationError


@contextmanager
def interruptions_unwrapped() -> Iterator[None]:
    """Context in which a Ctrl-C or another interruption during serialization is raised unwrapped.

    The caller would take a wrapped interruption for an error of the serialized value, and the study would go on.
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
