"""Other libraries' searches over recorded curves, on the simulated clock that ours have.

A rival chooses points and says after each epoch whether a trial goes on, by its own objects. It knows what a search in
earnest would know: the space, and of each trial the scores so far. As in our simulations, what it asks for becomes the
nearest recorded trial that it has not had.
"""

import heapq
import math
from abc import ABC, abstractmethod

from skipstack.search.api.simulation.recordings import RecordedSpace, Recordings
from skipstack.search.api.simulation.trajectory import Moment, Trajectory
from skipstack.search.ledger.events import Proposed
from skipstack.search.study.task import EpochResult
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.space import Point


class Rival(ABC):
    """A search by another library. ``begin`` is called for each trial, then ``goes_on`` after each epoch but the last,
    and ``end`` once it is over.
    """

    @abstractmethod
    def begin(self, number: int, space: RecordedSpace) -> Point:
        """The point of trial ``number``."""

    @abstractmethod
    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        """Whether the trial trains on."""

    @abstractmethod
    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        """The trial is over, having reported ``scores``."""


def replay(config: SpaceConfig, recorded: Recordings, rival: Rival, *, workers: int = 1) -> tuple[Trajectory, int]:
    """What the rival would have returned, the best trial that it has seen, at each moment; and its epochs in all.

    All recorded trials are had, one after another as workers become free. An epoch takes the seconds that it took.
    """
    space = RecordedSpace(config, recorded.points)
    running: list[tuple[float, int, int]] = []
    curves: dict[int, tuple[EpochResult, ...]] = {}
    scores: dict[int, list[float]] = {}
    moments: list[Moment] = []
    now, epochs, begun, best = 0.0, 0, 0, -math.inf

    def train(number: int) -> None:
        nonlocal begun
        begun += 1
        heapq.heappush(running, (now + curves[number][len(scores[number])].seconds, begun, number))

    while True:
        while len(running) < workers and len(curves) < len(recorded.points):
            number = len(curves)
            point = rival.begin(number, space)
            identity = space.config(point).identity
            space.take(Proposed(time=now, trial=number, point=point, config_identity=identity, seeds=()))
            curves[number], scores[number] = recorded.curves[identity], []
            train(number)
        if not running:
            return Trajectory(tuple(moments)), epochs
        now, _, number = heapq.heappop(running)
        score = curves[number][len(scores[number])].score
        assert math.isfinite(score), "recordings of searches that are compared have no trial that diverged"
        epochs += 1
        scores[number].append(score)
        if score > best:
            best = score
            moments.append(Moment(epochs, now, best))
        whole = len(scores[number]) == len(curves[number])
        if not whole and rival.goes_on(number, len(scores[number]), score):
            train(number)
        else:
            rival.end(number, scores[number], stopped=not whole)
