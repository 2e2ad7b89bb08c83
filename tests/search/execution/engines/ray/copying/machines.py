"""A driver's machine and others that do not see its study, all in this process; the server is asked without Ray."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skipstack.search.execution.engines.ray.copying import scratch
from skipstack.search.execution.engines.ray.copying.chunks import Chunk
from skipstack.search.execution.engines.ray.copying.copying_workers import CopyingWorkers
from skipstack.search.execution.engines.ray.copying.file_server import FileServer
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.scratch import PREFIX
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.task import Workers


class Clock:
    """Stands still unless it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowFileServer(FileServer):
    """Takes so many ``seconds`` of a clock for each chunk, and notes what came."""

    def __init__(self, folder: StudyFolder, clock: Clock, seconds: float = 0.0) -> None:
        super().__init__(folder)
        self.clock, self.seconds = clock, seconds
        self.sendings: list[list[str]] = []

    def take(self, trial: int, attempt: int, chunk: Chunk) -> None:
        super().take(trial, attempt, chunk)
        self.clock.now += self.seconds
        self.sendings.append([piece.name for piece in chunk.pieces])


class Cluster:
    """The study of the driver's machine, and its workers on another one."""

    def __init__(self, path: Path, seconds: float = 0.0) -> None:
        self.study = StudyFolder(path / "driver")
        self.study.trials.mkdir(parents=True, exist_ok=True)
        self.clock = Clock()
        self.server = SlowFileServer(self.study, self.clock, seconds)
        self.seen = Mark.made(self.study.trials)
        self.unseen = Mark(path / "not here", self.seen.word)

    def workers(self, workers: Workers, *, halts: tuple[int, ...] = (), sees: bool = False) -> CopyingWorkers:
        mark = self.seen if sees else self.unseen
        return CopyingWorkers(workers, self.server, mark, frozenset(halts), self.clock)


@contextmanager
def machine(path: Path) -> Iterator[Path]:
    """Within, this process runs on a machine whose temporary files lie in ``path``; nothing of a study stays there."""
    path.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(path))
        yield path / f"{PREFIX}{os.getuid()}"
        scratch.leave()


def left(machine: Path) -> list[str]:
    """The files on a machine, but for locks that nobody holds."""
    return sorted(
        path.relative_to(machine).as_posix() for path in machine.rglob("*") if path.is_file() and path.suffix != ".lock"
    )
