"""Reuse of trials: a trial is not trained if one of the same network, corpus, seeds and epochs is known."""

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.search.ledger.events import Proposed, Recording, WarmStarted
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.one_network import apart, network_identity


@dataclass(frozen=True, slots=True)
class ReusableTrial:
    """A trial that can be reused: its number, its study (empty: this one), and its recording."""

    study: str
    trial: int
    recording: Recording


class KnownTrials:
    """The trials that can be reused, by the identity of their configs.

    In one study, equal configs imply equal corpora and epochs. The corpora of earlier studies were compared with this
    one's when it was opened (``search/study/earlier_studies/reading.py``). Points of one ``Space`` never give equal
    configs, but a ledger may hold points from elsewhere; and different configs may be one network, if they differ in
    fields that it does not read (``spaces/one_network.py``).
    """

    def __init__(self, folder: StudyFolder, record: StudyRecord) -> None:
        self._folder = folder
        self._record = record
        self._earlier: dict[str, list[ReusableTrial]] = {}
        self._own: dict[str, int] = {}
        self._apart: dict[str, list[int]] = {}
        """Trials by their values on the axes that every trial reads; those of one entry may be one network."""
        self._identities: dict[int, str] = {}
        """The identities of running trials' configs; the record drops configs, which are large."""

    def observed(self, event: WarmStarted) -> None:
        """Add the trials of an earlier study."""
        for each in event.observed:
            if each.recording is not None:
                known = ReusableTrial(event.study, each.trial, each.recording)
                self._earlier.setdefault(each.config_identity, []).append(known)

    def proposed(self, proposed: Proposed) -> None:
        """Note a new trial of this study."""
        self._identities[proposed.trial] = proposed.config_identity

    def ended(self, trial: TrialRecord) -> None:
        """Add an ended trial of this study, if it can be reused."""
        identity = self._identities.pop(trial.number)
        if trial.reason in ("completed", "diverged") and not trial.raced:
            self._own.setdefault(identity, trial.number)
            self._apart.setdefault(apart(trial.point), []).append(trial.number)

    def standing_for(self, proposed: Proposed) -> ReusableTrial | None:
        """The known trial to reuse for a new one, with its weights copied to the new one's folder; None if there is
        none.
        """
        order_seed = self._record.study.search.seed
        for known in self._candidates(proposed):
            alike = (known.recording.seeds, known.recording.order_seed) == (proposed.seeds, order_seed)
            if alike and self._take_weights(known, proposed.trial):
                return known
        return None

    def _candidates(self, proposed: Proposed) -> Iterator[ReusableTrial]:
        """The known trials of this config, then those of another config that is the same network."""
        name, space = proposed.config_identity, self._record.space
        if (own := self._own.get(name)) is not None:
            yield self._known(own)
        yield from self._earlier.get(name, ())
        beside = self._apart.get(apart(proposed.point), ())
        network = network_identity(space.config(proposed.point)) if beside else ""
        for number in beside:
            if number != own and network_identity(self._record.trials[number].config) == network:
                yield self._known(number)

    def _known(self, number: int) -> ReusableTrial:
        return ReusableTrial("", number, self._record.recording(self._record.trials[number]))

    def _take_weights(self, known: ReusableTrial, number: int) -> bool:
        """Copy the best weights; False if they are missing. A diverged trial may have none, and needs none."""
        folder = StudyFolder(Path(known.study)) if known.study else self._folder
        source, target = folder.trial(known.trial) / BEST, self._folder.trial(number) / BEST
        if not source.is_file():
            return not math.isfinite(known.recording.reports[-1].score)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as temporary:
            shutil.copyfile(source, temporary)
        return True
