"""Earlier studies as a beginning: their trials that lie in a new study's space, read once when it is opened."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import Corpus
from skipstack.search.config import StudyConfig
from skipstack.search.ledger.events import CorpusPrepared, Observed, Reason, Recording, WarmStarted
from skipstack.search.study.comparable import comparable, resource_of
from skipstack.search.study.preparation import needs
from skipstack.search.study.records.folder import BEST, StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network

INFORMATIVE = ("completed", "stopped", "diverged")
"""The ends that say something of a config."""


def earlier_studies(study: StudyConfig, folder: Path) -> dict[str, StudyRecord]:
    """The studies that ``search.warm_start`` names, by their folders; relative ones start at ``folder``.

    Raises UserError where there is no study, or it is damaged, or named twice.
    """
    paths = [str((folder / name).resolve()) for name in study.search.warm_start]
    for path, times in Counter(paths).items():
        if times > 1:
            raise UserError(f"warm start: {path} is named {times} times (allowed: once)")
    return {path: read_study(Path(path)) for path in paths}


def warm_starts(
    study: StudyConfig,
    earlier: dict[str, StudyRecord],
    corpora: Sequence[CorpusPrepared],
    clock: Callable[[], float],
) -> list[WarmStarted]:
    """What the proposer learns from each of the ``earlier`` studies.

    A trial counts that read a corpus of the same content, whatever it is called and wherever it lies, if its config
    lies in the space: where this study has an axis that the earlier one had not, the earlier base's value must be on
    it. One that reported less than a whole trial of this study counts as one that was stopped (``comparable.py``). A
    trial that several studies have counts once, where it can be taken over if it can be anywhere. Raises UserError for
    a study of which no trial counts: it was meant for something else.
    """
    reading = _Reading(study, corpora)
    read = {path: reading.of(path, record) for path, record in earlier.items()}
    counting: dict[tuple[str, str], Observed] = {}
    for takes_over in (True, False):
        for each in (each for found in read.values() for each in found.observed):
            if takes_over == (each.recording is not None):
                counting.setdefault(_content(each), each)
    events = []
    for path, found in read.items():
        observed = tuple(each for each in found.observed if counting[_content(each)] is each)
        known = len(found.observed) - len(observed)
        left_out = dict(found.left_out) | ({"known from another study": known} if known else {})
        events.append(WarmStarted(time=clock(), study=path, observed=observed, left_out=left_out))
    return events


def _content(observed: Observed) -> tuple[str, str]:
    """What is the same in two studies that have the same trial; the curve as text, since no NaN equals another."""
    return observed.config_identity, repr(observed.curve)


@dataclass(frozen=True, slots=True)
class _Found:
    """The trials of a study that say something of this one, and how many others do not, by why."""

    observed: list[Observed]
    left_out: Counter[str]


class _Reading:
    """Earlier trials, as the trials of a new study that they would be."""

    def __init__(self, study: StudyConfig, corpora: Sequence[CorpusPrepared]) -> None:
        self.study = study
        self.space = Space(study.space)
        self.corpora = {prepared.corpus: prepared for prepared in corpora}
        self.named: dict[str, Corpus] = {identity(needed.corpus): needed.corpus for needed in needs(study.space)}

    def of(self, path: str, record: StudyRecord) -> _Found:
        observed: list[Observed] = []
        left_out: Counter[str] = Counter()
        refusals: list[str] = []
        for trial in record.trials.values():
            if trial.reason not in INFORMATIVE or not trial.reports:
                left_out["without an end to learn from"] += 1
                continue
            try:
                observed.append(self._observed(path, record, trial))
            except UserError as error:
                left_out["outside of this space or its corpora"] += 1
                refusals.append(f"trial {trial.number}: {error}")
        if not observed:
            why = refusals[0] if refusals else ", ".join(f"{count} {why}" for why, count in left_out.items())
            raise UserError(f"warm start: {path}: none of its {len(record.trials)} trials can be used; {why}")
        return _Found(observed, left_out)

    def _observed(self, path: str, record: StudyRecord, trial: TrialRecord) -> Observed:
        config = self._translated(record, trial.config)
        point = self.space.point(config)
        if (refusal := self.space.refusal(point)) is not None:
            raise UserError(refusal)
        for name, value in (("parameters", trial.parameters), ("latency", trial.latency)):
            if name in self.study.search.objectives and value is None:
                raise UserError(f"got no {name} (allowed: trials of a study that has them as an objective)")
        curve, whole = comparable(trial, self.study)
        ended: Reason = "completed" if whole else "stopped"
        return Observed(
            trial=trial.number,
            point=point,
            config_identity=config.identity,
            reason="diverged" if trial.reason == "diverged" else ended,
            curve=tuple(curve),
            parameters=trial.parameters,
            latency=trial.latency,
            recording=self._recording(path, record, trial, whole=whole),
        )

    def _translated(self, record: StudyRecord, subject: Subject) -> Subject:
        """The config with this study's corpus of the same content, and its epochs; of a function, with this study's.

        Another source is another function.
        """
        base = self.study.space.base
        if isinstance(base, FunctionConfig):
            if not isinstance(subject, FunctionConfig) or subject.function.source != base.function.source:
                raise UserError(f"got {subject.title} (allowed: {base.title}, with the same source)")
            return subject.model_copy(update={"function": base.function})
        config = as_network(subject)
        theirs = record.corpora.get(identity(config.data.corpus))
        alike = [
            prepared
            for prepared in self.corpora.values()
            if theirs and (prepared.fingerprint, prepared.measure) == (theirs.fingerprint, theirs.measure)
        ]
        if theirs is None or not alike:
            got = "an unknown corpus" if theirs is None else f"corpus {theirs.fingerprint}"
            allowed = ", ".join(prepared.fingerprint for prepared in self.corpora.values())
            raise UserError(f"got {got} (allowed: {allowed}, by the fingerprint of its content)")
        ours = next((prepared for prepared in alike if prepared.corpus == theirs.corpus), alike[0])
        if (path := config.data.vectors) is not None:
            own = ours.vectors.get(path)
            before = theirs.vectors.get(path)
            if own is None or before is None or own.sha256 != before.sha256:
                raise UserError(f"data.vectors: got {path} (allowed: the same file as this study's)")
        data = config.data.model_copy(update={"corpus": self.named[ours.corpus]})
        training = config.training.model_copy(update={"epochs": base.epochs})
        return config.model_copy(update={"data": data, "training": training})

    def _recording(self, path: str, record: StudyRecord, trial: TrialRecord, *, whole: bool) -> Recording | None:
        """What can be taken over where trials spend epochs: one that is ``whole``, or diverged with the same epochs.

        It needs the same seeds and, if it has a score, its weights.
        """
        study, search = self.study, self.study.search
        diverged = trial.reason == "diverged" and trial.config.epochs == study.space.base.epochs
        seeds = tuple(search.lane_seeds)
        if resource_of(study) != "epochs" or not (whole or diverged) or trial.raced:
            return None
        if trial.seeds != seeds or record.study.search.seed != search.seed:
            return None
        if trial.score is not None and not (StudyFolder(Path(path)).trial(trial.number) / BEST).is_file():
            return None
        return record.recording(trial)


def summary(event: WarmStarted) -> str:
    """One line: how many trials of an earlier study are learnt from, and how many need not be trained again."""
    reusable = sum(each.recording is not None for each in event.observed)
    left_out = "".join(f", {count} {why} left out" for why, count in event.left_out.items())
    return (
        f"warm start: {len(event.observed)} trials of {event.study}, {reusable} of them reusable as they are{left_out}"
    )
