"""The recorded curves of a study, for simulations, and a space with only the points that have such curves.

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
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.space import Point, Space

LANES = "dev_score"
"""The name of a recorded epoch's metric with the dev score of each seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recordings:
    """The trials of a study that can be replayed to any epoch. The curve of a trial is complete if it has all epochs of
    all seeds, if the trial diverged, or if the user's function returned earlier.

    ``curves``: the reports of each trial, by the hash (``identity``) of its config. ``points``: the trials' points (a
    value for each active axis). ``extended``: the number of incomplete curves that were extrapolated. ``left_out``: the
    number of trials that are left out because of their incomplete curves, by state. ``scores``: the scores of all
    trials of the study, the best first.
    """

    curves: Mapping[str, tuple[EpochResult, ...]]
    points: tuple[Point, ...]
    extended: int
    left_out: Mapping[str, int]
    scores: tuple[float, ...]
    parameters: Mapping[str, int | None]
    """The number of parameters of each trial's network, by the hash of its config; None if unknown."""

    @property
    def best(self) -> float | None:
        """The best score of the curves that do not diverge, which a simulation can reach. None if all diverge."""
        scores = ([result.score for result in curve] for curve in self.curves.values())
        return max((max(each) for each in scores if each and all(map(math.isfinite, each))), default=None)


def recordings(record: StudyRecord, *, extrapolate: bool = False) -> Recordings:
    """Collect the curves of a study that can be replayed. Raises UserError if there are none.

    ``extrapolate``: whether to extend incomplete curves to the last epoch, except those that a fault ended. In the
    added epochs, a curve has its last score and its mean seconds per epoch. Seeds that a race did not train get the
    mean score of the trained seeds.
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
    """The curve of a trial as if all its seeds had been trained together.

    ``seeds``: the number of seeds of the curve. Seeds that the trial did not train get the mean of the trained seeds.
    ``further``: the names of the metrics to keep: the objectives other than the score.
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
    """A space with only the recorded points of a study. A point is removed once it is proposed (``take``). If a
    proposer composes another point, the nearest remaining point is returned instead.

    The distance of two points is a sum over the axes. An axis that is a choice contributes 0 for equal values, and
    otherwise 1. Any other axis contributes the difference of the coordinates (``Domain.coordinate``): for a range, the
    difference of the values as a fraction of the range (of logarithms for ``log``). An axis that only one of the points
    has contributes 1. Of equally near points, the first recorded is returned.
    """

    def __init__(self, config: SpaceConfig, points: Sequence[Point]) -> None:
        self._left = {canonical_json(point): point for point in points}
        super().__init__(config)
        self._whole = Space(config)
        self._texts = tuple(self._left)
        self._rows = {text: row for row, text in enumerate(self._texts)}
        # The remaining points, from which ``sample`` draws. When a point is taken, the last point moves to its index.
        self._places = list(self._texts)
        self._place_of = dict(self._rows)
        self._points_PA = np.array([self._coordinates(point) for point in self._left.values()])
        self._taken_P = np.zeros(len(self._left), dtype=bool)
        self._is_ordered_A = np.array([domain.ordered for domain in self.domains.values()])

    @property
    def finite(self) -> bool:
        """True, since a study has recorded finitely many points."""
        return True

    def everything(self) -> Iterator[Point]:
        """Yields the remaining points, sorted by their values on the axes."""
        texts = sorted(self._left, key=lambda text: self._order(self._left[text]))
        yield from (self._left[text] for text in texts if text in self._left)

    def refusal(self, point: Point) -> str | None:
        """The reason why a point is not allowed: it is not recorded, or already proposed. None if it is allowed."""
        return None if canonical_json(point) in self._left else "not a recorded trial that is left"

    def sample(self, generator: np.random.Generator) -> Point:
        """A random remaining point. Raises UserError if there is none."""
        if not self._left:
            raise UserError("no recorded trial is left (allowed: as many trials as were recorded)")
        return self._left[self._places[int(generator.integers(len(self._places)))]]

    def repaired(self, point: Point, generator: np.random.Generator) -> Point:
        """Return the point unchanged, since every recorded point satisfies the study's rules."""
        return point

    def one_at_a_time(self) -> Iterator[Point]:
        """Yields the remaining points among those of ``one_at_a_time`` in the study's full space."""
        return (point for point in self._whole.one_at_a_time() if self.allowed(point))

    def compose(self, choose: Callable[[str, Domain], Json]) -> Point:
        """The remaining point nearest to the point that ``choose`` composes in the study's full space."""
        wanted_A = np.array(self._coordinates(self._whole.compose(choose)))
        return self._left[self._nearest(wanted_A)]

    def take(self, event: Event) -> None:
        """Remove the point of a ``Proposed`` event; ignore other events. The driver calls this with every event."""
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
        apart_PA = np.where(self._is_ordered_A, apart_PA, apart_PA > 0)
        apart_PA = np.where(missing_PA | missing_A, missing_PA != missing_A, apart_PA)
        distance_P = np.where(self._taken_P, np.inf, apart_PA.sum(axis=1))
        return self._texts[int(np.argmin(distance_P))]

    def _coordinates(self, point: Point) -> list[float]:
        """The coordinate on each axis; NaN on an inactive one."""
        return [domain.coordinate(point[path]) if path in point else math.nan for path, domain in self.domains.items()]

    def _order(self, point: Point) -> tuple[tuple[bool, float], ...]:
        return tuple((not math.isnan(each), each if each == each else 0.0) for each in self._coordinates(point))
