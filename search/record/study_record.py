"""A study as its ledger has it: the reading that tables, tracking, exports and the driver share."""

from collections.abc import Iterable
from functools import cached_property
from typing import assert_never

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.tasks.measure import Measure
from skipstack.search.config import StudyConfig
from skipstack.search.ledger.events import (
    Ablated,
    AblationPlanned,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Placed,
    Promoted,
    Proposed,
    Recording,
    Reported,
    Resumed,
    Retried,
    Reused,
    Shortened,
    Started,
    StudyOpened,
    Suggested,
    Tested,
    Untested,
    Used,
    VectorsPrepared,
    WarmStarted,
)
from skipstack.search.objectives.pareto import front
from skipstack.search.record.extension import extended, shortened
from skipstack.search.record.ranking import fingerprint_of, measure_of
from skipstack.search.record.trial_record import TrialRecord
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig


class StudyRecord:
    """What happened in a study. ``apply`` is the only way in, for the past and for the present alike.

    ``events``: how many there were; the next one has this number in the ledger, where the first has 0. An ablation
    counts those of its whole study, whose ledger it shares.
    """

    def __init__(self) -> None:
        self.events = 0
        self.opened: StudyOpened | None = None
        self.corpora: dict[str, CorpusPrepared] = {}
        self.warm_starts: list[WarmStarted] = []
        self.suggested: Suggested | None = None
        """What it began with, of earlier studies on other corpora."""
        self.trials: dict[int, TrialRecord] = {}
        self.finished = False
        self.enough: Shortened | None = None
        """Why no further trial was started, where the study found that itself and was not extended since."""
        self.planned: AblationPlanned | None = None
        """What it compares, of an ablation."""
        self.ablations: dict[int, StudyRecord] = {}
        """The ablations of this study, by their numbers: each a record of its own."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> "StudyRecord":
        """The record after ``events``."""
        record = cls()
        for event in events:
            record.apply(event)
        return record

    def apply(self, event: Event) -> None:
        """Take in what happened next."""
        self._apply(event)
        self.events += 1

    def report(self, event: Reported, number: int) -> None:
        """Take in a report, the event of this number."""
        trial = self.trials[event.trial]
        trial.reports.append(event, number)
        if event.seeds and event.epoch == trial.config.epochs and event.seeds != trial.seeds:
            trial.seeds += event.seeds

    def _apply(self, event: Event) -> None:
        match event:
            case StudyOpened():
                self.opened = event
            case CorpusPrepared():
                self.corpora[event.corpus] = event
            case Proposed(trial=number):
                self.trials[number] = TrialRecord(
                    number, dict(event.point), self.space, event.seeds, self.measure, event.parameters
                )
                self.trials[number].happened["proposed"] = self.events
            case WarmStarted():
                self.warm_starts.append(event)
            case Suggested():
                self.suggested = event
            case Reused(trial=number):
                self.trials[number].reused = event
            case Reported():
                self.report(event, self.events)
            case Decided(trial=number):
                if event.rung is not None or event.decision != "continue":
                    self.trials[number].decisions.append(event)
                self.trials[number].paused = event.decision == "pause"
            case Promoted(trial=number):
                self.trials[number].paused = False
            case Ended(trial=number):
                self.trials[number].reason, self.trials[number].message = event.reason, event.message
                self.trials[number].paused = False
                self.trials[number].happened["ended"] = self.events
                self.trials[number].forget()
            case Tested(trial=number):
                self.trials[number].tested, self.trials[number].packed = event.metrics, event.sentences
                self.trials[number].happened["tested"] = self.events
            case Untested(trial=number):
                self.trials[number].untested.append(event)
                self.trials[number].given_up = event.message if event.then == "give_up" else None
            case Finished():
                self.finished = True
            case Resumed():
                self.finished = False
            case Extended():
                self.study, self.finished, self.enough = extended(self.study, event), False, None
                for stale in ("space", "_base_text"):
                    self.__dict__.pop(stale, None)
                for trial in self.trials.values():
                    trial.given_up = None
            case Shortened():
                self.study = shortened(self.study, event)
                self.enough = self.enough if event.gain is None else event
            case Started(trial=number):
                self.trials[number].starts += 1
            case Retried(trial=number):
                self.trials[number].retries.append(event)
            case AblationPlanned():
                self.planned = event
            case Ablated(ablation=number):
                ablation = self.ablations.setdefault(number, StudyRecord())
                ablation.events = self.events
                ablation.apply(event.event)
            case Interrupted() | Placed() | Used():
                pass
            case _:
                assert_never(event)

    @cached_property
    def study(self) -> StudyConfig:
        """The study's config, with what it was extended by."""
        assert self.opened is not None, "a ledger begins with study_opened"
        return StudyConfig.model_validate(self.opened.study)

    @cached_property
    def space(self) -> Space:
        """The space that is searched."""
        return Space(self.study.space)

    @cached_property
    def _base_text(self) -> str | None:
        """The point of the base config, as text; None where the space does not have it."""
        base = self.study.space.base
        return canonical_json(self.space.point(base)) if self.space.contains(base) else None

    @property
    def measure(self) -> Measure:
        """What the trials are ranked by: the same on all corpora of a study."""
        return measure_of(self.study.space.base, self.corpora)

    def recording(self, trial: TrialRecord) -> Recording:
        """What can be taken over of one of the trials."""
        assert self.opened is not None, "a ledger begins with study_opened"
        return Recording(
            config_identity=trial.weights_identity,
            seeds=trial.seeds,
            order_seed=self.study.search.seed,
            reports=tuple(trial.reports),
            tested=trial.tested,
            sentences=trial.packed,
            code_version=self.opened.code_version if trial.reused is None else trial.reused.code_version,
        )

    def corpus_of(self, config: TrialConfig) -> CorpusPrepared:
        """The prepared corpus that a network of this config reads."""
        return self.corpora[identity(config.data.corpus)]

    def read_by(self, subject: Subject) -> CorpusPrepared | None:
        """The prepared corpus that a trial reads; None of one that calls a function, which reads what it likes."""
        return self.corpus_of(subject) if isinstance(subject, TrialConfig) else None

    def vectors_of(self, subject: Subject) -> VectorsPrepared | None:
        """The pretrained vectors that a trial of this config starts from; None where it has none."""
        if not isinstance(subject, TrialConfig) or (path := subject.data.vectors) is None:
            return None
        return self.corpus_of(subject).vectors[path]

    def fingerprint_of(self, subject: Subject) -> str:
        """What two trials share whose scores can be compared: the content of a corpus, or the source of a function."""
        return fingerprint_of(subject, self.corpora)

    @property
    def base(self) -> TrialRecord | None:
        """The trial that ran the base config itself, from which every difference is measured."""
        text = self._base_text
        return next((trial for trial in self.trials.values() if canonical_json(trial.point) == text), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What in its corpora, and in those of its ablations, spoils comparisons: each line once."""
        records = [self, *self.ablations.values()]
        each = (line for record in records for corpus in record.corpora.values() for line in corpus.warnings)
        return tuple(dict.fromkeys(each))

    def ranked(self) -> list[TrialRecord]:
        """The trials that have a score, the best first (``TrialRecord.rank_key``)."""
        return sorted(
            (trial for trial in self.trials.values() if trial.score is not None), key=lambda each: each.rank_key
        )

    def front(self) -> list[TrialRecord]:
        """The trials on the Pareto front of a study of several objectives, the best score first; none of a single one.

        A stopped trial counts with what it reached.
        """
        objectives, ranked = self.study.search.objectives, self.ranked()
        if len(objectives) == 1:
            return []
        return [
            ranked[place] for place in front([(trial.score or 0.0, *trial.further(objectives)) for trial in ranked])
        ]

    def running(self) -> list[TrialRecord]:
        """Trials that did not end yet, paused ones aside."""
        return [trial for trial in self.trials.values() if trial.state == "running"]

    def paused(self) -> list[TrialRecord]:
        """Trials that wait at a rung."""
        return [trial for trial in self.trials.values() if trial.paused]
