"""How often `resume` reads a ledger, counted in lines: of every line as often as is said here, however long it is."""

import os
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.api import run as running
from skipstack.search.api.recorded_options import execution_of
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger import lines as lines_of
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

AN_HOUR = 3600


class Untracked:
    """In place of the process that writes to MLflow, which reads the ledger by itself."""

    def record(self, *_: Any, **__: Any) -> None: ...
    def let_end(self) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


def interrupted(path: Path, trials: int) -> StudyFolder:
    """A study of which all trials have ended, an hour ago, and that was not finished."""
    folder = open_toy(path, toy_study(trials=trials))
    with Ledger(folder.ledger) as ledger:
        SerialEngine(ToyWorker).run(toy_driver(folder, ledger))
    for file in folder.ledger.iterdir():
        then = file.stat().st_mtime - AN_HOUR
        os.utime(file, (then, then))
    return folder


def read_by_resume(path: Path, trials: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many lines `resume` reads until trials run, and how many there are."""
    folder, count = interrupted(path, trials), 0
    lines = sum(1 for _ in Ledger(folder.ledger).lines())
    decoded = lines_of.decoded

    def counting(line: bytes) -> bytes | None:
        nonlocal count
        count += 1
        return decoded(line)

    def stopped(driver: Driver, engine: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lines_of, "decoded", counting)
        patch.setattr(running, "run_study", stopped)
        patch.setattr(running, "TrackingProcess", Untracked)
        run = running.resume(path, execution_of({"engine": "serial"}, path))
        with pytest.raises(KeyboardInterrupt):
            run.finish()
    return count, lines


def test_resume_reads_each_line_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once before it locks the ledger, to check it whole and to find what an earlier run has recorded; once to replay
    it, since the events of a long study are not kept in memory.
    """
    (few, short), (many, long) = (read_by_resume(tmp_path / str(trials), trials, monkeypatch) for trials in (5, 15))
    assert (many - few) / (long - short) == 2


def test_a_ledger_that_has_just_changed_is_read_anew(tmp_path: Path) -> None:
    """A change that leaves its size, in the same tick of the disk's clock, cannot be seen otherwise."""
    folder = open_toy(tmp_path, toy_study(trials=3))
    with Ledger(folder.ledger) as ledger:
        SerialEngine(ToyWorker).run(toy_driver(folder, ledger))
    assert len(list(Ledger(folder.ledger).only("resumed", "finished"))) == 0
    segment = max(folder.ledger.glob("*.jsonl"))
    content, times = segment.read_bytes(), segment.stat()
    segment.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    os.utime(segment, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ValueError, match="damaged"):
        list(Ledger(folder.ledger).only("resumed", "finished"))
