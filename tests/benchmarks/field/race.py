"""The race: a search trains the points of a task on a simulated clock, with one worker or several.

Every search, ours and others', is a ``Search``, and is told of nothing but the axes and of the scores so far.
"""

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from skipstack.data.basis.seeding import generator
from skipstack.spaces.space import Point, Space

WITHIN: Final = 1e-12
"""Regrets that differ by at most this are equal."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What a training at a point gives, epoch by epoch; higher scores are better.

    ``scores``: what a search is told, of one random replicate. ``truths``: the means over all replicates. ``seconds``:
    the cost.
    """

    scores: Sequence[float]
    truths: Sequence[float]
    seconds: Sequence[float]


class Task(Protocol):
    """Something to search.

    ``epochs``: those of a whole training; 1 without a curve. ``best``: the best truth of any point at any epoch.
    ``scale``: the regret that only 1 % of random points do not exceed; if there are fewer than 100 points, that of the
    median point. ``trials``: how many there can be; None if there is no end. ``budget``: the cost at which a race with
    stopping ends.
    """

    name: str
    space: Space
    epochs: int
    best: float
    scale: float
    trials: int | None
    budget: float

    def begun(self, point: Point) -> Point:
        """The point that is trained when ``point`` is asked for; another one where only some points are recorded."""

    def curve(self, point: Point, replicate: float) -> Curve:
        """Train at a point. ``replicate``: a number from 0 to 1 that chooses the replicate."""


class Search(ABC):
    """A search. It is asked for a point for each trial, and answers each report of a trial."""

    seconds: float
    """Of a processor that the search itself has taken so far."""

    @abstractmethod
    def ask(self, number: int) -> Point | int | None:
        """What a free worker trains: a point, as trial ``number``; or the number of a paused trial, which goes on; or
        None, if nothing is left or a running trial has to report first.
        """

    @abstractmethod
    def begin(self, number: int, point: Point) -> None:
        """Trial ``number`` begins at ``point``, which may differ from what was asked for."""

    @abstractmethod
    def report(self, number: int, epoch: int, score: float) -> Literal["continue", "pause", "stop"]:
        """Answer a report. The answer does not matter after the last epoch: the trial is over."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A change of the regret. ``reports``: the epochs of all trials so far. ``cost``: their seconds."""

    reports: int
    cost: float
    regret: float


@dataclass(frozen=True, slots=True)
class Course:
    """What a search would have returned, over time: the trial with the best score so far, by its truth.

    ``seconds``: of a processor, by the search itself. ``asked``: points.
    """

    moments: tuple[Moment, ...]
    seconds: float
    asked: int

    def after(self, *, reports: float = math.inf, cost: float = math.inf) -> float:
        """The regret after so many reports and so much cost. Infinite before the first report."""
        past = [each.regret for each in self.moments if each.reports <= reports and each.cost <= cost]
        return past[-1] if past else math.inf

    def until(self, regret: float) -> float:
        """The cost from which on the regret is at most this. Infinite if it never is."""
        found = math.inf
        for moment in self.moments:
            if moment.regret > regret + WITHIN:
                found = math.inf
            elif math.isinf(found):
                found = moment.cost
        return found


def race(search: Search, task: Task, *, seed: int, workers: int, budget: float = math.inf) -> Course:
    """Run a search until it has no more to train, or until the cost reaches ``budget``.

    A free worker asks at once; an epoch takes the task's seconds, everything else no time. Reports at the same time
    come in the order in which their epochs began. The replicate of a trial follows from the seed and the trial's
    number, so that it is the same for all searches.
    """
    curves: dict[int, Curve] = {}
    epochs: dict[int, int] = {}
    running: list[tuple[float, int, int]] = []
    moments: list[Moment] = []
    now, order, cost, reports, best = 0.0, 0, 0.0, 0, -math.inf

    def train(number: int) -> None:
        nonlocal order
        order += 1
        heapq.heappush(running, (now + curves[number].seconds[epochs[number]], order, number))

    while True:
        while len(running) < workers:
            asked = search.ask(len(curves))
            if asked is None:
                break
            number = asked if isinstance(asked, int) else len(curves)
            if not isinstance(asked, int):
                point = task.begun(asked)
                search.begin(number, point)
                curves[number] = task.curve(point, generator(seed, "replicate", number).random())
                epochs[number] = 0
            train(number)
        if not running or cost >= budget:
            return Course(tuple(moments), search.seconds, len(curves))
        now, _, number = heapq.heappop(running)
        curve, epoch = curves[number], epochs[number]
        epochs[number] += 1
        cost += curve.seconds[epoch]
        reports += 1
        if curve.scores[epoch] > best:
            best = curve.scores[epoch]
            regret = task.best - curve.truths[epoch]
            if not moments or regret != moments[-1].regret:
                moments.append(Moment(reports, cost, regret))
        if search.report(number, epoch + 1, curve.scores[epoch]) == "continue" and epochs[number] < len(curve.scores):
            train(number)
