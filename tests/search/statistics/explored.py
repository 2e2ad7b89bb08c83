"""Searches over recorded trials: how often the effects that a report tells are right.

A search tries recorded trials in a random order under a scheduler. All trials of a recording are whole, so the effects
of all of them are the truth; in units of the standard deviation of the recording's final scores.

Array legend: N trials, E epochs, K effects.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.additive_model import Fit, fit
from skipstack.search.analysis.exploration.effects import Effects, effects
from skipstack.search.analysis.exploration.levels import levels
from skipstack.search.schedulers.build import scheduler
from skipstack.search.schedulers.config import AshaConfig, NeverStopConfig, SchedulerConfig
from skipstack.spaces.space import Space
from tests.benchmarks.schedulers.methods import RECORDINGS, Recorded

Array = np.ndarray


@dataclass(frozen=True)
class Setting:
    """Searches of so many ``trials`` of a recording, under ASHA or without stopping."""

    recording: str
    trials: int
    stops: bool = True

    @property
    def name(self) -> str:
        """How a table calls it."""
        how = "ASHA" if self.stops else "nothing stopped"
        return f"{self.recording}, {self.trials} trials, {how}"

    @property
    def scheduler(self) -> SchedulerConfig:
        """The scheduler."""
        return AshaConfig() if self.stops else NeverStopConfig()


SETTINGS: Final = (
    Setting("quickstart-space", 16, stops=False),
    *(
        Setting(recording, 32, stops=False)
        for recording in ("quickstart-space", "shortcuts-grammar", "tagger-supertags", "tagger-slots", "tagger-chinese")
    ),
)
"""Those in which a value has an effect: of 16 or 48 trials under ASHA no recording has enough whole ones."""


@dataclass(frozen=True)
class Recording:
    """``curves_NE``: scores of all trials by epoch; ``points``, ``parts``: their values and parts, by axis."""

    curves_NE: Array
    points: pd.DataFrame
    parts: pd.DataFrame
    space: Space
    base: int

    @classmethod
    @cache
    def of(cls, name: str) -> "Recording":
        """The recording of this name."""
        recorded = Recorded.of(RECORDINGS / name)
        trials = list(recorded.record.trials.values())
        space = Space(recorded.record.study.space)
        texts = pd.DataFrame({"point": [json.dumps(trial.point) for trial in trials]})
        curves = [[each.score for each in recorded.curves.curves[trial.config.identity]] for trial in trials]
        base = recorded.record.base
        assert base is not None
        return cls(
            np.array(curves),
            pd.DataFrame([dict(trial.point) for trial in trials]).reindex(columns=list(space.domains)),
            levels(texts, space.domains),
            space,
            next(place for place, trial in enumerate(trials) if trial.config.identity == base.config.identity),
        )

    @property
    def truth(self) -> Fit:
        """The model of all trials."""
        scores = pd.Series(self.curves_NE.max(axis=1))
        return fit(scores, scores.notna(), pd.DataFrame({1: scores}), self.parts)


@dataclass(frozen=True)
class Searched:
    """What a search saw, trial by trial."""

    trials: pd.DataFrame
    whole: "pd.Series[bool]"
    reached: pd.DataFrame
    parts: pd.DataFrame

    @property
    def effects(self) -> Effects:
        """Its effects."""
        return effects(self.trials["score"], self.whole, self.reached, self.parts)


def searches(setting: Setting, repeats: int) -> Iterator[Searched]:
    """Searches in different orders of the recorded trials, the base first and never stopped."""
    recording = Recording.of(setting.recording)
    for repeat in range(repeats):
        source = np.random.default_rng([repeat, setting.trials])
        others = [place for place in source.permutation(len(recording.curves_NE)) if place != recording.base]
        order = np.array([recording.base, *others[: setting.trials - 1]])
        curves_NE = recording.curves_NE[order]
        ends = np.array(_ends(curves_NE.tolist(), setting.scheduler))
        epochs = np.arange(1, curves_NE.shape[1] + 1)
        reached = pd.DataFrame(np.maximum.accumulate(curves_NE, axis=1), columns=epochs).where(epochs <= ends[:, None])
        trials = recording.points.iloc[order].reset_index(drop=True).assign(score=reached.max(axis=1))
        parts = recording.parts.iloc[order].reset_index(drop=True)
        yield Searched(trials, pd.Series(ends == len(epochs)), reached, parts)


def _ends(curves: Sequence[Sequence[float]], config: SchedulerConfig) -> list[int]:
    """After how many epochs each trial ends, by one worker."""
    judge, ends = scheduler(config, len(curves[0]), frozenset([0]), seeds=1), [0] * len(curves)
    for number, curve in enumerate(curves):
        for epoch, score in enumerate(curve, start=1):
            ends[number] = epoch
            if judge.report(number, epoch, score).action != "continue":
                break
    return ends


@dataclass(frozen=True)
class Described:
    """``told``: the share of searches with any effect; ``shown``: how many effects have a sign, ``wrong``: how many of
    these not the truth's; ``held``: the share of true effects within their bands; ``error``: of effects, ``nothing``:
    of 0 in their place, root mean squares in standard deviations of final scores.
    """

    told: float
    shown: int
    wrong: int
    held: float
    error: float
    nothing: float


def described(setting: Setting, repeats: int) -> Described:
    """How right the effects of such searches are."""
    recording = Recording.of(setting.recording)
    truth, usual = recording.truth, float(recording.curves_NE.max(axis=1).std())
    told, rows = 0, []
    for searched in searches(setting, repeats):
        found = searched.effects
        told += bool(found.of)
        for (axis, part), effect in found.of.items():
            among = [other for of, other in found.of if of == axis]
            true, _ = truth.effect(axis, part, among)
            rows.append((effect.value, true, effect.open, effect.low <= true <= effect.high))
    if not rows:
        return Described(0.0, 0, 0, np.nan, np.nan, np.nan)
    value_K, true_K, open_K, held_K = map(np.array, zip(*rows, strict=True))
    wrong_K = ~open_K & (np.sign(value_K) != np.sign(true_K))
    return Described(
        told / repeats,
        int((~open_K).sum()),
        int(wrong_K.sum()),
        float(held_K.mean()),
        float(np.sqrt(((value_K - true_K) ** 2).mean()) / usual),
        float(np.sqrt((true_K**2).mean()) / usual),
    )
