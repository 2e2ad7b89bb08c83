"""Live metrics of a running study. Ray's dashboard and Prometheus read them from the machines of the cluster, with the
prefix ``ray_``. Ray's agent, a part of ``ray[default]``, serves the metrics; without the agent, nobody can read them.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, get_args

from ray.util import metrics

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.ledger.events import Decided, Event, Finished, Reason, Reported, Started
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. ``about``: its description. ``label``: the name of its label; a metric with a label has a number for
    each value of the label. Without a label, it has a single number. ``counts``: whether it is a counter, which only
    grows.
    """

    name: str
    about: str
    label: str | None = None
    counts: bool = False


TRIALS: Final = Metric(
    "skipstack_trials",
    "Trials by state: waiting, running, paused, measuring on test, or the reason of their end",
    "state",
)
RUNGS: Final = Metric("skipstack_rung_trials", "Trials that have reached the rung, by its epochs", "rung")
QUEUE: Final = Metric("skipstack_queue", "Trials that are still to begin")
BEST: Final = Metric("skipstack_best_score", "The best score of a trial that has ended")
EPOCHS: Final = Metric(
    "skipstack_epochs_total", "Epochs that were reported, of all seeds of a trial at once", None, True
)
TOKENS: Final = Metric("skipstack_tokens_total", "Tokens that were trained on, those of each seed", counts=True)
GPUS: Final = Metric("skipstack_gpus", "GPUs that running trials take, parts of them added up")

AGAIN: Final = 4.0
"""Seconds after which every gauge is set again. Ray drops gauges that were not set for 20 s; epochs may last longer."""

METRICS: Final = (TRIALS, RUNGS, QUEUE, BEST, EPOCHS, TOKENS, GPUS)

Put = Callable[[Metric, float, str | None], None]
"""A function that sets a metric, or adds to a counter. The string is the value of the metric's label, if any."""


class StudyGauges:
    """A reader of events that updates the metrics. ``record`` returns the study's record, which has applied the event
    already. ``put`` sets a metric. Counters count from the creation of this object on.
    """

    def __init__(self, record: Callable[[], StudyRecord], put: Put) -> None:
        self._record = record
        self._put = put
        self._states: dict[int, str] = {}
        self._in: Counter[str] = Counter()
        self._reached: set[tuple[int, int]] = set()
        self._at: Counter[int] = Counter()
        self._best = -math.inf
        self._tokens: dict[int, int] = {}
        for state in ("waiting", "running", "paused", "measuring", *get_args(Reason)):
            put(TRIALS, 0, state)
        for trial in record().trials.values():
            self._look(trial)
            for decision in trial.decisions:
                self._decided(decision)
        self._wait(record())

    def __call__(self, event: Event) -> None:
        """Update the metrics after an event."""
        record = self._record()
        number = getattr(event, "trial", None)
        if number is not None:
            self._look(record.trials[number])
        match event:
            case Started():  # the record has the config now, and drops it when the trial ends
                self._tokens[event.trial] = _tokens(record, record.trials[event.trial])
            case Reported() if record.trials[event.trial].reused is None:
                self._put(EPOCHS, 1, None)
                seeds = event.seeds or record.trials[event.trial].seeds
                if tokens := len(seeds) * self._tokens[event.trial]:
                    self._put(TOKENS, tokens, None)
            case Decided():
                self._decided(event)
            case _:
                pass
        self._wait(record, over=isinstance(event, Finished))

    def taken(self, gpus: float) -> None:
        """Set the number of GPUs that running trials take."""
        self._put(GPUS, gpus, None)

    def _look(self, trial: TrialRecord) -> None:
        """Update the numbers of trials by state and, if a trial has ended, the best score."""
        before, now = self._states.get(trial.number), trial.doing
        if now != before:
            self._states[trial.number] = now
            self._in[now] += 1
            self._put(TRIALS, self._in[now], now)
            if before is not None:
                self._in[before] -= 1
                self._put(TRIALS, self._in[before], before)
        if trial.reason is not None and trial.score is not None and trial.score > self._best:
            self._best = trial.score
            self._put(BEST, self._best, None)

    def _decided(self, event: Decided) -> None:
        if event.rung is not None and (event.trial, event.rung) not in self._reached:
            self._reached.add((event.trial, event.rung))
            self._at[event.rung] += 1
            self._put(RUNGS, self._at[event.rung], str(event.rung))

    def _wait(self, record: StudyRecord, *, over: bool = False) -> None:
        left = 0 if over else max(0, record.study.search.trials - len(record.trials))
        self._put(QUEUE, left, None)


def _tokens(record: StudyRecord, trial: TrialRecord) -> int:
    """Number of training tokens that a seed reads per epoch; 0 without a corpus, or if tokens were not counted."""
    corpus = record.read_by(trial.config)
    health = None if corpus is None else corpus.health
    return 0 if health is None else health.splits["train"].tokens


@contextmanager
def watched(driver: Driver) -> Iterator[StudyGauges]:
    """Publish the metrics of the driver's study during the block."""
    published = _Published(driver.record.study.name)
    gauges = StudyGauges(lambda: driver.record, published.put)
    driver.listen(gauges)
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(AGAIN):
            published.repeat()

    thread = threading.Thread(target=repeat, name="metrics", daemon=True)
    thread.start()
    try:
        yield gauges
    finally:
        ended.set()
        thread.join()


class _Published:
    """Publishes metrics of the study with the name ``study`` as Ray's counters and gauges."""

    def __init__(self, study: str) -> None:
        self._study = study
        self._lock = threading.Lock()
        self._counters: dict[Metric, metrics.Counter] = {}
        self._gauges: dict[Metric, metrics.Gauge] = {}
        self._values: dict[tuple[Metric, str | None], float] = {}
        for metric in METRICS:
            labels = ("study", *filter(None, [metric.label]))
            made, kind = (self._counters, metrics.Counter) if metric.counts else (self._gauges, metrics.Gauge)
            made[metric] = kind(metric.name, description=metric.about, tag_keys=labels)

    def put(self, metric: Metric, value: float, label: str | None) -> None:
        if metric.counts:
            self._counters[metric].inc(value, tags=self._tags(metric, label))
            return
        with self._lock:
            self._values[metric, label] = value
            self._gauges[metric].set(value, tags=self._tags(metric, label))

    def repeat(self) -> None:
        """Set every gauge to its present value again."""
        with self._lock:
            for (metric, label), value in self._values.items():
                self._gauges[metric].set(value, tags=self._tags(metric, label))

    def _tags(self, metric: Metric, label: str | None) -> dict[str, str]:
        own = {} if metric.label is None or label is None else {metric.label: label}
        return {"study": self._study, **own}
