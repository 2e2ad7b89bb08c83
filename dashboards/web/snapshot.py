"""Reads a study once, and again when its ledger has changed. All requests share the result: do not change it."""

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.web.shared import Shared
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import LONG

if TYPE_CHECKING:
    from skipstack.dashboards.formats.page import Report
    from skipstack.search.analysis.exploration.exploration import Exploration
    from skipstack.search.analysis.study_frames import StudyFrames
    from skipstack.search.analysis.verdict.of_study import Tables
    from skipstack.search.analysis.verdict.verdicts import Verdict
    from skipstack.search.study.record.study_record import StudyRecord

MOST: Final = 64
"""The maximum number of studies of which ``READ`` and ``LATEST`` each keep a snapshot in memory."""

SECONDS: Final = 30
"""The age in seconds from which a requested snapshot of a long ledger is read again in the background."""

Version = tuple[tuple[str, int, int], ...]
"""The names, sizes and modification times of a ledger's files, which change when the ledger grows."""


@dataclass(frozen=True)
class Snapshot:
    """A study as it was when it was read. ``path``: its folder. ``frames``: its tables."""

    path: Path
    frames: "StudyFrames"

    @cached_property
    def explored(self) -> "Exploration":
        """The exploration of the study's search."""
        return self.frames.exploration()

    @cached_property
    def verdict(self) -> str:
        """The verdict on the study, in a sentence."""
        from skipstack.dashboards.reports.verdict import in_a_sentence

        return in_a_sentence(self._found)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The lines below the verdict: what each tested change adds."""
        from skipstack.dashboards.reports.verdict import answers

        return answers(self._found)

    @cached_property
    def _found(self) -> "Verdict":
        from skipstack.search.analysis.verdict.of_study import verdict

        return verdict(self.explored, self._tables)

    @cached_property
    def _tables(self) -> "Tables":
        from skipstack.dashboards.reports.confirmation.reports import confirmed_tables

        return confirmed_tables(self.record) if self.frames.fixed else ()

    @cached_property
    def confirmed(self) -> "list[Report]":
        """The reports of the confirmed tables, which take longer to make than the page that shows them."""
        from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report

        return [ablated_report(*each) for each in self._tables]

    @property
    def ranked(self) -> list[int]:
        """The numbers of the trials with a score, the best first. This needs the exploration only if seeds race (are
        trained in groups).
        """
        if self.frames.study.search.seeds_race:
            return list(self.explored.seen.ranked)
        scores = self.frames.trials["score"].dropna()
        return [int(number) for number in scores.sort_values(ascending=False, kind="stable").index]

    @property
    def best(self) -> int | None:
        """The number of the best trial; None if no trial has a score."""
        return next(iter(self.ranked), None)

    @property
    def record(self) -> "StudyRecord":
        """The record of the study, trial by trial. Reading it from a long ledger takes a while."""
        return self.frames.record


def snapshot(path: Path) -> Snapshot:
    """A snapshot of the study in a folder. If the ledger is long, it is the last one; if that is old (``SECONDS``), a
    thread reads another for later requests. Raises UserError if the study is missing or damaged.
    """
    version = version_of(path)
    if is_short(version):
        return _read(path, version)
    latest = LATEST(path, lambda: _Latest.of(path))
    if time.monotonic() - latest.began > SECONDS:
        latest.began = time.monotonic()  # so that no other request starts a thread
        Thread(target=_again, args=(path, latest), daemon=True).start()
    return latest.snapshot


def is_short(version: Version) -> bool:
    """Whether the files of a ledger have fewer than ``LONG`` bytes in total, so that they are read at once."""
    return sum(size for _, size, _ in version) < LONG


def version_of(path: Path) -> Version:
    """The version of the ledger of the study in a folder. Raises UserError if there is no study."""
    ledger = Ledger(StudyFolder.existing(path).ledger)

    def stated() -> Version:
        stats = [(file.name, file.stat()) for file in ledger.files()]
        return tuple((name, each.st_size, each.st_mtime_ns) for name, each in stats)

    return ledger.whole(stated)


def _read(path: Path, version: Version) -> Snapshot:
    from skipstack.search.analysis.study_frames import study_frames

    return READ(path, lambda: Snapshot(path, study_frames(path)), version)


def _again(path: Path, latest: "_Latest") -> None:
    with suppress(UserError):  # the study was deleted; the next request reports it
        now = _Latest.of(path)
        latest.began, latest.snapshot = now.began, now.snapshot


@dataclass
class _Latest:
    """The last snapshot of a study with a long ledger, and the time when its reading began."""

    began: float
    snapshot: Snapshot

    @classmethod
    def of(cls, path: Path) -> "_Latest":
        return cls(time.monotonic(), _read(path, version_of(path)))


READ: Final = Shared[Path, Snapshot](MOST)
LATEST: Final = Shared[Path, _Latest](MOST)
