"""Simulated studies whose truth is known: what would really have come of going on, where they had enough."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skipstack.search.ledger.events import Ended, Gain, Proposed, Reason
from skipstack.search.strategy.objectives.stopping_rule import StoppingRule, StoppingRuleConfig

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

BEHIND: Final = 10.0
"""How far behind its final score a trial is that is stopped at the first rung."""

WORLDS: Final[dict[str, Draw]] = {
    "near a ceiling": lambda generator, number: -generator.exponential(size=number),
    "uniform": lambda generator, number: generator.uniform(-1.73, 1.73, size=number),
    "normal": lambda generator, number: generator.normal(size=number),
    "exponential": lambda generator, number: generator.exponential(size=number),
}
"""Scores of independent trials that deviate by 1, with tails no heavier than an exponential one."""

HEAVY: Final[dict[str, Draw]] = {
    "Student's t, 3 degrees": lambda generator, number: generator.standard_t(3, size=number),
    "one in 20 is far better": lambda generator, number: (
        generator.normal(size=number) + 10 * (generator.random(number) < 0.05)
    ),
}
"""Heavier tails, of which the past says too little."""

MOST: Final = 800
"""Trials of a study, at most."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A study that had enough after so many ``trials``: what it expected, and what an hour more would really have
    brought, in deviations of a seed.
    """

    trials: int
    expected: float
    truth: float


def stopped(scores: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.bool_]:
    """Which two thirds of the trials are stopped early: those whose first score, which is no good guide, is too low."""
    first = scores + generator.normal(size=len(scores)) * scores.std()
    return np.asarray(first < np.quantile(first, 2 / 3))


def trial(
    state: StoppingRule, number: int, time: float, seconds: float, by_seed: list[float], reason: Reason = "completed"
) -> None:
    """A trial that takes some seconds, and nothing else happens meanwhile."""
    state.happened(Proposed(time=time, trial=number, point={}, config_identity="", seeds=(0, 1)))
    state.happened(Ended(time=time + seconds, trial=number, reason=reason))
    state.left(number, reason, float(np.mean(by_seed)), by_seed)


def asked(
    scores: NDArray[np.float64],
    deviation: float,
    hourly: float,
    config: StoppingRuleConfig,
    behind: NDArray[np.bool_] | None = None,
) -> Iterator[Gain | None]:
    """After each trial, what is said. ``hourly``: trials an hour; ``behind``: which are stopped. The two seeds of a
    trial lie symmetrically around its score, so that the deviation of seeds is known exactly.
    """
    state, seconds, apart = StoppingRule(config), 3600 / hourly, deviation / 2**0.5
    ends: list[Reason] = ["completed"] * len(scores)
    if behind is not None:
        ends = ["stopped" if each else "completed" for each in behind]
    for number, (score, reason) in enumerate(zip(scores.tolist(), ends, strict=True)):
        trial(state, number, number * seconds, seconds, [score - apart, score + apart], reason)
        yield state.gain()


@cache
def endings(world: str, *, deviation: float, hourly: float, studies: int, stops: bool = False) -> tuple[Ending, ...]:
    """Many studies of a world; those that never had enough are left out. ``stops``: two in three trials are stopped."""
    draw = {**WORLDS, **HEAVY}[world]

    def drawn(generator: np.random.Generator, number: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        scores = draw(generator, number)
        behind = stopped(scores, generator) if stops else np.zeros(number, dtype=bool)
        return scores - BEHIND * behind, behind

    truth = np.sort(drawn(np.random.default_rng(1), 200_000)[0])
    found = []
    for study in range(studies):
        scores, behind = drawn(np.random.default_rng([2, study]), MOST)
        says = enumerate(asked(scores, deviation, hourly, StoppingRuleConfig(), behind), start=1)
        number, gain = next(((number, gain) for number, gain in says if gain is not None), (0, None))
        if gain is not None:
            really = further(truth, float(scores[:number].max()), round(hourly))
            found.append(Ending(number, gain.most / deviation, really / deviation))
    return tuple(found)


def further(truth: NDArray[np.float64], best: float, more: int) -> float:
    """E[max(0, max of ``more`` draws - ``best``)], the draws being from ``truth``, ascending."""
    place = int(np.searchsorted(truth, best, side="right"))
    below = np.arange(place, len(truth) + 1) / len(truth)
    return float((truth[place:] - best) @ np.diff(below**more))
