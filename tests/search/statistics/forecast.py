"""How often the gain of further trials stays below what a report says of it, by proposer.

A search of ``TRIALS`` is looked at after fewer: what would have been said there is compared with what came.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from statistics import fmean
from typing import Final

import pandas as pd

from skipstack.search.analysis.exploration.budgets import continued
from skipstack.search.api.simulation.simulation import simulated
from skipstack.search.strategy.schedulers.config import AshaConfig, NeverStopConfig, SchedulerConfig
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord
from tests.benchmarks.schedulers.methods import RECORDINGS, STUDIES, Recorded
from tests.search.statistics.named import PLANTED
from tests.search.statistics.searched import Formula, Places

TRIALS: Final = 48
LOOKS: Final = (16, 32)
"""After so many trials it is asked what half as many again would bring."""

SEARCHES: Final = {"random": 60, "tpe": 20, "evolution": 20, "gp": 5}
"""Of each formula, and of all recordings together, by proposer."""


def _bowl(places: Places) -> float:
    return -sum((place - 0.37) ** 2 for place in places.values())


BOWL: Final = Formula("a bowl", {f"number {axis}": {"real": [0.0, 1.0]} for axis in range(6)}, _bowl, 0.02)
"""Of six numbers; all that chance adds is less than what a proposer can learn."""


@dataclass(frozen=True)
class Looked:
    """What was said after some trials, and what came: the gain of half as many again. ``of``: the kind of search."""

    of: str
    most: float
    gain: float

    @property
    def held(self) -> bool:
        """Whether no more came than was said, up to rounding."""
        return self.gain <= self.most + 1e-12


@dataclass(frozen=True)
class Forecasts:
    """Shares of looks at which no more came than was said: at formulas, and at recordings in which nothing is stopped,
    and under ASHA; ``held``: of all. ``gain``: the mean of what came as a multiple of the mean of what was said, the
    mean over the kinds of searches.
    """

    formulas: float
    recorded: float
    stopped: float
    held: float
    gain: float


@cache
def forecasts(proposer: str) -> Forecasts:
    """What came of what is said of searches by a proposer."""
    seeds = range(SEARCHES[proposer])
    formulas = [
        looked
        for formula in (BOWL, PLANTED)
        for seed in seeds
        for looked in _looks(formula.name, formula.searched(proposer, TRIALS, seed=seed))
    ]
    recorded, stopped = (
        [
            looked
            for seed in seeds
            for study in [STUDIES[seed % len(STUDIES)]]
            for looked in _looks(f"{study}, {scheduler.kind}", _replayed(study, proposer, scheduler, seed))
        ]
        for scheduler in (NeverStopConfig(), AshaConfig())
    )
    frame = pd.DataFrame([asdict(looked) for looked in (*formulas, *recorded, *stopped)])
    means = frame.groupby("of").mean()
    formula_share, recorded_share, stopped_share = (
        fmean(looked.held for looked in each) for each in (formulas, recorded, stopped)
    )
    return Forecasts(
        formulas=formula_share,
        recorded=recorded_share,
        stopped=stopped_share,
        held=fmean(looked.held for looked in (*formulas, *recorded, *stopped)),
        gain=float((means["gain"] / means["most"]).mean()),
    )


def _looks(name: str, search: StudyRecord) -> Iterator[Looked]:
    scores = [trial.score for trial in search.trials.values()]
    known = [score for score in scores if score is not None]
    assert len(known) == TRIALS
    for trials in LOOKS:
        said, then = continued(known[:trials], 0.0, None, proposer="random"), max(known[: trials + trials // 2])
        assert said is not None
        assert said.most is not None
        yield Looked(f"{name}, {trials}", said.most, then - max(known[:trials]))


def _replayed(study: str, proposer: str, scheduler: SchedulerConfig, seed: int) -> StudyRecord:
    recorded = Recorded.of(RECORDINGS / study)
    told = {"proposer": proposer, "scheduler": scheduler, "seed": seed, "trials": TRIALS}
    search = SearchConfig.model_validate({**dict(recorded.record.study.search), **told})
    return simulated(recorded.record, recorded.curves, search, workers=1).record
