"""Files of own code for tests, and a process that has not loaded them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skipstack.data.basis.own_code import loaded

PIECES = Path(__file__).parent / "pieces"
RIGHT, BROKEN = PIECES / "right.py", PIECES / "broken.py"


@contextmanager
def another_process() -> Iterator[None]:
    """Within, no file of own code is loaded, as in a process that begins; those of before are there again after it."""
    before = dict(loaded)
    loaded.clear()
    try:
        yield
    finally:
        loaded.clear()
        loaded.update(before)
