"""The searches that are compared: ours under each scheduler, and those of others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from skipstack.search.api.simulation.recordings import Recordings, recordings
from skipstack.search.api.simulation.repeats import Goal, goal_of
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.api.simulation.trajectory import Trajectory
from skipstack.search.ledger.events import Suggested
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
    SchedulerConfig,
)
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.benchmarks.rivals.replayed import Rival, replay
from tests.benchmarks.rivals.replayed_optuna import OptunaSearch
from tests.benchmarks.rivals.replayed_ray import RayAsha

RECORDINGS: Final = Path(__file__).parent / "recordings"

STUDIES: Final = ("quickstart-space", "shortcuts-grammar", "tagger-supertags", "tagger-slots", "tagger-chinese")
"""The recorded studies that the default was chosen on."""

OTHERS: Final = ("jumps-numbers", "recipe-agreement")
"""Those that it was not chosen on, of other spaces."""

WITHIN: Final = 0.1
"""Points."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded study, and what is to be found in it."""

    record: StudyRecord
    curves: Recordings
    goal: Goal

    @classmethod
    def of(cls, folder: Path) -> "Recorded":
        """The study in a folder."""
        record = read_study(folder)
        curves = recordings(record)
        return cls(record, curves, goal_of(record, curves, WITHIN / abs(record.measure.factor)))


Method = Callable[[Recorded, int, int], Trajectory]
"""A search over a recorded study with a seed and so many workers: its course."""


def ours(
    proposer: str,
    scheduler: SchedulerConfig,
    study: Recorded,
    seed: int,
    workers: int,
    suggested: Suggested | None = None,
) -> Trajectory:
    """Our own driver, proposer and scheduler; ``suggested``: what is tried first."""
    own = study.record.study.search
    search = SearchConfig.model_validate({**dict(own), "proposer": proposer, "scheduler": scheduler, "seed": seed})
    return simulate(study.record, study.curves, search, workers=workers, suggested=suggested).course


def rivals(make: Callable[[Recorded, int], Rival], study: Recorded, seed: int, workers: int) -> Trajectory:
    """Another library's search."""
    return replay(study.record.study.space, study.curves, make(study, seed), workers=workers)[0]


def _ray(reduction: int, study: Recorded, seed: int) -> Rival:
    return RayAsha(seed, epochs=study.record.study.space.base.epochs, reduction=reduction)


def _optuna(pruner: str, study: Recorded, seed: int) -> Rival:
    return OptunaSearch(pruner, seed)


DEFAULT: Final = "**the default: TPE, ASHA**"
KEPT: Final = "one epoch, keep the best three"
KEPT_ONE: Final = "one epoch, keep the best one"
GRID: Final = "the grid, nothing stopped"

METHODS: Final[dict[str, Method]] = {
    DEFAULT: partial(ours, "tpe", AshaConfig()),
    f"TPE, {KEPT}": partial(ours, "tpe", KeepBestConfig()),
    "random, ASHA": partial(ours, "random", AshaConfig()),
    "random, ASHA with promotions": partial(ours, "random", AshaConfig(variant="promotion")),
    "random, ASHA, grace 2, reduction 2": partial(ours, "random", AshaConfig(grace=2, reduction=2)),
    "random, ASHA, grace 3, reduction 2": partial(ours, "random", AshaConfig(grace=3, reduction=2)),
    f"random, {KEPT}": partial(ours, "random", KeepBestConfig()),
    f"random, {KEPT_ONE}": partial(ours, "random", KeepBestConfig(keep=1)),
    "random, Hyperband": partial(ours, "random", HyperbandConfig()),
    "random, median": partial(ours, "random", MedianConfig()),
    GRID: partial(ours, "random", NeverStopConfig()),
    "Optuna: TPE, median pruner": partial(rivals, partial(_optuna, "median pruner")),
    "Optuna: TPE, successive halving": partial(rivals, partial(_optuna, "successive halving")),
    "Ray Tune: random, ASHA": partial(rivals, partial(_ray, 4)),
    "Ray Tune: random, ASHA with our rungs": partial(rivals, partial(_ray, 3)),
}
