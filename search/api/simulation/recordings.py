"""The recorded curves of a study, and the space of the points whose curves are known.

Shapes: P recorded points, A axes.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import FAULTS, Event, Proposed, Reported
from skipstack.search.study.record.seed_races import groups, joined
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import EpochResult
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.domains import Choice, Domain, Json, Log
from skipstack.spaces.space import Point, Space

LANES = "dev_score"
"""The metric of a recorded epoch: the dev score of each seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recordings:
    """The trials whose curves can be replayed to any epoch, by the identity of their config.

    A curve is whole if it has all epochs, diverged, or ended when its function returned. ``extended``: how many stopped
    curves were extrapolated; ``left_out``: the number of trials without a whole curve, by their end. ``scores``: of all
    recorded trials with one, the best first.
    """

    curves: Mapping[str, tuple[EpochResult, ...]]
    points: tuple[Point, ...]
    extended: int
    left_out: Mapping[str, int]
    scores: tuple[float, ...]
    parameters: Mapping[str, int | None]
    """The number of parameters by the identity of the config."""

    @property
    def best(self) -> float | None:
        """The best score that a simulation can return, of the curves that do not diverge; None if all do."""
        scores = ([result.score for result in curve] for curve in self.curves.values())
        return max((max(each) for each in scores if each and all(map(math.isfinite, each))), default=None)


def recordings(record: StudyRecord, *, extrapolate: bool = False) -> Recordings:
    """The recordings of a study. With ``extrapolate``, a stopped curve keeps its last score up to the last epoch, with
    its mean seconds per epoch. Seeds that a race did not train get the mean of the trained ones.

    Raises UserError if no curve is left.
    """
    whole = record.study.space.base.epochs
    curves: dict[str, tuple[EpochResult, ...]] = {}
    parameters: dict[str, int | None] = {}
    points: list[Point] = []
    left_out: Counter[str] = Counter()
    extended = 0
    further = [each.column for each in record.study.search.further]
    for trial in record.trials.values():
        curve = _curve(trial, record.study.search.lanes_of_a_trial, further)
        if not _is_whole(trial, curve, whole):
            if not extrapolate or not curve or trial.reason in FAULTS:
                left_out[trial.state] += 1
                continue
            curve = _held(curve, whole)
            extended += 1
        name = trial.config.identity
        if name not in curves:
            points.append(trial.point)
        curves[name], parameters[name] = curve, trial.parameters
    if not curves:
        counts = ", ".join(f"{number} {reason}" for reason, number in left_out.items()) or "no trial at all"
        raise UserError(
            f"no trial recorded all its {counted(whole, 'epoch')} (got {counts}; allowed: a study with completed "
            "trials, or --extrapolate)"
        )
    return Recordings(
        curves=curves,
        points=tuple(points),
        extended=extended,
        left_out=left_out,
        parameters=parameters,
        scores=tuple(sorted((trial.score for trial in record.ranked() if trial.score is not None), reverse=True)),
    )


def _curve(trial: TrialRecord, seeds: int, further: Sequence[str]) -> tuple[EpochResult, ...]:
    """The curve of a trial, with the ``further`` objectives that are metrics; racing seeds as if trained together, and
    missing seeds with the mean of the others.
    """
    reports = [joined(each) for each in zip(*groups(trial.reports), strict=False)] if trial.raced else trial.reports
    return tuple(_result(report, tuple(trial.dev_of(report).values()), seeds, further) for report in reports)


def _result(report: Reported, scores: tuple[float, ...], seeds: int, further: Sequence[str]) -> EpochResult:
    missing = max(seeds - len(scores), 0)
    lanes = {LANES: scores, **{name: report.metrics[name] for name in further if name in report.metrics}}
    return EpochResult(
        epoch=report.epoch,
        score=report.score,
        metrics={name: (*values, *[fmean(values)] * missing) for name, values in lanes.items()},
        seconds=report.seconds * (len(scores) + missing) / len(scores),
        latency=report.latency,
    )


def _is_whole(trial: TrialRecord, curve: Sequence[EpochResult], whole: int) -> bool:
    ended = trial.returned_early or len(curve) == whole
    return trial.reason == "diverged" or (trial.reason == "completed" and ended)


def _held(curve: tuple[EpochResult, ...], whole: int) -> tuple[EpochResult, ...]:
    seconds = fmean(result.seconds for result in curve)
    rest = (replace(curve[-1], epoch=epoch, seconds=seconds) for epoch in range(len(curve) + 1, whole + 1))
    return (*curve, *rest)


