"""Searches over recorded trials: how often the effects that a report tells are right.

A search tries so many of the recorded trials. The effects of all trials of the recording are the truth; in units of
the standard deviation of its final scores.

Array legend: N trials, K effects.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.additive_model import Key
from skipstack.search.analysis.exploration.effects import Effect, Effects, effects
from skipstack.search.analysis.exploration.levels import levels
from skipstack.search.api.simulation.simulation import simulated
from skipstack.search.strategy.schedulers.config import AshaConfig, NeverStopConfig
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Space
from tests.benchmarks.schedulers.methods import RECORDINGS, Recorded


@dataclass(frozen=True)
class Setting:
    """Searches of so many ``trials`` of a recording; without a ``proposer`` at random, the base among them. Without a
    ``scheduler`` nothing is stopped.
    """

    recording: str
    trials: int
    proposer: str | None = None
    scheduler: AshaConfig | None = None

    @property
    def name(self) -> str:
        """How a table calls it."""
        told = [f"{self.recording}, {self.trials} trials", *([self.proposer] if self.proposer else [])]
        if self.scheduler is not None:
            told.append(f"ASHA of grace {self.scheduler.grace}, reduction {self.scheduler.reduction}")
        return ", ".join(told)


SETTINGS: Final = (
    Setting("quickstart-space", 16),
    Setting("quickstart-space", 16, "tpe"),
    Setting("quickstart-space", 16, "tpe", AshaConfig(grace=2, reduction=2)),
    Setting("quickstart-space", 48, "tpe", AshaConfig()),
    *(
        Setting(recording, 32)
        for recording in ("quickstart-space", "shortcuts-grammar", "tagger-supertags", "tagger-slots", "tagger-chinese")
    ),
)


@dataclass(frozen=True)
class Trials:
    """Trials that were trained to their ends: final scores, and parts by axis. ``base``: the place of the base."""

    scores: "pd.Series[float]"
    parts: pd.DataFrame
    base: int = 0

    @classmethod
    @cache
    def of(cls, name: str) -> "Trials":
        """Those of the recording of this name."""
        recorded = Recorded.of(RECORDINGS / name)
        trials = list(recorded.record.trials.values())
        base = recorded.record.base
        assert base is not None
        return cls(
            pd.Series([max(each.score for each in recorded.curves.curves[trial.config.identity]) for trial in trials]),
            levels(
                pd.DataFrame({"point": [json.dumps(trial.point) for trial in trials]}),
                Space(recorded.record.study.space).domains,
            ),
            next(place for place, trial in enumerate(trials) if trial.config.identity == base.config.identity),
        )

    def searches(self, trials: int, repeats: int) -> Iterator["Trials"]:
        """So many of them, the base among them."""
        for repeat in range(repeats):
            source = np.random.default_rng([repeat, trials])
            others = [place for place in source.permutation(len(self.scores)) if place != self.base]
            chosen = [self.base, *others[: trials - 1]]
            yield Trials(self.scores.iloc[chosen], self.parts.iloc[chosen])

    @property
    def effects(self) -> Effects:
        """Their effects."""
        return effects(self.scores, self.scores.notna(), pd.DataFrame({1: self.scores}), self.parts)


@dataclass(frozen=True)
class Described:
    """``shown``: how many effects have a sign, ``wrong``: how many of these not the truth's; ``held``: the share of
    true effects within their bands; ``error``: of effects, ``nothing``: of 0 in their place, root mean squares in
    standard deviations of final scores; None if no search has any effect.
    """

    shown: int
    wrong: int
    held: float | None
    error: float | None
    nothing: float | None


def described(setting: Setting, repeats: int) -> Described:
    """How right the effects of such searches are."""
    recording = Trials.of(setting.recording)
    truth, usual = recording.effects.model, float(recording.scores.std(ddof=0))
    rows = []
    for told in _told(setting, recording, repeats):
        for (axis, part), effect in told.items():
            true, _ = truth.effect(axis, part, [other for of, other in told if of == axis])
            rows.append((effect.value, true, effect.open, effect.low <= true <= effect.high))
    if not rows:
        return Described(0, 0, None, None, None)
    value_K, true_K, open_K, held_K = map(np.array, zip(*rows, strict=True))
    wrong_K = ~open_K & (np.sign(value_K) != np.sign(true_K))
    return Described(
        int((~open_K).sum()),
        int(wrong_K.sum()),
        float(held_K.mean()),
        float(np.sqrt(((value_K - true_K) ** 2).mean()) / usual),
        float(np.sqrt((true_K**2).mean()) / usual),
    )


def _told(setting: Setting, recording: Trials, repeats: int) -> Iterator[Mapping[Key, Effect]]:
    """The effects that each search tells."""
    if setting.proposer is None:
        for searched in recording.searches(setting.trials, repeats):
            yield searched.effects.of
        return
    recorded = Recorded.of(RECORDINGS / setting.recording)
    own = dict(recorded.record.study.search)
    told = {"proposer": setting.proposer, "scheduler": setting.scheduler or NeverStopConfig(), "trials": setting.trials}
    for seed in range(repeats):
        search = SearchConfig.model_validate({**own, **told, "seed": seed})
        yield _seen(simulated(recorded.record, recorded.curves, search, workers=1).record).of


def _seen(record: StudyRecord) -> Effects:
    """The effects of a search, as its report has them."""
    trials = list(record.trials.values())
    curves = {trial.number: {report.epoch: report.score for report in trial.reports} for trial in trials}
    index = [trial.number for trial in trials]
    points = pd.DataFrame({"point": [json.dumps(trial.point) for trial in trials]}, index=index)
    return effects(
        pd.Series([trial.score for trial in trials], index=index, dtype=float),
        pd.Series([trial.reason == "completed" for trial in trials], index=index),
        pd.DataFrame.from_dict(curves, orient="index").sort_index(axis=1).cummax(axis=1),
        levels(points, Space(record.study.space).domains),
    )
