"""A child process: it ends with its parent, however that ends. They send each other plain values of ours, pickled."""

import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from skipstack.data.basis.redaction import redacted

Link: TypeAlias = "Connection[Any, Any]"

LOOK_UP: Final = 0.5
"""Seconds after which who waits for a message sees that it is interrupted, whichever thread the signal reached."""


class NoAnswerError(Exception):
    """No answer comes: the process has ended, or nobody waits any longer. The message is one line on how."""


class ChildProcess:
    """A process that does ``work``, a function of a module of ours, with its end of the link.

    Nothing of the main program is loaded there, so a script needs no ``if __name__ == "__main__"``; modules are found
    where they are found here. ``settings``: variables of its environment, where ours does not have them.
    """

    def __init__(self, work: Callable[[Link], None], settings: Mapping[str, str] | None = None) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="skipstack-", ignore_cleanup_errors=True)
        self._last_words = Path(self._scratch.name) / "last words"
        self._link, theirs = Pipe()
        program = (
            f"import sys; sys.path[:] = {[str(place) for place in sys.path]!a}; "
            f"from {work.__module__} import {work.__name__} as work; from {__name__} import do; "
            f"do(work, {theirs.fileno()})"
        )
        with theirs, self._last_words.open("wb") as last_words:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=last_words,
                stderr=last_words,
                env={
                    **(settings or {}),
                    **os.environ,
                    "TMPDIR": self._scratch.name,
                },  # it may end in the midst of a file
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for its parent, which decides what is still written
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send it; what is sent to a process that has ended is lost, as ``receive`` says."""
        with suppress(OSError):
            self._link.send(message)

    def receive(self, until: float = math.inf) -> Any:
        """Wait for the next message, ``until`` then by the monotonic clock.

        Raises NoAnswerError where the process has ended, and TimeoutError.
        """
        try:
            while not self._link.poll(min(LOOK_UP, max(until - time.monotonic(), 0))):
                if time.monotonic() >= until:
                    raise TimeoutError
            return self._link.recv()
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise NoAnswerError(self._how()) from error

    def end(self) -> None:
        """End it, whatever it does, with what it has not written to the end."""
        self._process.kill()
        self._process.wait()
        self._scratch.cleanup()

    def _how(self) -> str:
        code = self._process.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
        said = self._last_words.read_text(errors="replace").strip().rpartition("\n")[2]
        return redacted(f"its process ended {how}" + (f": {said}" if said else ""))


def do(work: Callable[[Link], None], descriptor: int) -> NoReturn:
    """The main program of the process. At its end it waits for no other thread."""
    for sent_to_all in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # all processes of a job: the parent decides
        signal.signal(sent_to_all, lambda *_: None)
    os.set_inheritable(descriptor, False)
    watching = threading.Thread(target=_end_with_the_parent, args=(descriptor,), daemon=True)
    watching.start()
    try:
        work(Connection(descriptor))
    except Exception:  # noqa: BLE001 (whatever it is, the last line of it is what the parent will say)
        traceback.print_exc()
        watching.join(1)  # where the parent has died, this is the end
        os._exit(1)
    os._exit(0)


def _end_with_the_parent(descriptor: int) -> None:
    """End once the parent is gone, even if it was killed: one that is started anew may write to the same store."""
    closed = select.poll()
    closed.register(descriptor, 0)  # no event but that the other end is gone, which is always told
    closed.poll()
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    os._exit(1)
