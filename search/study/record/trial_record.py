"""The record of a trial, which is built from its events: its reports, the decisions on them, and its ranking.

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
from skipstack.search.study.record.seed_races import best_of_groups, groups
from skipstack.spaces.replicates import SEEDS_ALONE, Replicates
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject


@dataclass(slots=True)
class TrialRecord:
    """The state of a trial after all of its events so far.

    ``number``: its number. ``point``: its value on each active axis of ``space``, the study's space. ``seeds``: its
    seeds; if they race (are trained in groups), the seeds of the complete groups, or of the first group until it is
    complete. With ``replicates``, these are the numbers of its calls. ``measure``: the measure that ranks the trials.
    ``parameters``: the number of parameters of one lane (one seed's copy of the network); None if it is not an
    objective. ``replicates``: the replicates of each seed of a function.

    ``reused``: the event by which it took over the results of an earlier trial; None if it is trained. ``decisions``:
    the decisions at rungs, and all decisions to end or pause it. ``paused``: whether it waits at a rung. ``reason``,
    ``message``: the reason of its end, and a message on it; None and empty before its end. ``starts``: the number of
    times that it was started or continued. ``waits``: whether it has no worker, if it runs. ``measured_now``: whether a
    worker is measuring it on the test split. ``retries``: its retries after faults.

    ``tested``: its metrics on the test split; empty before they are measured. ``packed``: the measure's counts for each
    test sentence; None if there are none. ``documents``: the number of sentences of each document of the test split;
    empty if the corpus does not mark documents. ``untested``: its failed measurements on the test split. ``given_up``:
    the message of the last failed measurement if the measurement is not repeated; otherwise None. ``happened``: the
    event numbers of its proposal, its end and its measurement on the test split. ``note``: a user's note on it.
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
    note: str = ""
    _config: Subject | None = field(default=None, repr=False, compare=False)
    _best: tuple[int, Reported | None] = field(default=(0, None), repr=False, compare=False)
    """A cache for ``best``: the number of reports compared so far, and the best of them."""

    @property
    def config(self) -> Subject:
        """The config of the trial, which is created from its point when it is accessed."""
        if self._config is None:
            self._config = self.space.config(self.point)
        return self._config

    def forget(self) -> None:
        """Drop the config, which is large. It is created again when it is accessed."""
        self._config = None

    @property
    def state(self) -> str:
        """The reason of the trial's end or, before its end, ``paused`` or ``running``."""
        return self.reason or ("paused" if self.paused else "running")

    @property
    def doing(self) -> str:
        """The trial's state; but ``measuring`` during its test, and ``waiting`` if it runs and has no worker yet."""
        if self.measured_now:
            return "measuring"
        return "waiting" if self.waits and self.state == "running" else self.state

    @property
    def whole(self) -> bool:
        """Whether the trial (if seeds race, its first group) was trained to the end, so that its score is final."""
        return self.reason == "completed" or (self.raced and len(self.reports) >= self.config.epochs)

    @property
    def returned_early(self) -> bool:
        """Whether the trial called a function that returned before its last possible epoch."""
        calls = not self.space.fields.model.keeps_weights
        told = bool(self.decisions) and self.decisions[-1].decision == "complete"
        return calls and self.reason == "completed" and not told

    @property
    def best(self) -> Reported | None:
        """The report with the highest finite score (the first one in a tie); None if there is none. If seeds race, this
        joins the best reports of the groups (``search/study/record/seed_races.py``).
        """
        if self._best[0] != len(self.reports):
            self._best = len(self.reports), self._best_report()
        return self._best[1]

    @property
    def raced(self) -> bool:
        """Whether the seeds race, so that they are trained in groups. False if there is no report yet."""
        return self.reports.grouped

    @property
    def groups(self) -> dict[tuple[int, ...], list[Reported]]:
        """The reports by the seeds that were trained together: in several groups if the seeds race."""
        return {group[0].seeds or self.seeds: group for group in groups(self.reports)}

    @property
    def rank_key(self) -> tuple[int, float, int]:
        """The key that sorts trials with a score, the best first: by score, then by number. If seeds race, trials with
        more seeds come first: a trial with fewer seeds was stopped because others were better.
        """
        assert self.score is not None
        return -len(self.seeds) if self.raced else 0, -self.score, self.number

    @property
    def curve(self) -> list[tuple[int, float]]:
        """The epoch and the score of each report. If the seeds race and have a score, a single pair instead: the number
        of seeds and their joint score.
        """
        if self.raced and self.best is not None:
            return [(len(self.seeds), self.best.score)]
        return self.reports.curve

    @property
    def score(self) -> float | None:
        """The best dev score of any epoch, as the mean over seeds. None if there is none, or if the trial diverged or
        was ended by a fault.
        """
        if self.reason in SCORELESS:
            return None
        if self.raced:
            return None if self.best is None else self.best.score
        place = self.reports.best()
        return None if place is None else self.reports.scores[place]

    @property
    def share(self) -> int:
        """The trial's share of the device, relative to an ordinary trial. It doubles whenever memory runs out."""
        causes = [*(retry.cause for retry in self.retries), *(fault.reason for fault in self.untested)]
        return 1 << causes.count("out_of_memory")

    @property
    def weights_identity(self) -> str:
        """The config identity in the weights file: an earlier trial's, if the weights were copied from that trial."""
        own = self.reused is None or any(fault.then == "train" for fault in self.untested)
        return self.config.identity if own or self.reused is None else self.reused.config_identity

    @property
    def weights_epoch(self) -> int | None:
        """The epoch that the trial's weights file states if it holds the best weights; None if that epoch is unknown.

        The file may state another epoch if a machine was lost with the best weights. The epoch is unknown if the seeds
        race, since each group has its own best epoch, and if the trial has no best epoch, was reused, or was trained
        again for its test.
        """
        again = any(fault.then == "train" for fault in self.untested)
        return None if self.raced or again or self.reused is not None or self.best is None else self.best.epoch

    @property
    def epochs(self) -> int:
        """The number of epochs that this study trained; 0 if the trial was reused."""
        return len(self.reports) if self.reused is None else 0

    @property
    def seconds(self) -> float:
        """The seconds of training and evaluation in this study, over all epochs and lanes; 0 for a reused trial."""
        return sum(self.reports.seconds) if self.reused is None else 0.0

    @property
    def latency(self) -> float | None:
        """The smallest reported latency, since other processes can only increase it; None if there is none."""
        return min((report.latency for report in self.reports if report.latency is not None), default=None)

    def further(self, sought: Sequence[Further], at: Reported | None = None) -> Vector:
        """Return the trial's values of the objectives ``sought``, larger being better. ``at``: as in ``value``."""
        return vector(sought, {each.column: self.value(each, at) for each in sought})

    def value(self, sought: Further, at: Reported | None = None) -> float | None:
        """Return the trial's measured value of one objective after the score; None if it is unknown. The value of a
        function's objective is the mean over its calls in the report ``at``, or in the best report if ``at`` is None.
        """
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
        """The dev score of each seed at the best epoch; empty if there is no best epoch."""
        return {} if self.best is None else self._scores("dev", self.best.metrics, self.seeds)

    @property
    def test(self) -> dict[int, float]:
        """The test score of each seed; empty if the trial was not tested. If a function reported test scores with its
        epochs, the test scores of the best epoch count.
        """
        measured = self.tested
        if not measured and self.score is not None and self.best is not None:
            measured = self.best.metrics
        return self._scores("test", measured, self.seeds) if f"test_{self.measure.name}" in measured else {}

    @property
    def sentences(self) -> NDArray[np.float64] | None:
        """The measure's counts for each test sentence, counts_RSC. Their sums give ``test`` (``Measure.of_counts``).

        None if the trial was not tested, or was tested by a version that did not store the counts. Raises UserError if
        the counts cannot be read.
        """
        if self.packed is None:
            return None
        try:
            return self.packed.array(self.measure.counted)
        except UserError as error:
            raise UserError(f"trial {self.number}: {error}") from None

    def dev_of(self, report: Reported) -> dict[int, float]:
        """Return the dev score of each seed in ``report``."""
        return self._scores("dev", report.metrics, report.seeds or self.seeds)

    def _scores(self, split: str, metrics: Metrics, seeds: tuple[int, ...]) -> dict[int, float]:
        """Return the score of each seed on a split, converted so that larger is better (``Measure.score``). Raises
        UserError if ``metrics`` lack the measure.
        """
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
