"""Runs a function in a child process. The child ends whenever its parent ends, even if the parent is killed.

Parent and child exchange plain values by pickle, which is safe because both run our own code.
"""

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
"""The longest single wait for a message, in seconds. Longer waits are split: if the signal of an interruption reached
another thread, Python handles it only between two waits."""


class NoAnswerError(Exception):
    """Raised if no answer comes: the process has ended, or has not answered in time. The text of the error says why."""


class ChildProcess:
    """A child process that calls ``work``, a function of one of our modules, with the child's end of a link to the
    parent (a pipe).

    The child does not load the parent's main program, so a script needs no ``if __name__ == "__main__"``. The child
    searches the same folders for modules as the parent. ``settings``: environment variables for the child. A variable
    that the parent also has keeps the parent's value. ``TMPDIR`` is a folder that is deleted with the child.
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
                },  # a folder for this child alone, since a killed child leaves temporary files
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C reaches only the parent, which decides what is still written
            )

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send a message. If the process has ended, the message is lost. ``receive`` then returns what the process sent
        before, and raises NoAnswerError after that.
        """
        with suppress(OSError):
            self._link.send(message)

    def receive(self, until: float = math.inf) -> Any:
        """Wait for the next message and return it. ``until``: the deadline, on the clock of ``time.monotonic``.

        Raises NoAnswerError if the process has ended and no message is left, and TimeoutError at the deadline.
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
        """Kill the process, whatever it is doing, and delete its temporary folder with any incomplete files."""
        self._process.kill()
        self._process.wait()
        self._scratch.cleanup()

    def _how(self) -> str:
        code = self._process.wait()
        names = {each.value: each.name for each in signal.Signals}  # most real-time signals have no name
        how = f"by {names.get(-code, f'signal {-code}')}" if code < 0 else f"with {code}"
        said = self._last_words.read_text(errors="replace").strip().rpartition("\n")[2]
        return redacted(f"its process ended {how}" + (f": {said}" if said else ""))


def do(work: Callable[[Link], None], descriptor: int) -> NoReturn:
    """Run ``work`` as the main program of the child process, then exit without waiting for other threads.

    ``descriptor``: the file descriptor of the child's end of the link. The exit code is 0 if ``work`` returned. It is 1
    if ``work`` raised an exception or the parent ended first.
    """
    for sent_to_all in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # ignored: the parent decides when to end
        signal.signal(sent_to_all, lambda *_: None)
    os.set_inheritable(descriptor, False)
    watching = threading.Thread(target=_end_with_the_parent, args=(descriptor,), daemon=True)
    watching.start()
    try:
        work(Connection(descriptor))
    except Exception:  # noqa: BLE001 (the parent reports the last line of any traceback)
        traceback.print_exc()
        watching.join(1)  # if the parent has died, the watching thread exits meanwhile
        os._exit(1)
    os._exit(0)


def _end_with_the_parent(descriptor: int) -> None:
    """Wait until the parent is gone, even if it was killed. Then delete the temporary folder and exit.

    A restarted parent may write to the same store, so no child of the killed parent may still be running.
    """
    closed = select.poll()
    closed.register(descriptor, 0)  # no event but a hang-up, which poll always reports
    closed.poll()
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    os._exit(1)
