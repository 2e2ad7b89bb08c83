"""A study as it stands when a page asks for it: read once, and again when its ledger has grown.

What is read is shared by all who look, and none of them changes it.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.reading import LONG

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration
    from skipstack.search.analysis.frames.study_frames import StudyFrames
    from skipstack.search.record.study_record import StudyRecord

MOST: Final = 64
"""Studies that are kept in memory, at most."""

SECONDS: Final = 30
"""So old is what pages show of a long ledger that grows, at most about: it is read anew beside them."""

Version = tuple[tuple[str, int, int], ...]
"""The files of a ledger with their sizes and times: another one when it has grown."""


@dataclass(frozen=True)
class Snapshot:
    """A study in its folder, as it stood when it was read."""

    path: Path
    frames: "StudyFrames"

    @cached_property
    def explored(self) -> "Exploration":
        """What its search saw."""
        return self.frames.exploration()

    @property
    def record(self) -> "StudyRecord":
        """All that happened, trial by trial, which takes a while to read of a long ledger."""
        return self.frames.record


def snapshot(path: Path) -> Snapshot:
    """The study in a folder. Raises UserError where there is none, or it is damaged."""
    version = version_of(path)
    if sum(size for _, size, _ in version) < LONG:
        return _read(str(path), version)
    return _long(str(path))


def version_of(path: Path) -> Version:
    """Which version of the study lies in a folder. Raises UserError where there is none."""
    ledger = Ledger(StudyFolder.existing(path).ledger)

    def stated() -> Version:
        stats = [(file.name, file.stat()) for file in ledger.files()]
        return tuple((name, each.st_size, each.st_mtime_ns) for name, each in stats)

    return ledger.whole(stated)


@st.cache_resource(max_entries=MOST, show_spinner="Reading the ledger")
def _read(path: str, version: Version) -> Snapshot:
    from skipstack.search.analysis.frames.study_frames import study_frames

    return Snapshot(Path(path), study_frames(Path(path)))


@st.cache_resource(max_entries=MOST, show_spinner="Reading a long ledger", ttl=SECONDS, refresh_mode="background")
def _long(path: str) -> Snapshot:
    return _read(path, version_of(Path(path)))
