"""Trials that need not be trained: one of the same config, corpus, seeds and epochs stands for them."""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.search.ledger.events import Proposed, Recording, WarmStarted
from skipstack.search.record.folder import BEST, StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord


@dataclass(frozen=True, slots=True)
class Known:
    """A trial that could stand for another: which one, of which study (empty: this one), and all it left."""

    study: str
    trial: int
    recording: Recording


class KnownTrials:
    """The trials that could stand for others, by the identity of their configs.

    Equal configs have equal corpora in a study, and equal epochs. Earlier studies were held against this one's corpora
    when it was opened (``search/earlier_studies/reading.py``). That two points of this study's own space give the same
    config is ruled out by ``Space``, but a ledger may have got its points otherwise.
    """

    def __init__(self, folder: StudyFolder, record: StudyRecord) -> None:
        self._folder = folder
        self._record = record
        self._earlier: dict[str, list[Known]] = {}
        self._own: dict[str, int] = {}
        self._identities: dict[int, str] = {}
        """Of the trials that run: a record forgets configs, which are large."""

    def observed(self, event: WarmStarted) -> None:
        """Trials of an earlier study."""
        for each in event.observed:
            if each.recording is not None:
                known = Known(event.study, each.trial, each.recording)
                self._earlier.setdefault(each.config_identity, []).append(known)

    def proposed(self, proposed: Proposed) -> None:
        """A trial of this study began."""
        self._identities[proposed.trial] = proposed.config_identity

    def ended(self, trial: TrialRecord) -> None:
        """A trial of this study ended."""
        identity = self._identities.pop(trial.number)
        if trial.reason in ("completed", "diverged") and not trial.raced:
            self._own.setdefault(identity, trial.number)

    def standing_for(self, proposed: Proposed) -> Known | None:
        """The trial that stands for a new one, whose weights lie in the new one's folder now; None where none can."""
        order_seed = self._record.study.search.seed
        for known in self._candidates(proposed.config_identity):
            alike = (known.recording.seeds, known.recording.order_seed) == (proposed.seeds, order_seed)
            if alike and self._take_weights(known, proposed.trial):
                return known
        return None

    def _candidates(self, name: str) -> list[Known]:
        own = self._record.trials.get(self._own.get(name, -1))
        ours = [] if own is None else [Known("", own.number, self._record.recording(own))]
        return [*ours, *self._earlier.get(name, ())]

    def _take_weights(self, known: Known, number: int) -> bool:
        """Copy the best weights; whether nothing is missing. A trial that diverged may have none, and needs none."""
        folder = StudyFolder(Path(known.study)) if known.study else self._folder
        source, target = folder.trial(known.trial) / BEST, self._folder.trial(number) / BEST
        if not source.is_file():
            return not math.isfinite(known.recording.reports[-1].score)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as temporary:
            shutil.copyfile(source, temporary)
        return True
