"""Our schedulers over many random orders of the recorded trials: a plain engine with one worker, and no driver.

An order costs a twentieth of a simulation, so that there can be many: a median of 20 leaves some points of share open.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

import numpy as np

from skipstack.search.api.simulation.trajectory import ROUNDING
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
    SchedulerConfig,
)
from tests.benchmarks.schedulers.measured import Found
from tests.benchmarks.schedulers.methods import KEPT, KEPT_ONE, RECORDINGS, STUDIES, Recorded

ORDERS: Final = 200

SCHEDULERS: Final[dict[str, SchedulerConfig]] = {
    "ASHA": AshaConfig(),
    "ASHA with promotions": AshaConfig(variant="promotion"),
    "ASHA, reduction 2": AshaConfig(reduction=2),
    "ASHA, reduction 4": AshaConfig(reduction=4),
    "ASHA, grace 2, reduction 2": AshaConfig(grace=2, reduction=2),
    "ASHA, grace 3, reduction 2": AshaConfig(grace=3, reduction=2),
    KEPT: KeepBestConfig(),
    KEPT_ONE: KeepBestConfig(keep=1),
    "Hyperband": HyperbandConfig(),
    "median": MedianConfig(),
    "nothing stopped": NeverStopConfig(),
}

Curves = Sequence[Sequence[float]]


def heard(curves: Curves, config: SchedulerConfig, *, spared: Iterable[int] = ()) -> list[float]:
    """Every score in the order in which the scheduler hears of it, the trials being proposed in their order."""
    judge = scheduler(config, len(curves[0]), frozenset(spared), seeds=1)
    epochs, scores, begun = [0] * len(curves), [], 0
    while True:
        for number in judge.beaten():
            judge.ended(number)
        number = judge.promotable()
        if number is None and begun < len(curves):
            number, begun = begun, begun + 1
        else:
            number = judge.promotable(len(curves)) if number is None else number
            if number is None:
                return scores
            judge.promoted(number)
        action = "continue"
        while action == "continue":
            epochs[number] += 1
            scores.append(curves[number][epochs[number] - 1])
            action = judge.report(number, epochs[number], scores[-1]).action


def found(study: str, method: str, orders: int = ORDERS) -> Found:
    """A scheduler on a study over random orders, the base first and spared, as in real studies."""
    recorded = Recorded.of(RECORDINGS / study)
    base = recorded.record.base
    assert base is not None
    own = base.config.identity
    others = [[result.score for result in curve] for name, curve in recorded.curves.curves.items() if name != own]
    first, goal = [result.score for result in recorded.curves.curves[own]], recorded.goal
    until, regret = [], []
    for order in range(orders):
        source = np.random.default_rng(order)
        curves = [first, *(others[place] for place in source.permutation(len(others)))]
        best_N = np.maximum.accumulate(heard(curves, SCHEDULERS[method], spared=[0]))
        (near,) = np.nonzero(best_N >= goal.best - goal.within - ROUNDING)
        until.append((int(near[0]) + 1) / goal.grid if len(near) else math.inf)
        regret.append(goal.best - float(best_N[min(len(best_N), goal.grid // 5) - 1]))
    factor = abs(recorded.record.measure.factor)
    return Found(study, method, tuple(until), tuple(factor * each for each in regret))


def many_orders(studies: Iterable[str] = STUDIES) -> list[Found]:
    """All schedulers on these studies."""
    return [found(study, method) for method, study in product(SCHEDULERS, studies)]
