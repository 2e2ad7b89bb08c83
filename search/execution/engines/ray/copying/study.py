"""Starts the file server of a study whose files may have to be copied, and removes the copies on all machines at the
end.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import ray
from ray.exceptions import RayError

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import ClusterLostError
from skipstack.search.execution.engines.ray.copying.chunks import chunks
from skipstack.search.execution.engines.ray.copying.copying_workers import CopyingWorkers
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.remote_file_server import (
    FileService,
    RemoteFileServer,
    start_file_server,
)
from skipstack.search.execution.engines.ray.copying.scratch import Scratch, files_of, is_used, swept
from skipstack.search.execution.engines.ray.machines import asked
from skipstack.search.execution.workers.attempts import SupersededError
from skipstack.search.ledger.events import Ended, Event
from skipstack.search.study.task import Workers

HALF_WRITTEN: Final = re.compile(r"(.*/)?\.[^/]*\.[0-9a-f]{16}")
"""Pattern of the temporary names of incomplete files (``data/basis/atomic_files.py``)."""


@contextmanager
def copying(workers: Workers, driver: Driver, mark: Mark) -> Iterator[CopyingWorkers]:
    """Yield workers for the driver's study that copy files to and from machines that do not see its ``mark``. After the
    block, the copies are removed and the file server ends.
    """
    server = start_file_server(driver.folder)

    def hear(event: Event) -> None:
        if isinstance(event, Ended):
            server.over(event.trial)

    driver.listen(hear)
    try:
        yield CopyingWorkers(workers, server, mark, driver.halts)
    finally:
        with suppress(RayError, OSError, ClusterLostError):
            _end(server, mark)


def gather(copying: CopyingWorkers) -> None:
    """Make every machine send its trials' files to the server, if any file was ever copied."""
    with suppress(RayError, OSError, ClusterLostError):
        if copying.server.moved():
            asked(partial(gathered, copying.mark.word, copying.server))


def gathered(word: str, server: FileService) -> None:
    """Send all trials' files in the study's temporary folder on this machine to the server. ``word``: the word of the
    study's mark.
    """
    if not is_used(word):
        return
    with Scratch(word) as scratch:
        for number, attempt, folder in scratch.trials():
            names = [name for name in files_of(folder) if not HALF_WRITTEN.fullmatch(name)]
            with suppress(SupersededError):
                for chunk in chunks(folder, names):
                    server.take(number, attempt, chunk)


def _end(server: RemoteFileServer, mark: Mark) -> None:
    if _may_have_copied(server):
        asked(partial(swept, mark.word))
    ray.kill(server.actor)


def _may_have_copied(server: RemoteFileServer) -> bool:
    """Whether any file was copied; True also if the server does not answer, since it may have died."""
    try:
        return server.moved() > 0
    except OSError:
        return True
