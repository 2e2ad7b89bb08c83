"""A study as its ledger tells it: the reading that tables, tracking, exports and the driver share."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import assert_never

from data.errors import UserError
from data.frozen import canonical_json, identity
from data.metrics import FACTORS, Measure
from search.config import StudyConfig
from search.ledger.events import (
    SCORELESS,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Metrics,
    Promoted,
    Proposed,
    Reason,
    Recording,
    Reported,
    Resumed,
    Retried,
    Reused,
    Started,
    StudyOpened,
    Tested,
    VectorsPrepared,
    WarmStarted,
)
from search.ledger.ledger import Ledger
from search.objectives import Objective, further
from search.pareto import Vector, front
from search.records.extension import extended
from search.records.folder import StudyFolder
from search.records.races import best_of_groups
from search.records.reports import Reports
from spaces.space import Point, Space
from spaces.trial import TrialConfig


@dataclass(slots=True)
class TrialRecord:
    """One trial so far. ``tested`` is empty until the trial was selected and measured on the test split.

    ``measure`` is what it is ranked by, accuracy or F1. ``decisions`` are those at a rung and the last one. ``seeds``:
    where they race, those that are trained to the end, or the first ones before that. ``paused``: it waits at a rung,
    for a promotion or its end. ``starts`` counts the workers that took it up. ``parameters``: of one lane, None where
    nobody asked. ``reused`` says which other trial stands for it where it was not trained.
    """

    number: int
    point: Point
    space: Space = field(repr=False, compare=False)
    seeds: tuple[int, ...]
    measure: Measure = "accuracy"
    parameters: int | None = None
    reused: Reused | None = None
    reports: Reports = field(default_factory=Reports)
    decisions: list[Decided] = field(default_factory=list)
    paused: bool = False
    reason: Reason | None = None
    message: str = ""
    starts: int = 0
    retries: list[Retried] = field(default_factory=list)
    tested: Metrics = field(default_factory=dict)
    _config: TrialConfig | None = field(default=None, repr=False, compare=False)

    @property
    def config(self) -> TrialConfig:
        """What it trains, made from the point when it is asked for."""
        if self._config is None:
            self._config = self.space.config(self.point)
        return self._config

    def forget(self) -> None:
        """Make the config anew if it is asked for again: it is large, and trials that are over are many."""
        self._config = None

    @property
    def state(self) -> str:
        """The reason of its end, or ``paused`` or ``running``."""
        return self.reason or ("paused" if self.paused else "running")

    @property
    def best(self) -> Reported | None:
        """The report with the highest finite score, the earliest of equals; None where there is none.

        Where seeds race, those of their groups as one (``search/records/races.py``).
        """
        if self.raced:
            return best_of_groups(self.reports, self.config.training.epochs)
        place = self.reports.best()
        return None if place is None else self.reports[place]

    @property
    def raced(self) -> bool:
        """Whether the seeds are trained in groups."""
        return self.reports.grouped

    @property
    def place(self) -> tuple[int, float, int]:
        """What trials that have a score are ranked by, the least first: the score, and of equals the number.

        Where seeds race, more seeds go before: a trial that was stopped lost to others at the seeds that they had then.
        """
        assert self.score is not None
        return -len(self.seeds) if self.raced else 0, -self.score, self.number

    @property
    def curve(self) -> list[tuple[int, float]]:
        """Epochs and scores. Where seeds race, a single point: how many there are, and what they reach together."""
        if self.raced and self.best is not None:
            return [(len(self.seeds), self.best.score)]
        return self.reports.curve

    @property
    def score(self) -> float | None:
        """The best mean dev score of any epoch; None for a trial that a fault ended, diverged or has not reported."""
        if self.reason in SCORELESS:
            return None
        if self.raced:
            return None if self.best is None else self.best.score
        place = self.reports.best()
        return None if place is None else self.reports.scores[place]

    @property
    def share(self) -> int:
        """Its share of the device, as a multiple of what an ordinary trial has: twice as much after missing memory."""
        return 1 << sum(retry.cause == "out_of_memory" for retry in self.retries)

    @property
    def weights_identity(self) -> str:
        """The identity of the config whose name its weights bear: another one where an earlier study trained them."""
        return self.config.identity if self.reused is None else self.reused.config_identity

    @property
    def epochs(self) -> int:
        """Epochs that this study trained; none of a trial that was reused."""
        return len(self.reports) if self.reused is None else 0

    @property
    def seconds(self) -> float:
        """Seconds of training and evaluation in this study, over all epochs and lanes."""
        return sum(self.reports.seconds) if self.reused is None else 0.0

    @property
    def latency(self) -> float | None:
        """The least of the latencies it reported, since whatever else runs on a machine only adds to them."""
        return min((report.latency for report in self.reports if report.latency is not None), default=None)

    def further(self, objectives: Sequence[Objective]) -> Vector:
        """What it reaches in the objectives beside the score, the larger the better."""
        latency = self.latency if "latency" in objectives else None
        return further(objectives, parameters=self.parameters, latency=latency)

    @property
    def dev(self) -> dict[int, float]:
        """The dev score by seed, at the best epoch; empty without one."""
        return {} if self.best is None else self._scores("dev", self.best.metrics, self.seeds)

    @property
    def test(self) -> dict[int, float]:
        """The test score by seed; empty where the trial was not tested."""
        return self._scores("test", self.tested, self.seeds) if self.tested else {}

    def dev_of(self, report: Reported) -> dict[int, float]:
        """The dev score by seed, at one epoch."""
        return self._scores("dev", report.metrics, report.seeds or self.seeds)

    def _scores(self, split: str, metrics: Metrics, seeds: tuple[int, ...]) -> dict[int, float]:
        """By seed, the larger the better (``data.metrics.FACTORS``)."""
        sign = math.copysign(1, FACTORS[self.measure])
        values = metrics[f"{split}_{self.measure}"]
        return {seed: sign * value for seed, value in zip(seeds, values, strict=True)}


class StudyRecord:
    """What happened in a study. ``apply`` is the only way in, for the past and for the present alike."""

    def __init__(self) -> None:
        self.opened: StudyOpened | None = None
        self.corpora: dict[str, CorpusPrepared] = {}
        self.warm_starts: list[WarmStarted] = []
        self.trials: dict[int, TrialRecord] = {}
        self.finished = False

    @classmethod
    def of(cls, events: Iterable[Event]) -> "StudyRecord":
        """The record after ``events``."""
        record = cls()
        for event in events:
            record.apply(event)
        return record

    def apply(self, event: Event) -> None:
        """Take in what happened next."""
        match event:
            case StudyOpened():
                self.opened = event
            case CorpusPrepared():
                self.corpora[event.corpus] = event
            case Proposed(trial=number):
                self.trials[number] = TrialRecord(
                    number, dict(event.point), self.space, event.seeds, self.measure, event.parameters
                )
            case WarmStarted():
                self.warm_starts.append(event)
            case Reused(trial=number):
                self.trials[number].reused = event
            case Reported(trial=number):
                trial = self.trials[number]
                trial.reports.append(event)
                if event.seeds and event.epoch == trial.config.training.epochs and event.seeds != trial.seeds:
                    trial.seeds += event.seeds
            case Decided(trial=number):
                if event.rung is not None or event.decision != "continue":
                    self.trials[number].decisions.append(event)
                self.trials[number].paused = event.decision == "pause"
            case Promoted(trial=number):
                self.trials[number].paused = False
            case Ended(trial=number):
                self.trials[number].reason, self.trials[number].message = event.reason, event.message
                self.trials[number].paused = False
                self.trials[number].forget()
            case Tested(trial=number):
                self.trials[number].tested = event.metrics
            case Finished():
                self.finished = True
            case Resumed():
                self.finished = False
            case Extended():
                self.study, self.finished = extended(self.study, event), False
                for stale in ("space", "_base_text"):
                    self.__dict__.pop(stale, None)
            case Started(trial=number):
                self.trials[number].starts += 1
            case Retried(trial=number):
                self.trials[number].retries.append(event)
            case Interrupted():
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
        return next((corpus.measure for corpus in self.corpora.values()), "accuracy")

    def recording(self, trial: TrialRecord) -> Recording:
        """What can be taken over of one of the trials."""
        assert self.opened is not None, "a ledger begins with study_opened"
        return Recording(
            config_identity=trial.weights_identity,
            seeds=trial.seeds,
            order_seed=self.study.search.seed,
            reports=tuple(trial.reports),
            tested=trial.tested,
            code_version=self.opened.code_version if trial.reused is None else trial.reused.code_version,
        )

    def corpus_of(self, config: TrialConfig) -> CorpusPrepared:
        """The prepared corpus that a trial of this config reads."""
        return self.corpora[identity(config.data.corpus)]

    def vectors_of(self, config: TrialConfig) -> VectorsPrepared | None:
        """The pretrained vectors that a trial of this config starts from; None where it has none."""
        path = config.data.vectors
        return None if path is None else self.corpus_of(config).vectors[path]

    @property
    def base(self) -> TrialRecord | None:
        """The trial that ran the base config itself, from which every difference is measured."""
        text = self._base_text
        return next((trial for trial in self.trials.values() if canonical_json(trial.point) == text), None)

    def ranked(self) -> list[TrialRecord]:
        """The trials that have a score, the best first (``TrialRecord.place``)."""
        return sorted((trial for trial in self.trials.values() if trial.score is not None), key=lambda each: each.place)

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


def is_finished(path: Path) -> bool:
    """Whether nothing is left to do of the study in the folder ``path``. Raises UserError as ``read_study`` does."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    if next(iter(ledger.replay()), None) is None:
        raise _empty(path)
    ends = list(ledger.only("finished", "resumed", "extended"))
    return bool(ends) and isinstance(ends[-1], Finished)


def read_study(path: Path) -> StudyRecord:
    """The record of the study in the folder ``path``. Raises UserError where there is none, or it is damaged."""
    record = StudyRecord.of(Ledger(StudyFolder.existing(path).ledger).read())
    if record.opened is None:
        raise _empty(path)
    return record


def _empty(path: Path) -> UserError:
    return UserError(f"{path}: the ledger is empty (allowed: a folder that `skipstack search --out` made)")
