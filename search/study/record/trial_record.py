"""The record of a trial, built from its events: its reports, decisions, and ranking.

Array legend: R seeds, S sentences of the test split, C counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.ledger.events import SCORELESS, Decided, Metrics, Reason, Reported, Retried, Reused, Untested
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.strategy.objectives.objectives import Further, vector
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.study.record.reports import Reports
from skipstack.search.study.record.seed_races import best_of_groups
from skipstack.spaces.replicates import SEEDS_ALONE, Replicates
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject


@dataclass(slots=True)
class TrialRecord:
    """A trial so far. ``tested``: its metrics on the test split, empty before they are measured; ``packed``: the
    measure's counts of each test sentence; ``documents``: the numbers of sentences of the documents of test, where
    they are distinguished.

    ``measure``: the measure that ranks it. ``decisions``: those at rungs, and the last one. ``seeds``: its seeds; if
    they race, those trained to the end, or the first group before that. ``paused``: it waits at a rung. ``starts``: the
    number of workers that trained it. ``waits``: it waits for a worker. ``measured_now``: a worker measures it on the
    test split. ``parameters``: those of one lane; None if they are no objective. ``replicates``: those of a function;
    with them, ``seeds`` are the numbers of its calls. ``reused``: the trial whose recording it has, if it was not
    trained. ``untested``: failed measurements on the test split; ``given_up``: the message of the last one, if it is
    not tried again. ``happened``: the event numbers of the last event of each kind.
    """

    number: int
    point: Point
    space: Space = field(repr=False, compare=False)
    seeds: tuple[int, ...]
    measure: Measure = MEASURES[Accuracy.name]
    parameters: int | None = None
    replicates: Replicates = SEEDS_ALONE
    reused: Reused | None = None
    reports: Reports = field(default_factory=Reports)
    decisions: list[Decided] = field(default_factory=list)
    paused: bool = False
    reason: Reason | None = None
    message: str = ""
    starts: int = 0
    waits: bool = False
    measured_now: bool = False
    retries: list[Retried] = field(default_factory=list)
    tested: Metrics = field(default_factory=dict)
    packed: SentenceCounts | None = field(default=None, repr=False)
    documents: tuple[int, ...] = field(default=(), repr=False)
    untested: list[Untested] = field(default_factory=list)
    given_up: str | None = None
    happened: dict[Literal["proposed", "ended", "tested"], int] = field(default_factory=dict)
    _config: Subject | None = field(default=None, repr=False, compare=False)
    _best: tuple[int, Reported | None] = field(default=(0, None), repr=False, compare=False)
    """The number of reports that were compared, and the best of them."""

    @property
    def config(self) -> Subject:
        """The config of the trial, created from its point on first access."""
        if self._config is None:
            self._config = self.space.config(self.point)
        return self._config

    def forget(self) -> None:
        """Drop the config, which is large, until it is accessed again."""
        self._config = None

    @property
    def state(self) -> str:
        """The reason of its end, or ``paused`` or ``running``."""
        return self.reason or ("paused" if self.paused else "running")

    @property
    def doing(self) -> str:
        """The trial's state, or ``waiting`` if it runs and no worker has it yet, or ``measuring`` while a worker
        measures it on the test split.
        """
        if self.measured_now:
            return "measuring"
        return "waiting" if self.waits and self.state == "running" else self.state

    @property
    def whole(self) -> bool:
        """Whether its score is that of training to the end; if seeds race, of the seeds so far."""
        return self.reason == "completed" or (self.raced and len(self.reports) >= self.config.epochs)

    @property
    def returned_early(self) -> bool:
        """Whether it is a function that returned before its last possible epoch."""
        calls = not self.space.fields.model.keeps_weights
        told = bool(self.decisions) and self.decisions[-1].decision == "complete"
        return calls and self.reason == "completed" and not told

    @property
    def best(self) -> Reported | None:
        """The report with the highest finite score, the earliest of equals; None if there is none.

        If seeds race, the best reports of their groups, joined (``search/study/record/seed_races.py``).
        """
        if self._best[0] != len(self.reports):
            self._best = len(self.reports), self._best_report()
        return self._best[1]

    @property
    def raced(self) -> bool:
        """Whether the seeds are trained in groups."""
        return self.reports.grouped

    @property
    def rank_key(self) -> tuple[int, float, int]:
        """The sort key of trials with a score, the best first: by score, then by number.

        If seeds race, trials with more seeds come first: a stopped trial lost to others with as many seeds as it had.
        """
        assert self.score is not None
        return -len(self.seeds) if self.raced else 0, -self.score, self.number

    @property
    def curve(self) -> list[tuple[int, float]]:
        """Epochs and scores. If seeds race, a single point: the number of seeds, and their joint score."""
        if self.raced and self.best is not None:
            return [(len(self.seeds), self.best.score)]
        return self.reports.curve

    @property
    def score(self) -> float | None:
        """The best mean dev score of any epoch; None if the trial failed, diverged or has not reported."""
        if self.reason in SCORELESS:
            return None
        if self.raced:
            return None if self.best is None else self.best.score
        place = self.reports.best()
        return None if place is None else self.reports.scores[place]

    @property
    def share(self) -> int:
        """The trial's share of the device, as a multiple of an ordinary trial's: doubled whenever memory ran out."""
        causes = [*(retry.cause for retry in self.retries), *(fault.reason for fault in self.untested)]
        return 1 << causes.count("out_of_memory")

    @property
    def weights_identity(self) -> str:
        """The config identity in its weights file: that of the earlier study's config if the trial was reused."""
        own = self.reused is None or any(fault.then == "train" for fault in self.untested)
        return self.config.identity if own or self.reused is None else self.reused.config_identity

    @property
    def weights_epoch(self) -> int | None:
        """The epoch in its weights file, if it has the weights of its best one: a machine that was lost may have had
        those alone. None where each group of seeds has its own, and where it was not trained once and here.
        """
        again = any(fault.then == "train" for fault in self.untested)
        return None if self.raced or again or self.reused is not None or self.best is None else self.best.epoch

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
        """The least of its reported latencies, since other processes on the machine only add to them."""
        return min((report.latency for report in self.reports if report.latency is not None), default=None)

    def further(self, sought: Sequence[Further], at: Reported | None = None) -> Vector:
        """The trial's values in the objectives after the score, the larger the better. ``at``: the report that has
        those of a function, if not the best.
        """
        return vector(sought, {each.column: self.value(each, at) for each in sought})

    def value(self, sought: Further, at: Reported | None = None) -> float | None:
        """The trial's value in an objective after the score, as measured, the mean over its seeds; None if unknown."""
        match sought.column:
            case "parameters":
                return self.parameters
            case "latency":
                return self.latency
            case column:
                report = self.best if at is None else at
                lanes = () if report is None else report.metrics.get(column, ())
                return fmean(lanes) if lanes else None

    @property
    def dev(self) -> dict[int, float]:
        """The dev score by seed, at the best epoch; empty without one."""
        return {} if self.best is None else self._scores("dev", self.best.metrics, self.seeds)

    @property
    def test(self) -> dict[int, float]:
        """The test score by seed; empty where the trial was not tested. A function may report it with its epochs."""
        measured = self.tested
        if not measured and self.score is not None and self.best is not None:
            measured = self.best.metrics
        return self._scores("test", measured, self.seeds) if f"test_{self.measure.name}" in measured else {}

    @property
    def sentences(self) -> NDArray[np.float64] | None:
        """The measure's counts of each test sentence by seed: counts_RSC.

        Its sums over the sentences give ``test`` (``data.tasks.measure.Measure.of_counts``). None where the trial was
        not tested, or by a version that did not keep them. Raises UserError where they cannot be read.
        """
        if self.packed is None:
            return None
        try:
            return self.packed.array(self.measure.counted)
        except UserError as error:
            raise UserError(f"trial {self.number}: {error}") from None

    def dev_of(self, report: Reported) -> dict[int, float]:
        """The dev score by seed, at one epoch."""
        return self._scores("dev", report.metrics, report.seeds or self.seeds)

    def _scores(self, split: str, metrics: Metrics, seeds: tuple[int, ...]) -> dict[int, float]:
        """The scores by seed, the larger the better (``data.tasks.measure.Measure.score``)."""
        name = f"{split}_{self.measure.name}"
        if name not in metrics:
            raise UserError(
                f"trial {self.number}: got a report without {name}, which ranks the trials (allowed: with it)"
            )
        values = metrics[name]
        return {seed: self.measure.score(value) for seed, value in zip(seeds, values, strict=True)}

    def _best_report(self) -> Reported | None:
        if self.raced:
            return best_of_groups(self.reports, self.config.epochs)
        place = self.reports.best()
        return None if place is None else self.reports[place]
