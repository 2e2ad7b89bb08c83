"""Readers that follow a study or an ablation while it runs, event by event, beside readers of its whole ledger."""

from collections.abc import Callable
from functools import partial

from skipstack.dashboards.live.counts import StudyCounts
from skipstack.search.execution.engines.ray.metrics import QUEUE, Metric, StudyGauges
from skipstack.search.ledger.events import Ablated, Event, Placed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.record.columnar_record import columnar_record
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.phases import Phases
from skipstack.search.study.record.replayed_scheduler import replayed_scheduler
from skipstack.search.study.record.study_record import StudyRecord

Metrics = dict[tuple[str, str | None], float]


def _put(metrics: Metrics, metric: Metric, value: float, label: str | None) -> None:
    if metric is not QUEUE and not metric.counts:  # counters count what a session sees
        metrics[metric.name, label] = value


class Followed:
    """The readers of a session of a search or an ablation, which are told its events one by one: progress, metrics,
    MLflow's runs and phases. ``before``: its record at the start of the session.
    """

    def __init__(self, folder: StudyFolder, before: StudyRecord) -> None:
        self._folder = folder
        self._counts, self._runs, self._phases = StudyCounts(before), ExpectedRuns(), Phases()
        self.gauges: StudyGauges | None = None
        """The metrics; None until they begin."""
        self._metrics: Metrics = {}
        for event in Ledger(folder.ledger).read():
            self._note(event)

    def measure(self, record: Callable[[], StudyRecord]) -> None:
        """Begin the metrics. ``record``: returns the driver's record, which may be ahead of the events."""
        self.gauges = StudyGauges(record, partial(_put, self._metrics))

    def __call__(self, event: Event) -> None:
        self._counts.apply(event, event.time)
        compare_counts(self._counts, StudyCounts(self._counts.record))
        if self.gauges is not None:
            self.gauges(event)
        number = self._folder.ablation
        wrapped = number is not None and not isinstance(event, Placed)
        self._note(Ablated(time=event.time, ablation=number, event=event) if wrapped else event)

    def _note(self, event: Event) -> None:
        self._runs.apply(event)
        number, own = (event.ablation, event.event) if isinstance(event, Ablated) else (None, event)
        if number == self._folder.ablation:
            self._phases.happened(own)

    def compare(self) -> None:
        """Check that the readers, at the end of the study or ablation, say what a reader of the whole ledger says."""
        ledger = Ledger(self._folder.ledger)
        record = StudyRecord.of(ledger.read())
        columns = columnar_record(ledger.lines())
        if columns is not None:
            assert (columns.events, repr([*columns.trials.values()])) == (
                record.events,
                repr([*record.trials.values()]),
            )
        own = record if self._folder.ablation is None else record.ablations[self._folder.ablation]
        compare_counts(self._counts, StudyCounts(own))
        metrics: Metrics = {}
        StudyGauges(lambda: own, partial(_put, metrics))
        assert self.gauges is None or {key: self._metrics.get(key, 0) for key in metrics} == metrics
        if len(own.study.search.objectives) == 1:
            scheduler = replayed_scheduler(own)
            for number in own.trials:
                scheduler.ahead(number)
        assert own.finished
        assert all(trial.reason for trial in own.trials.values())
        assert not any(span.under_way for span in self._phases.spans())
        assert {entry.status for entry in self._runs.pending.values()} <= {"FINISHED", "FAILED", "KILLED"}


def compare_counts(counts: StudyCounts, whole: StudyCounts) -> None:
    """Check that counts that followed a study are those of its whole record."""
    for name in ("total", "left", "ended", "tested", "epochs"):
        assert getattr(counts, name) == getattr(whole, name), name
    assert [level.counts for level in counts.levels()] == [level.counts for level in whole.levels()]
    if not any(trial.raced for trial in whole.record.trials.values()):
        assert (counts.best and counts.best.number) == (whole.best and whole.best.number)
