"""Our own proposers and schedulers, called as the driver calls them."""

from time import process_time
from typing import Final, Literal

from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.proposers.config import EvolutionConfig, ModelBasedConfig, PlainProposerConfig
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    NeverStopConfig,
    SchedulerConfig,
)
from skipstack.spaces.space import Point, Space
from tests.benchmarks.field.race import Search

PROPOSERS: Final = {
    "TPE": ModelBasedConfig(kind="tpe"),
    "GP": ModelBasedConfig(kind="gp"),
    "random": PlainProposerConfig(kind="random"),
    "evolution": EvolutionConfig(),
}

SCHEDULERS: Final[dict[str, SchedulerConfig]] = {
    "nothing stopped": NeverStopConfig(),
    "ASHA": AshaConfig(),
    "ASHA with promotions": AshaConfig(variant="promotion"),
    "Hyperband": HyperbandConfig(),
}


class Ours(Search):
    """A proposer under a scheduler, for at most ``trials``. No trial is the base: none is spared."""

    def __init__(self, by: str, stopped: str, space: Space, *, seed: int, epochs: int, trials: int) -> None:
        self.seconds = 0.0
        self._proposer = proposer(PROPOSERS[by], space, seed=seed, objectives=1, trials=trials)
        self._scheduler = scheduler(SCHEDULERS[stopped], epochs, seeds=1)
        self._trials = trials
        self._points: dict[int, Point] = {}
        self._curves: dict[int, list[tuple[int, float]]] = {}

    def ask(self, number: int) -> Point | int | None:
        began = process_time()
        for beaten in self._scheduler.beaten():
            self._end(beaten, "stopped")
        asked = self._promoted(None)
        if asked is None and number < self._trials:
            asked = self._proposer.ask(number)
        if asked is None:
            asked = self._promoted(number)
        self.seconds += process_time() - began
        return asked

    def begin(self, number: int, point: Point) -> None:
        began = process_time()
        self._points[number], self._curves[number] = point, []
        self._proposer.proposed(number, point)
        self.seconds += process_time() - began

    def report(self, number: int, epoch: int, score: float) -> Literal["continue", "pause", "stop"]:
        began = process_time()
        self._curves[number].append((epoch, score))
        action = self._scheduler.report(number, epoch, score).action
        if action == "pause":
            self._proposer.paused(number, self._curves[number])
        elif action != "continue":
            self._end(number, "completed" if action == "complete" else "stopped")
        self.seconds += process_time() - began
        return "stop" if action == "complete" else action

    def _promoted(self, trials: int | None) -> int | None:
        number = self._scheduler.promotable(trials)
        if number is not None:
            self._scheduler.promoted(number)
            self._proposer.promoted(number, self._points[number])
        return number

    def _end(self, number: int, reason: Reason) -> None:
        self._scheduler.ended(number)
        self._proposer.ended(number, reason, self._curves[number])
