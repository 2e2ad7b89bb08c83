"""The record of a study, which is built from its events. Tables, tracking, exports and the driver use it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import assert_never

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.ledger.events import (
    LOSSES,
    Ablated,
    AblationPlanned,
    Begun,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    HoursOver,
    Interrupted,
    Measuring,
    Noted,
    Placed,
    Promoted,
    Proposed,
    Recording,
    Renamed,
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
from skipstack.search.strategy.objectives.hours import Working
from skipstack.search.strategy.objectives.pareto import front
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.earlier_defaults import completed_study
from skipstack.search.study.record.extension import extended, shortened
from skipstack.search.study.record.identical_seeds import idle_seeds
from skipstack.search.study.record.identical_trials import identical_trials
from skipstack.search.study.record.next_event import (
    WrongEventError,
    check_lanes,
    check_planned,
    check_proposed,
    wrong_event,
)
from skipstack.search.study.record.reports import Layout, layout_of
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.function import FunctionConfig, is_imported
from skipstack.spaces.space import Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig, as_network


def measure_of(base: Subject, corpora: Mapping[str, CorpusPrepared]) -> Measure:
    """Return the measure that ranks the trials: the measure of the function or the corpora; accuracy if no corpus is
    prepared. ``base``: the config of the study's base. ``corpora``: the prepared corpora by identity.
    """
    if isinstance(base, FunctionConfig):
        return base.measure
    return MEASURES[next((corpus.measure for corpus in corpora.values()), Accuracy.name)]


class StudyRecord:
    """The state of a study after its events so far.

    Pass each event, whether replayed or new, to ``apply`` in ledger order. ``events``: the number of events so far,
    which is the number of the next event, since events are numbered from 0. The record of an ablation counts all events
    of its study, since both are in the same ledger.
    """

    def __init__(self) -> None:
        self.events = 0
        self.cut: str | None = None
        """A line about a torn append at the end of the ledger, which was left out; None if there was none."""
        self.opened: StudyOpened | None = None
        self.corpora: dict[str, CorpusPrepared] = {}
        self.warm_starts: list[WarmStarted] = []
        self.suggested: Suggested | None = None
        """The points from earlier studies on other corpora that this study tries first; None if there are none."""
        self.trials: dict[int, TrialRecord] = {}
        self.finished = False
        self.interrupted = False
        """Whether the study was interrupted, and not resumed since. A killed process leaves no event."""
        self.enough: Shortened | None = None
        """The event by which the stopping rule ended the study; None if it did not, or if the study was extended since.
        """
        self.over: HoursOver | None = None
        """The end of the study's hours; None if they have not ended, or if the study was extended since."""
        self.queues = False
        """Whether a started trial waits until a worker is free, as on Ray."""
        self.working = Working()
        """The time for which the study has run."""
        self.plan: AblationPlanned | None = None
        """The plan of an ablation, with its rows; None in a search."""
        self.ablations: dict[int, StudyRecord] = {}
        """The records of the study's ablations, by their numbers."""
        self.arms: Sequence[StudyRecord] = ()
        """The searches that tuned the rows of an ablation again (``whole_ablations`` fills this in)."""
        self.rounds: Sequence[StudyRecord] = ()
        """The further rounds of seeds of an ablation, the earliest first (``whole_ablations`` fills this in)."""
        self.first_round: StudyRecord | None = None
        """The ablation without the seeds of its further rounds, if it has some (``whole_ablations`` fills this in)."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> "StudyRecord":
        """Create the record of a study after ``events``."""
        record = cls()
        for event in events:
            record.apply(event)
        return record

    def apply(self, event: Event) -> None:
        """Update the record with the next event. Raises WrongEventError for an event that cannot come next; do not use
        the record after that.
        """
        try:
            self._apply(event)
            self.working.happened(event)
            if isinstance(event, StudyOpened | Extended):
                self.space  # noqa: B018 (created here, so that an error in it is reported with its event)
        except WrongEventError:  # raised by the record of an ablation
            raise
        except (UserError, ValidationError) as error:
            raise wrong_event(self.events + 1, event, error) from None
        self.events += 1

    def report(self, event: Reported, number: int) -> None:
        """Add a report to its trial. If it completes a further group of racing seeds, the group is added to the
        trial's seeds. ``number``: the report's event number.
        """
        trial = self.trials[event.trial]
        trial.reports.append(event, number)
        if event.seeds and event.epoch == trial.config.epochs and event.seeds != trial.seeds:
            trial.seeds += event.seeds

    def check_report(self, number: int, layout: Layout, seeds: int, epoch: float) -> None:
        """Raise UserError for a report that cannot exist.

        ``number``: the number of its trial. ``layout``: the name of each metric, with its number of values. ``seeds``:
        the number of seeds in the report; 0 means all seeds of the trial. ``epoch``: its epoch.
        """
        trial = self._known(number)
        self._check_epoch(epoch)
        check_lanes(layout, seeds or len(trial.seeds), f"dev_{self.measure.name}")

    def _known(self, number: int) -> TrialRecord:
        """Return a trial. Raises UserError unless it was proposed."""
        if number not in self.trials:
            raise UserError(f"got trial {shown(number)} (allowed: one that was proposed before)")
        return self.trials[number]

    def _check_epoch(self, epoch: float) -> None:
        epochs = self.study.space.base.epochs
        if epoch > epochs:
            raise UserError(f"got epoch {shown(epoch)} (allowed: up to {epochs}, the study's)")

    def _apply(self, event: Event) -> None:
        """Update the record. Raises UserError for an event that cannot come next."""
        if not isinstance(event, Ablated) and isinstance(event, StudyOpened) != (self.opened is None):
            opened = "a second one" if isinstance(event, StudyOpened) else "it before study_opened"
            raise UserError(f"got {opened} (allowed: study_opened once, as the first)")
        match event:
            case StudyOpened():
                self.opened = event
            case CorpusPrepared():
                self.corpora[event.corpus] = event
            case Proposed(trial=number):
                check_proposed(event, self.trials, self.space.domains)
                self.trials[number] = TrialRecord(
                    number,
                    dict(event.point),
                    self.space,
                    event.seeds,
                    self.measure,
                    event.parameters,
                    self.study.search.repeated,
                )
                self.trials[number].happened["proposed"] = self.events
            case WarmStarted():
                self.warm_starts.append(event)
            case Suggested():
                self.suggested = event
            case Reused():
                self._known(event.trial).reused = event
            case Reported():
                self.check_report(event.trial, layout_of(event.metrics), len(event.seeds), event.epoch)
                self.report(event, self.events)
                self.trials[event.trial].waits = False
            case Decided():
                trial = self._known(event.trial)
                self._check_epoch(event.epoch)
                if event.rung is not None or event.decision != "continue":
                    trial.decisions.append(event)
                trial.paused = event.decision == "pause"
            case Promoted():
                self._known(event.trial).paused = False
            case Ended():
                trial = self._known(event.trial)
                trial.reason, trial.message = event.reason, event.message
                trial.paused = False
                trial.happened["ended"] = self.events
                trial.forget()
            case Measuring():
                self._known(event.trial).measured_now = True
            case Tested():
                trial = self._known(event.trial)
                check_lanes(layout_of(event.metrics), len(trial.seeds), f"test_{self.measure.name}")
                trial.measured_now = False
                trial.tested, trial.packed = event.metrics, event.sentences
                trial.documents = self._documents(trial)
                trial.happened["tested"] = self.events
            case Untested():
                trial = self._known(event.trial)
                trial.measured_now = False
                trial.untested.append(event)
                trial.given_up = event.message if event.then == "give_up" else None
            case Finished():
                self.finished = True
            case Interrupted():
                self.interrupted = True
                self._free_workers()
            case Resumed():
                self.finished = self.interrupted = False
                self._free_workers()  # the last driver may have been killed
            case Extended():
                self.study, self.finished = extended(self.study, event), False
                self.enough = self.over = None
                for stale in ("space", "_base_text"):
                    self.__dict__.pop(stale, None)
                for trial in self.trials.values():
                    trial.given_up = None
            case Shortened():
                self.study = shortened(self.study, event)
                self.enough = self.enough if event.gain is None else event
                self.over = event.over or self.over
            case Started():
                trial = self._known(event.trial)
                trial.starts += 1
                trial.waits = self.queues
            case Begun():
                self._known(event.trial).waits = False
            case Retried():
                self._known(event.trial).retries.append(event)
            case AblationPlanned():
                check_planned(event)
                self.plan = event
            case Ablated(ablation=number):
                ablation = self.ablations.setdefault(number, StudyRecord())
                ablation.events = self.events
                ablation.apply(event.event)
            case Placed():
                self.queues = event.engine == "ray"
            case Noted(trial=number):
                if number is None:
                    self.study = self.study.model_copy(update={"note": event.text})
                else:
                    self._known(number).note = event.text
            case Renamed():
                self.study = self.study.model_copy(update={"renamed": event.title})
            case Used():
                self._known(event.trial)
                self._check_epoch(event.epoch)
            case _:
                assert_never(event)

    def _free_workers(self) -> None:
        """Record that no worker trains or measures a trial."""
        for trial in self.trials.values():
            trial.measured_now, trial.waits = False, True

    @property
    def first_event(self) -> StudyOpened:
        """The first event of the study."""
        assert self.opened is not None, "a ledger begins with study_opened"
        return self.opened

    @cached_property
    def study(self) -> StudyConfig:
        """The config of the study, with its extensions."""
        return completed_study(StudyConfig.model_validate(self.first_event.study))

    @cached_property
    def space(self) -> Space:
        """The space that the study searches."""
        return Space(self.study.space)

    @cached_property
    def _base_text(self) -> str | None:
        """The JSON of the base config's point; None if the space does not contain the base."""
        base = self.study.space.base
        return canonical_json(self.space.point(base)) if self.space.contains(base) else None

    @property
    def measure(self) -> Measure:
        """The measure that ranks the trials, which is the same for all corpora of a study."""
        return measure_of(self.study.space.base, self.corpora)

    def recording(self, trial: TrialRecord) -> Recording:
        """Create the recording of a trial: its results, with which another study can reuse it."""
        return Recording(
            config_identity=trial.weights_identity,
            seeds=trial.seeds,
            order_seed=self.study.search.seed,
            reports=tuple(trial.reports),
            tested=trial.tested,
            sentences=trial.packed,
            code_version=self.first_event.code_version if trial.reused is None else trial.reused.code_version,
        )

    def corpus_of(self, config: TrialConfig) -> CorpusPrepared:
        """Return the prepared corpus that a network with this config reads."""
        return self.corpora[identity(config.data.corpus)]

    def read_by(self, subject: Subject) -> CorpusPrepared | None:
        """Return the prepared corpus of a trial with this config; None for a function, which reads its own data."""
        return self.corpus_of(subject) if isinstance(subject, TrialConfig) else None

    def vectors_of(self, subject: Subject) -> VectorsPrepared | None:
        """Return the vectors that a trial with this config starts from, or reads; None if there are none."""
        if not isinstance(subject, TrialConfig) or (path := subject.data.vectors_path) is None:
            return None
        return self.corpus_of(subject).vectors[path]

    def _documents(self, trial: TrialRecord) -> tuple[int, ...]:
        """Return the number of sentences of each test document of a trial; empty if the corpus marks none."""
        if not any(corpus.documents for corpus in self.corpora.values()):
            return ()  # without creating the config
        read = self.read_by(trial.config)
        trial.forget()
        return () if read is None else read.documents

    def fingerprint_of(self, subject: Subject) -> str:
        """Return the fingerprint of the corpus of a trial with this config, or the source of its function. Scores with
        equal fingerprints are comparable.
        """
        if isinstance(subject, FunctionConfig):
            return subject.function.source
        return self.corpus_of(as_network(subject)).fingerprint

    @property
    def compares(self) -> bool:
        """Whether this is the record of an ablation that compares all its rows. False for a further round, which trains
        only some rows (``search/study/record/whole_ablations.py``), and for the search of an arm (``Tuning``).
        """
        return self.plan is not None and self.plan.continues is None and self.plan.arm is None

    @property
    def begins_with_base(self) -> bool:
        """Whether the base is the first trial. A further round, and a comparison after a tuning, begin with the base
        only if it is one of their rows.
        """
        if self.plan is None or self.plan.arm is not None or (self.plan.continues is None and self.plan.tuning is None):
            return True
        return any(canonical_json(row.point) == self._base_text for row in self.plan.rows)

    @property
    def base(self) -> TrialRecord | None:
        """The trial with the base config, from which differences are measured; None if there is none, as in a search
        that was read from another tool.
        """
        if is_imported(self.study.space.base) and self.plan is None:
            return None
        text = self._base_text
        return next((trial for trial in self.trials.values() if canonical_json(trial.point) == text), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings at the top of reports: a torn append, configs or seeds that change nothing, flaws of corpora."""
        records = [self, *self.ablations.values()]
        each = (line for record in records for corpus in record.corpora.values() for line in corpus.warnings)
        own = filter(None, (self.cut, identical_trials(self.trials.values()), idle_seeds(self.trials.values())))
        return tuple(dict.fromkeys([*own, *each]))

    def ranked(self) -> list[TrialRecord]:
        """Return the trials that have a score, the best first (``TrialRecord.rank_key``)."""
        return sorted(
            (trial for trial in self.trials.values() if trial.score is not None), key=lambda each: each.rank_key
        )

    @property
    def best(self) -> TrialRecord:
        """The first trial of ``ranked``. Raises UserError if no trial has a score."""
        if not (ranked := self.ranked()):
            raise UserError(f"study {self.study.name!r}: no trial has a score yet (allowed: a study with one)")
        return ranked[0]

    def front(self) -> list[TrialRecord]:
        """Return the trials on the Pareto front of the study's objectives, in the order of ``ranked``. Empty if the
        score is the only objective. A stopped trial counts with its best score.
        """
        sought = self.study.search.further
        if not sought:
            return []
        ranked = self.ranked()
        return [ranked[place] for place in front([(trial.score or 0.0, *trial.further(sought)) for trial in ranked])]

    @property
    def lost(self) -> int:
        """The number of times that a trial was retried because its machine was lost."""
        return sum(retry.cause in LOSSES for trial in self.trials.values() for retry in trial.retries)

    def running(self) -> list[TrialRecord]:
        """Return the trials that are neither ended nor paused, including those that wait for a worker."""
        return [trial for trial in self.trials.values() if trial.state == "running"]

    def paused(self) -> list[TrialRecord]:
        """Return the trials that are paused at a rung."""
        return [trial for trial in self.trials.values() if trial.paused]
