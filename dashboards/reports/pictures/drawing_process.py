"""The process that draws the pictures of reports: if it dies or hangs, pictures are missing, and nothing else.

It loads V8 (``charts/rendering.py``), and neither Altair nor the study.
"""

import atexit
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from skipstack.data.basis.child_process import ChildProcess, Link, NoAnswerError
from skipstack.data.basis.errors import one_line
from skipstack.data.basis.system import address_limit

PATIENCE: Final = 120.0
"""Seconds within which the process must have started, and must have drawn a picture; a second is usual."""


class UndrawnError(Exception):
    """A picture is not drawn. The message is one line on why."""


class DrawingProcess:
    """Draws pictures one after another in one child process, which starts with ``begin`` or the first picture.

    It lasts until ``end``, or until this process ends. ``trouble``: why it can draw no more, if so, in a line; until
    ``end`` nothing else is tried, so that a page waits only once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: ChildProcess | None = None
        self._ready = False
        self.trouble: str | None = None

    def begin(self) -> None:
        """Start the process, without waiting for it."""
        with self._lock:
            self._begin()

    def svg(self, specification: Mapping[str, Any], version: str) -> str:
        """The picture of a specification (``charts/drawing.py``). Raises UndrawnError."""
        with self._lock:
            self._begin()
            if not self._ready:
                self._answer()  # until it is ready it reads nothing, and sending much would block
                self._ready = True
            if self._child is not None:
                self._child.send((specification, version))
            found = self._answer()
        if isinstance(found, Exception):
            raise UndrawnError(one_line(found))
        return str(found)

    def end(self) -> None:
        """End the process, if there is one; a picture drawn later starts another."""
        with self._lock:
            self._end(None)

    def _begin(self) -> None:
        if self._child is None and self.trouble is None:
            try:
                self._child = ChildProcess(serve)
            except OSError as error:
                self.trouble = one_line(error)
            else:
                atexit.register(self.end)

    def _answer(self) -> Any:
        if self._child is None:
            raise UndrawnError(self.trouble)
        try:
            return self._child.receive(time.monotonic() + PATIENCE)
        except TimeoutError:
            self._end(f"drawing took more than {PATIENCE:.0f} s{_limited()}")
        except NoAnswerError as error:
            self._end(f"{str(error).partition(': ')[0]}{_limited()}")  # what follows is a line of V8's stack
        raise UndrawnError(self.trouble)

    def _end(self, trouble: str | None) -> None:
        self.trouble, self._ready = trouble, False
        child, self._child = self._child, None
        if child is not None:
            atexit.unregister(self.end)
            child.end()


DRAWING: Final = DrawingProcess()
"""The drawing process that all pictures of this Python process use."""


def serve(link: Link) -> None:
    """The loop of the process: it draws each specification that it is sent."""
    from skipstack.dashboards.charts import rendering

    rendering.load()
    link.send("ready")
    while True:
        specification, version = link.recv()
        try:
            answer: str | Exception = rendering.svg(specification, version)
        except ValueError as error:  # the chart is to blame
            answer = ValueError(str(error))
        link.send(answer)


def _limited() -> str:
    """The limit of addresses, which is the likely cause where there is one."""
    most = address_limit()
    if most is None:
        return ""
    return f" (`ulimit -v` allows {most / 1e9:.1f} GB of addresses, and drawing reserves more)"
