"""Searches over recorded trials: how often the effects that a report tells are right.

A search tries so many of the recorded trials, all to their ends: under ASHA too few are whole for any effect. The
effects of all trials of the recording are the truth; in units of the standard deviation of its final scores.

Array legend: N trials, K effects.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.effects import Effects, effects
from skipstack.search.analysis.exploration.levels import levels
from skipstack.spaces.space import Space
from tests.benchmarks.schedulers.methods import RECORDINGS, Recorded


@dataclass(frozen=True)
class Setting:
    """Searches of so many ``trials`` of a recording."""

    recording: str
    trials: int

    @property
    def name(self) -> str:
        """How a table calls it."""
        return f"{self.recording}, {self.trials} trials"


SETTINGS: Final = (
    Setting("quickstart-space", 16),
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
    standard deviations of final scores.
    """

    shown: int
    wrong: int
    held: float
    error: float
    nothing: float


def described(setting: Setting, repeats: int) -> Described:
    """How right the effects of such searches are."""
    recording = Trials.of(setting.recording)
    truth, usual = recording.effects.model, float(recording.scores.std(ddof=0))
    rows = []
    for searched in recording.searches(setting.trials, repeats):
        told = searched.effects.of
        for (axis, part), effect in told.items():
            true, _ = truth.effect(axis, part, [other for of, other in told if of == axis])
            rows.append((effect.value, true, effect.open, effect.low <= true <= effect.high))
    value_K, true_K, open_K, held_K = map(np.array, zip(*rows, strict=True))
    wrong_K = ~open_K & (np.sign(value_K) != np.sign(true_K))
    return Described(
        int((~open_K).sum()),
        int(wrong_K.sum()),
        float(held_K.mean()),
        float(np.sqrt(((value_K - true_K) ** 2).mean()) / usual),
        float(np.sqrt((true_K**2).mean()) / usual),
    )
