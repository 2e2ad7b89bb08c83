"""Processes that talk to MLflow, begun as forks of one that has loaded it: two seconds of imports less in every study.

The one that has loaded it belongs to the process of the tests, which asks it by a socket, and ends with it.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final, NoReturn

from skipstack.search.publishing.tracking.tracking_process import SETTINGS, serve
from tests.pages import ROOT

LONGEST_ANSWER: Final = 100

BEFORE: Final = {**SETTINGS, **os.environ}
"""The environment of the one that has loaded MLflow: that in which the tests began, whichever of them is the first."""


class Launcher:
    """Stands for the module ``subprocess`` where child processes are begun: of MLflow's, forks, of others, the real."""

    DEVNULL: Final = subprocess.DEVNULL

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link: socket.socket | None = None

    def Popen(self, command: Sequence[str], **options: Any) -> "Forked | subprocess.Popen[bytes]":  # noqa: N802
        if f"from {serve.__module__} import {serve.__name__} " in command[-1]:
            return Forked(self, command[-1], options["stdout"], options["env"], options["pass_fds"])
        return subprocess.Popen(command, **options)

    def ask(self, descriptors: Sequence[int], pid: int = 0) -> int:
        """The number of a new process that is given these files; or how the process of this number ended."""
        with self._lock:
            if self._link is None:
                self._link, theirs = socket.socketpair()
                with theirs:
                    self._loaded = subprocess.Popen(
                        [sys.executable, "-m", __name__], stdin=theirs, cwd=ROOT, env=BEFORE
                    )
            socket.send_fds(self._link, [str(pid).encode()], descriptors)
            answer = self._link.recv(LONGEST_ANSWER)
        assert answer, "the process that has loaded MLflow has ended"
        return int(answer)

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._loaded.wait()


class Forked:
    """A process that runs ``program`` as ``python -c`` would: in a session of its own, with these files and variables,
    and with the number that it knows its end of the link by.
    """

    def __init__(
        self, launcher: Launcher, program: str, output: IO[bytes], env: Mapping[str, str], links: Sequence[int]
    ) -> None:
        (link,) = links
        self._launcher = launcher
        with tempfile.TemporaryFile("w+") as told:
            json.dump({"program": program, "env": dict(env), "folder": os.getcwd(), "link": link}, told)
            told.seek(0)
            self.pid = launcher.ask([told.fileno(), output.fileno(), link])
        self._code: int | None = None

    def kill(self) -> None:
        if self._code is None:  # else its number may be that of another
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            self._code = self._launcher.ask([], self.pid)
        return self._code


def main() -> None:
    """Load MLflow, and begin a process for each that is asked for."""
    import mlflow.store.tracking.sqlalchemy_store
    import mlflow.tracking  # noqa: F401
    from sqlalchemy.orm import configure_mappers

    configure_mappers()
    gc.collect()
    gc.freeze()  # lest forks copy what their collections touch
    with socket.socket(fileno=os.dup(0)) as owner:
        while True:
            asked, descriptors, *_ = socket.recv_fds(owner, LONGEST_ANSWER, 3)
            if not asked:
                return
            if pid := int(asked):
                answer = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            else:
                answer = os.fork() or _run(*descriptors)
                for each in descriptors:
                    os.close(each)
            owner.sendall(str(answer).encode())


def _run(told: int, output: int, link: int) -> NoReturn:
    """Become the new process."""
    with os.fdopen(told) as file:
        asked = json.load(file)
    os.setsid()
    os.chdir(asked["folder"])
    with open(os.devnull) as nothing:
        for number, descriptor in ((0, nothing.fileno()), (1, output), (2, output)):
            os.dup2(descriptor, number)
    kept = os.dup2(link, 1000)  # its own number may be that of another file here
    for number in sorted({int(each) for each in os.listdir("/proc/self/fd")} - {0, 1, 2, kept}):
        with suppress(OSError):
            os.close(number)
    os.dup2(kept, asked["link"])
    os.close(kept)
    os.environ.clear()
    os.environ.update(asked["env"])
    tempfile.tempdir = None
    sys.argv = ["-c"]
    exec(asked["program"], {"__name__": "__main__"})
    os._exit(0)


if __name__ == "__main__":
    main()
