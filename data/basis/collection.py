"""Python's garbage collector, put off while very many objects are made that all stay, or until their process ends."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_put_off() -> Iterator[None]:
    """Meanwhile nobody looks for cycles that could go: of millions of objects that takes a tenth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def collection_left_to_the_end() -> Iterator[None]:
    """Likewise, for the last that a process does: as it ends, Python looks at nothing that there is by then."""
    with collection_put_off():
        try:
            yield
        finally:
            gc.freeze()