@final
class RecordedSpace(Space):
    """The recorded points of a space that were not yet proposed (``take``); other points that a proposer composes are
    replaced by the nearest of them.

    The distance is the sum over the axes: 0 or 1 between choices, the share of the range between numbers (of the
    logarithm for ``log``), 1 if only one of the points has the axis. Ties go to the first recorded point.
    """

    def __init__(self, config: SpaceConfig, points: Sequence[Point]) -> None:
        self._left = {canonical_json(point): point for point in points}
        super().__init__(config)
        self._whole = Space(config)
        self._texts = tuple(self._left)
        self._rows = {text: row for row, text in enumerate(self._texts)}
        # For drawing: when a point is taken, the last one moves to its index.
        self._places = list(self._texts)
        self._place_of = dict(self._rows)
        self._points_PA = np.array([self._coordinates(point) for point in self._left.values()])
        self._taken_P = np.zeros(len(self._left), dtype=bool)
        self._is_choice_A = np.array([isinstance(domain, Choice) for domain in self.domains.values()])

    @property
    def finite(self) -> bool:
        """True: recorded points are finitely many."""
        return True

    def everything(self) -> Iterator[Point]:
        """The points that are left, in the order of their axes."""
        texts = sorted(self._left, key=lambda text: self._order(self._left[text]))
        yield from (self._left[text] for text in texts if text in self._left)

    def refusal(self, point: Point) -> str | None:
        """The reason if a point is not allowed: it was not recorded, or was proposed already."""
        return None if canonical_json(point) in self._left else "not a recorded trial that is left"

    def sample(self, generator: np.random.Generator) -> Point:
        """A random point of those left. Raises UserError if none is."""
        if not self._left:
            raise UserError("no recorded trial is left (allowed: as many trials as were recorded)")
        return self._left[self._places[int(generator.integers(len(self._places)))]]

    def repaired(self, point: Point, generator: np.random.Generator) -> Point:
        """The point itself: every recorded one keeps the rules."""
        return point

    def one_at_a_time(self) -> Iterator[Point]:
        """The points of ``one_at_a_time`` in the whole space that were recorded."""
        return (point for point in self._whole.one_at_a_time() if self.allowed(point))

    def compose(self, choose: Callable[[str, Domain], Json]) -> Point:
        """The nearest point that is left."""
        wanted_A = np.array(self._coordinates(self._whole.compose(choose)))
        return self._left[self._nearest(wanted_A)]

    def take(self, event: Event) -> None:
        """Remove a proposed point; a reader of the driver's events."""
        if not isinstance(event, Proposed):
            return
        text = canonical_json(event.point)
        del self._left[text]
        self._taken_P[self._rows[text]] = True
        place, last = self._place_of.pop(text), self._places.pop()
        if last != text:
            self._places[place] = last
            self._place_of[last] = place

    def _nearest(self, wanted_A: NDArray[np.float64]) -> str:
        missing_PA, missing_A = np.isnan(self._points_PA), np.isnan(wanted_A)
        apart_PA = np.abs(self._points_PA - wanted_A)
        apart_PA = np.where(self._is_choice_A, apart_PA > 0, apart_PA)
        apart_PA = np.where(missing_PA | missing_A, missing_PA != missing_A, apart_PA)
        distance_P = np.where(self._taken_P, np.inf, apart_PA.sum(axis=1))
        return self._texts[int(np.argmin(distance_P))]

    def _coordinates(self, point: Point) -> list[float]:
        """The coordinate on each axis: the index of a choice, a number as a share of its range, NaN if the axis is not
        active.
        """
        return [
            _coordinate(domain, point[path]) if path in point else math.nan for path, domain in self.domains.items()
        ]

    def _order(self, point: Point) -> tuple[tuple[bool, float], ...]:
        return tuple((not math.isnan(each), each if each == each else 0.0) for each in self._coordinates(point))


def _coordinate(domain: Domain, value: Json) -> float:
    if isinstance(domain, Choice):
        text = canonical_json(value)
        return float([canonical_json(own) for own in domain.values].index(text))
    assert isinstance(value, int | float)
    if isinstance(domain, Log):
        return math.log(value / domain.low) / math.log(domain.high / domain.low)
    return (value - domain.low) / (domain.high - domain.low)
