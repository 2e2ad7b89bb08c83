"""How often a search names an axis, or a pair of values, where none matters, and whether it names the right one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.trial import create_trial

from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.api.study import exploration_of
from skipstack.search.study.record.domain_parts import RANGES
from skipstack.spaces.domains import Choice
from tests.search.statistics.searched import Formula, Places

AXES: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "depth": {"choice": [1, 2, 3]},
    "gate": {"choice": ["none", "sigmoid"]},
    "width": {"choice": [50, 100, 150, 200]},
    "rate": {"real": [0.0, 1.0]},
    "dropout": {"real": [0.0, 1.0]},
}

SHARES: Final = {"width": 0.47, "rate": 0.31, "depth": 0.11}
"""Of the variance of scores among points at random; noise has the rest."""


def _nothing(places: Places) -> float:
    return 0.0


def _planted(places: Places) -> float:
    """Each axis adds a straight line."""
    spread = {"width": sqrt(5 / 36), "rate": sqrt(1 / 12), "depth": sqrt(1 / 6)}
    return sum(sqrt(share) * (places[axis] - 0.5) / spread[axis] for axis, share in SHARES.items())


NOISE: Final = Formula("nothing matters", AXES, _nothing, 1.0)
PLANTED: Final = Formula("width 47 %, rate 31 %, depth 11 %", AXES, _planted, sqrt(1 - sum(SHARES.values())))


@dataclass(frozen=True)
class Asked:
    """Searches of so many trials of a formula; ``stops``: under ASHA."""

    formula: Formula
    proposer: str
    trials: int
    searches: int
    stops: bool = False

    @property
    def name(self) -> str:
        """How a table calls them."""
        return f"{self.formula.name}: {self.trials:,} trials, {self.proposer}{', ASHA' if self.stops else ''}"


WAYS: Final = (("random", False), ("tpe", False), ("tpe", True))

ASKED: Final = (
    *(Asked(NOISE, proposer, 16, 75, stops) for proposer, stops in WAYS),
    *(Asked(NOISE, proposer, 100, 28, stops) for proposer, stops in WAYS),
    Asked(NOISE, "tpe", 1_000, 2),
    Asked(NOISE, "tpe", 10_000, 1),  # some twenty minutes: the proposer's time grows with the square of the trials
    Asked(NOISE, "random", 10_000, 2),
    *(Asked(PLANTED, proposer, 16, 30) for proposer in ("random", "tpe")),
    *(Asked(PLANTED, proposer, 48, 14, stops) for proposer, stops in WAYS),
)


@dataclass(frozen=True)
class Named:
    """Shares of searches. ``wrong_before``: in which the axis that version 0.2.0 said to matter most is not the one
    that does; ``wrong``: in which the first axis that is named now is not; ``idle``: in which an axis is named that
    does nothing; ``pair``: in which a pair is named, although no pair has more than the sum of its effects.

    ``found``: the share of axes that do something and are named; None where none does. ``signs``, ``wrong_signs``: of
    effects, how many have one, and how many of these not the truth's.
    """

    wrong_before: float
    wrong: float
    idle: float
    found: float | None
    pair: float
    signs: int
    wrong_signs: int


def named(asked: Asked) -> Named:
    """What is said of such searches."""
    frame = pd.DataFrame([said(asked, seed) for seed in range(asked.searches)]).astype(float)
    means = frame.mean()
    return Named(
        wrong_before=means["wrong_before"],
        wrong=means["wrong"],
        idle=means["idle"],
        found=None if np.isnan(means["found"]) else means["found"],
        pair=means["pair"],
        signs=int(frame["signs"].sum()),
        wrong_signs=int(frame["wrong_signs"].sum()),
    )


def said(asked: Asked, seed: int) -> Mapping[str, float]:
    """What is said of one such search, by the names of ``Named``."""
    does = sorted(SHARES, key=lambda axis: -SHARES[axis]) if asked.formula == PLANTED else []
    seen = exploration_of(asked.formula.searched(asked.proposer, asked.trials, stops=asked.stops, seed=seed))
    before = most_before(seen)
    told = seen.importances.loc[seen.importances["stands_out"], "axis"].tolist()
    signs = [
        np.sign(effect.value) == np.sign(_true(asked.formula, seen, axis, part))
        for (axis, part), effect in seen.effects.of.items()
        if not effect.open
    ]
    return {
        "wrong_before": before not in (None, *does[:1]),
        "wrong": told[:1] != [] and told[:1] != does[:1],
        "idle": bool(set(told) - set(does)),
        "found": float(np.mean([axis in told for axis in does])) if does else np.nan,
        "pair": bool(seen.pairs["stands_out"].any()),
        "signs": len(signs),
        "wrong_signs": signs.count(False),
    }


def _true(formula: Formula, seen: Exploration, axis: str, part: int) -> float:
    """The effect of a part relative to the mean of those that are told; 0 up to rounding is 0."""
    places = {one: _middle(axis, one) for of, one in seen.effects.of if of == axis}
    worth = {one: formula.worth(dict.fromkeys(AXES, 0.5) | {axis: place}) for one, place in places.items()}
    return round(worth[part] - float(np.mean(list(worth.values()))), 9)


def _middle(axis: str, part: int) -> float:
    """The mean place of a part: of a number's ranges there are ``RANGES``."""
    values = AXES[axis].get("choice")
    return (part + 0.5) / RANGES if values is None else part / (len(values) - 1)


def most_before(seen: Exploration) -> str | None:
    """The axis that version 0.2.0 said to matter most: that with the largest mean of its shares by PED-ANOVA and by
    fANOVA; None if it said nothing.
    """
    expected, axes = seen.effects.model.expected, seen.domains
    tried = [axis for axis in axes if seen.seen.points.loc[expected.index, axis].nunique() > 1]
    if not tried:
        return None
    points = seen.seen.points.loc[expected.index, tried]
    distributions: dict[str, BaseDistribution] = {}
    for axis in tried:
        domain = axes[axis]
        distributions[axis] = (
            CategoricalDistribution(domain.values) if isinstance(domain, Choice) else FloatDistribution(0.0, 1.0)
        )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = points.iloc[np.unique(np.linspace(0, len(points) - 1, min(len(points), 1000)).astype(int))]
    for number, row in zip(drawn.index, drawn.astype(object).to_dict("records"), strict=True):
        params = {str(axis): value for axis, value in row.items()}
        study.add_trial(create_trial(value=float(expected[number]), params=params, distributions=distributions))
    best = PedAnovaImportanceEvaluator(target_quantile=max(0.1, min(5 / len(drawn), 0.5))).evaluate(study, tried)
    whole = sum(best.values()) or 1.0
    fanova = dict(zip(seen.importances["axis"], seen.importances["fanova"], strict=True))
    return max(tried, key=lambda axis: best[axis] / whole + fanova.get(axis, 0.0))
