"""Reads a study as pandas frames, with its config and measure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import pandas as pd
from pydantic import TypeAdapter

from skipstack.data.basis.atomic_files import refused_where_unwritable, write_atomically
from skipstack.data.basis.collection import uncollected
from skipstack.search.analysis.exploration.exploration import Exploration, explore
from skipstack.search.analysis.frames.curves import best_so_far, curves, sentences
from skipstack.search.analysis.frames.events import events, usage
from skipstack.search.analysis.frames.facts import StudyFacts, facts_of
from skipstack.search.analysis.frames.frame_cache import as_parquet, cache_frames, cached_frames, stamp
from skipstack.search.analysis.frames.trials import seeds, trials
from skipstack.search.ledger.ledger import Ledger, PastEvents
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import LONG, read_study
from skipstack.search.study.record.study_record import StudyRecord

MADE: Final[Mapping[str, Callable[[StudyRecord], pd.DataFrame]]] = {
    "trials": trials,
    "seeds": seeds,
    "curves": curves,
    "sentences": sentences,
}
"""The functions that compute frames from a study's record, by the frame's name."""

IMPORTANCES: Final = "importances"
"""The name of the frame of importances. It is cached, too, since its computation is slow (``importance.py``)."""

REACHED: Final = "reached"
"""The name of the frame of the best scores so far. It is cached, too, so that tables need not read ``curves``."""


@dataclass(frozen=True, kw_only=True)
class StudyFrames(StudyFacts):
    """The frames of a study at the time of reading, with the study's facts.

    A frame is computed, or read from the cache, on first access. ``COLUMNS`` describes the columns of most frames.

    ``past``: the events that were read. ``read``: a function that reads the study's record.
    """

    past: PastEvents
    cached: Callable[[str], pd.DataFrame | None]
    """A function from a name in ``MADE``, ``IMPORTANCES`` or ``REACHED`` to the cached frame or None."""
    read: Callable[[], StudyRecord]

    @classmethod
    def of(cls, record: StudyRecord, folder: Path) -> "StudyFrames":
        """Return the frames of a study from its ``record``. ``folder``: the study's folder, which has the ledger."""
        past = PastEvents(StudyFolder(folder).ledger, record.events)
        return cls(**vars(facts_of(record)), past=past, cached=lambda name: None, read=lambda: record)

    @cached_property
    def record(self) -> StudyRecord:
        """The record of the study. If the frames are cached, the first access is slow, since it reads the ledger."""
        return self.read()

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The frame with a row for each trial."""
        return self._made("trials")

    @cached_property
    def seeds(self) -> pd.DataFrame:
        """The frame with a row for each seed of each trial that has a score."""
        return self._made("seeds")

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The frame with a row for each epoch of each seed of each trial."""
        return self._made("curves")

    @cached_property
    def sentences(self) -> pd.DataFrame:
        """The frame with a row for each sentence of the test split, for each seed of each trial measured on test."""
        return self._made("sentences")

    @cached_property
    def importances(self) -> pd.DataFrame:
        """The frame of the importance of each axis."""
        return self.exploration().importances

    @cached_property
    def reached(self) -> pd.DataFrame:
        """The frame of the best score of each trial (row) up to each epoch (column)."""
        frame = self.cached(REACHED)
        return best_so_far(self.curves) if frame is None else frame.rename(columns=int).rename_axis(columns="epoch")

    def exploration(self, by: Sequence[str] = ()) -> Exploration:
        """Return the analysis of the search.

        ``by``: the axes in its table; empty means all. Raises UserError for a name that is not an axis.
        """
        found = explore(self, self.trials, self.seeds, self.reached, curves=lambda: self.curves, by=by)
        known = self.__dict__.get(IMPORTANCES, self.cached(IMPORTANCES))
        if known is not None:
            found.__dict__[IMPORTANCES] = known  # the value of its cached property ``importances``
        return found

    @cached_property
    def events(self) -> pd.DataFrame:
        """The frame with a row for each event of the ledger."""
        return events(self.past)

    @cached_property
    def usage(self) -> pd.DataFrame:
        """The frame of the CPU, GPU and memory use of workers, with a row for each epoch with measurements."""
        return usage(self.past)

    def to_parquet(self, folder: Path) -> None:
        """Write the frames in ``COLUMNS`` as Parquet files to ``folder``, which is created if needed.

        Raises UserError if the ledger cannot be read, before anything is written, and if the folder or a file cannot be
        written.
        """
        contents = {name: as_parquet(getattr(self, name)) for name in (*MADE, "usage", "events")}
        with refused_where_unwritable(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in contents.items():
                write_atomically(folder / f"{name}.parquet", content)

    def _made(self, name: str) -> pd.DataFrame:
        frame = self.cached(name)
        return MADE[name](self.record) if frame is None else frame


def study_frames(path: Path) -> StudyFrames:
    """Return the frames of the study in the folder ``path``.

    If the ledger is long, the frames are cached in the study's folder (``frame_cache.py``). Raises UserError if the
    folder has no study or the ledger is damaged.
    """
    folder = StudyFolder.existing(path)
    ledger = Ledger(folder.ledger)
    known_by = ledger.whole(lambda: _stamp(ledger))
    if known_by is None:
        return StudyFrames.of(read_study(path), path)
    if (found := cached_frames(folder.frames, known_by)) is not None:
        past = PastEvents(folder.ledger, found.about["events"])
        facts = TypeAdapter(StudyFacts).validate_python(found.about["facts"])
        return StudyFrames(**vars(facts), past=past, cached=found.frame, read=lambda: StudyRecord.of(past))
    with uncollected():
        frames = StudyFrames.of(read_study(path), path)
        made: dict[str, Callable[[], pd.DataFrame]] = {
            **{name: partial(getattr, frames, name) for name in (*MADE, IMPORTANCES)},
            REACHED: lambda: frames.reached.rename(columns=str),  # Parquet names columns by text
        }
        facts = TypeAdapter(StudyFacts).dump_python(frames, mode="json")
        cache_frames(folder.frames, known_by, made, {"events": frames.past.count, "facts": facts})
    return frames


def are_at_hand(path: Path) -> bool:
    """Whether ``study_frames`` is fast, since the ledger is short or its frames are cached.

    Raises UserError as ``study_frames`` does.
    """
    folder = StudyFolder.existing(path)
    ledger = Ledger(folder.ledger)
    known_by = ledger.whole(lambda: _stamp(ledger))
    return known_by is None or cached_frames(folder.frames, known_by) is not None


def _stamp(ledger: Ledger) -> str | None:
    """Return the stamp of the ledger's frames (``stamp``); None for a short ledger, whose frames are not cached."""
    files = ledger.files()
    return stamp(files) if sum(file.stat().st_size for file in files) >= LONG else None
