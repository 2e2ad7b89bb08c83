"""Draws the pictures of reports in a child process. If the child process dies or hangs, only pictures are missing.

The child process loads V8 (``charts/rendering.py``), but neither Altair nor the study.
"""

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from skipstack.data.basis.child_process import ChildProcess, Link, NoAnswerError
from skipstack.data.basis.errors import one_line
from skipstack.data.basis.system import address_limit

PATIENCE: Final = 120.0
"""The maximum seconds for starting the process, and for drawing a picture. Each usually takes a second."""


NO_DOCSTRINGS: Final = (
    "Altair, which draws them, cannot be imported by a Python without docstrings (-OO, PYTHONOPTIMIZE=2)"
)


class UndrawnError(Exception):
    """Raised if a picture cannot be drawn. The message gives the reason in one line."""


class DrawingProcess:
    """Draws pictures one after another in a child process, which starts with ``begin`` or with the first picture.

    The child process lasts until ``end``, or until this process ends. If the child has died or hung, ``trouble`` gives
    the reason in one line. Further pictures then fail at once. ``end`` clears ``trouble``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: ChildProcess | None = None
        self._ready = False
        self.trouble: str | None = None

    def begin(self) -> None:
        """Start the child process, without waiting for it."""
        with self._lock:
            self._begin()

    def svg(self, specification: Mapping[str, Any], version: str) -> str:
        """Draw the picture of a specification (``charts/drawing.py``). ``version``: its Vega-Lite version.

        Raises UndrawnError if the picture cannot be drawn.
        """
        return self._made("svg", specification, version)

    def script(self, snippet: str, version: str) -> str:
        """Put together the script that draws charts in a browser, followed by ``snippet``. ``version``: the version of
        Vega-Lite. Raises UndrawnError if it cannot be made.
        """
        return self._made("script", snippet, version)

    def _made(self, kind: str, *arguments: Any) -> str:
        with self._lock:
            self._begin()
            if not self._ready:
                self._answer()  # the child reads nothing before it is ready, so sending much would block
                self._ready = True
            if self._child is not None:
                self._child.send((kind, arguments))
            found = self._answer()
        if isinstance(found, Exception):
            raise UndrawnError(one_line(found))
        return str(found)

    def end(self) -> None:
        """End the child process, if there is one. A later picture starts another child process."""
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
            self._end(f"{str(error).partition(': ')[0]}{_limited()}")  # the rest is a line of V8's stack
        raise UndrawnError(self.trouble)

    def _end(self, trouble: str | None) -> None:
        self.trouble, self._ready = trouble, False
        child, self._child = self._child, None
        if child is not None:
            atexit.unregister(self.end)
            child.end()


DRAWING: Final = DrawingProcess()
"""The drawing process for all pictures of this Python process."""


def serve(link: Link) -> None:
    """Run the loop of the child process: answer each request from ``link`` with a picture, a script or an error."""
    from skipstack.dashboards.charts import rendering

    rendering.load()
    link.send("ready")
    made: dict[str, Callable[..., str]] = {"svg": rendering.svg, "script": rendering.script}
    while True:
        kind, arguments = link.recv()
        try:
            answer: str | Exception = made[kind](*arguments)
        except ValueError as error:  # the chart is at fault, not the process
            answer = ValueError(str(error))
        link.send(answer)


def _limited() -> str:
    """A note on the limit of the address space, the likely cause of a failure. Empty without a limit."""
    most = address_limit()
    if most is None:
        return ""
    return f" (`ulimit -v` allows {most / 1e9:.1f} GB of addresses, and drawing reserves more)"
