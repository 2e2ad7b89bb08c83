"""Reuses results of trials with the same network, corpus, seeds and epochs instead of training again."""

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
    """A trial whose results can be reused. ``study``: the folder of its study; empty for the present study."""

    study: str
    trial: int
    recording: Recording


class KnownTrials:
    """Finds a known trial whose results can be reused for a new trial: one with the same config, or with a config that
    builds the same network.

    In one study, equal configs imply equal corpora and epochs. The corpora of earlier studies were compared with this
    study's when this study was opened (``search/study/earlier_studies/reading.py``). Different configs build the same
    network if they differ only in fields that the network does not read (``spaces/one_network.py``).
    """

    def __init__(self, folder: StudyFolder, record: StudyRecord) -> None:
        self._folder = folder
        self._record = record
        self._earlier: dict[str, list[ReusableTrial]] = {}
        self._own: dict[str, int] = {}
        self._apart: dict[str, list[int]] = {}
        """Trial numbers, by the values on the axes that every network reads: equal networks have equal values there."""
        self._identities: dict[int, str] = {}
        """The config identity of each trial that has not ended."""

    def observed(self, event: WarmStarted) -> None:
        """Add the reusable trials of an earlier study."""
        for each in event.observed:
            if each.recording is not None:
                known = ReusableTrial(event.study, each.trial, each.recording)
                self._earlier.setdefault(each.config_identity, []).append(known)

    def proposed(self, proposed: Proposed) -> None:
        """Note the config identity of a new trial of this study."""
        self._identities[proposed.trial] = proposed.config_identity

    def ended(self, trial: TrialRecord) -> None:
        """Add an ended trial of this study if it can be reused."""
        identity = self._identities.pop(trial.number)
        if trial.reason in ("completed", "diverged") and not trial.raced:
            self._own.setdefault(identity, trial.number)
            self._apart.setdefault(apart(trial.point), []).append(trial.number)

    def standing_for(self, proposed: Proposed) -> ReusableTrial | None:
        """Return a known trial that can be reused for ``proposed``, and copy its weights; None if there is none."""
        order_seed = self._record.study.search.seed
        for known in self._candidates(proposed):
            alike = (known.recording.seeds, known.recording.order_seed) == (proposed.seeds, order_seed)
            if alike and self._take_weights(known, proposed.trial):
                return known
        return None

    def _candidates(self, proposed: Proposed) -> Iterator[ReusableTrial]:
        """Yield known trials with the same config, then with another config that builds the same network."""
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
        """Copy the best weights of a known trial to the folder of trial ``number``, and return whether the results can
        be reused. Without weights, only the results of a diverged trial can be reused.
        """
        folder = StudyFolder(Path(known.study)) if known.study else self._folder
        source, target = folder.trial(known.trial) / BEST, self._folder.trial(number) / BEST
        if not source.is_file():
            return not math.isfinite(known.recording.reports[-1].score)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as temporary:
            shutil.copyfile(source, temporary)
        return True
