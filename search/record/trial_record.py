"""A trial as its ledger has it: what it reported, what was decided of it, and what it is ranked by.

Array legend: R seeds, S sentences of the test split, C counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.ledger.events import SCORELESS, Decided, Metrics, Reason, Reported, Retried, Reused, Untested
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.objectives.objectives import Objective, further
from skipstack.search.objectives.pareto import Vector
from skipstack.search.record.reports import Reports
from skipstack.search.record.seed_races import best_of_groups
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject


@dataclass(slots=True)
class TrialRecord:
    """One trial so far. ``tested`` is empty until the trial was selected and measured on the test split; ``packed`` is
    what was counted of each sentence then.

    ``measure`` is what it is ranked by. ``decisions`` are those at a rung and the last one. ``seeds``:
    where they race, those that are trained to the end, or the first ones before that. ``paused``: it waits at a rung,
    for a promotion or its end. ``starts`` counts the workers that took it up. ``parameters``: of one lane, None where
    nobody asked. ``reused`` says which other trial stands for it where it was not trained. ``untested``: the faults of
    its measurement on the test split; ``given_up``: the last one's message, where it is not measured any more.
    ``happened``: the numbers of these events in the ledger, the last ones of their kind.
    """

    number: int
    point: Point
    space: Space = field(repr=False, compare=False)
    seeds: tuple[int, ...]
    measure: Measure = MEASURES[Accuracy.name]
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
    packed: SentenceCounts | None = field(default=None, repr=False)
    untested: list[Untested] = field(default_factory=list)
    given_up: str | None = None
    happened: dict[Literal["proposed", "ended", "tested"], int] = field(default_factory=dict)
    _config: Subject | None = field(default=None, repr=False, compare=False)
    _best: tuple[int, Reported | None] = field(default=(0, None), repr=False, compare=False)
    """The best report of so many."""

    @property
    def config(self) -> Subject:
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
    def whole(self) -> bool:
        """Whether its score tells of a training to the end: its own, or that of the seeds that raced so far."""
        return self.reason == "completed" or (self.raced and len(self.reports) >= self.config.epochs)

    @property
    def returned(self) -> bool:
        """Whether it ended by itself, as a function may, before the last epoch that it might have had."""
        calls = not self.space.fields.model.keeps_weights
        told = bool(self.decisions) and self.decisions[-1].decision == "complete"
        return calls and self.reason == "completed" and not told

    @property
    def best(self) -> Reported | None:
        """The report with the highest finite score, the earliest of equals; None where there is none.

        Where seeds race, those of their groups as one (``search/record/seed_races.py``).
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
        causes = [*(retry.cause for retry in self.retries), *(fault.reason for fault in self.untested)]
        return 1 << causes.count("out_of_memory")

    @property
    def weights_identity(self) -> str:
        """The identity of the config whose name its weights bear: another one where an earlier study trained them."""
        own = self.reused is None or any(fault.then == "train" for fault in self.untested)
        return self.config.identity if own or self.reused is None else self.reused.config_identity

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
        """The test score by seed; empty where the trial was not tested. A function may report it with its epochs."""
        measured = self.tested
        if not measured and self.score is not None and self.best is not None:
            measured = self.best.metrics
        return self._scores("test", measured, self.seeds) if f"test_{self.measure.name}" in measured else {}

    @property
    def sentences(self) -> NDArray[np.float64] | None:
        """What the measure counts of each sentence of the test split, seed by seed: counts_RSC.

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
        """By seed, the larger the better (``data.tasks.measure.Measure.score``)."""
        values = metrics[f"{split}_{self.measure.name}"]
        return {seed: self.measure.score(value) for seed, value in zip(seeds, values, strict=True)}

    def _best_report(self) -> Reported | None:
        if self.raced:
            return best_of_groups(self.reports, self.config.epochs)
        place = self.reports.best()
        return None if place is None else self.reports[place]
