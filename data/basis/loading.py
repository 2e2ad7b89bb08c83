"""Libraries loaded without a look for garbage: what is imported stays, and to go through it takes a fifth of the time.

Python looks through all that lives whenever a quarter has been added; three thousand modules are added one by one.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_within = 0
_looked = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Within, garbage is not looked for, in any thread; after the last that is within, it is as it was before."""
    global _within, _looked
    with _lock:
        if _within == 0:
            _looked = gc.isenabled()
            gc.disable()
        _within += 1
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if _within == 0 and _looked:
                gc.enable()
