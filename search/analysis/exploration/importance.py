"""The importance of each axis, by Optuna's evaluator fANOVA, beside what it is by chance alone.

PED-ANOVA is not used. It compares the values of the best trials with those of all, and a proposer that learns draws
more of its later, better trials from where it looks: of twelve studies by TPE it put an axis of 11 % first in eleven.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any, Final

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from skipstack.search.analysis.exploration.levels import Domains
from skipstack.search.analysis.exploration.shuffled import Shuffled, limit
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real

COLUMNS: Final = ("axis", "trials", "fanova", "by_chance", "stands_out")

FOREST: Final = {"n_trees": 32, "max_depth": 5, "seed": 0}
"""The forest of fANOVA: small, since the time grows with its leaves. Larger ones change shares by about 0.02."""

MOST: Final = 200
"""The maximum number of trials, since the time grows with them: equally spaced ones by number."""


def load() -> None:
    """Import scikit-learn and the rest, which takes a second, while something else is waited for."""
    import optuna.importance  # noqa: F401 (imported for its side effect)


def importances(
    expected: "pd.Series[float]",
    trials: pd.DataFrame,
    domains: Domains,
    by_chance: Sequence[Shuffled],
) -> pd.DataFrame:
    """A row for each axis with more than one tried value, the most important first.

    ``expected``: the final score by trial (``additive_model.Fit``). ``by_chance``: the same search in which no axis
    matters. Column ``trials``: how many of the trials have the axis active.

    ``fanova``: the share of the variance of scores that the axis alone explains (Hutter et al., 2014), by a random
    forest. Its trees need every axis in every trial, so for a conditional axis they are grown from the trials in which
    it is active, on the axes that all these have; it is then a share of the variance among these trials.

    Column ``by_chance``: the mean of this share by chance. ``stands_out``: whether it is larger than the largest share
    of any axis by chance (``shuffled.limit``).
    """
    found = _shares(expected, trials, domains)
    if not found:
        return pd.DataFrame(columns=list(COLUMNS))
    dealt = [_shares(each.model.expected, each.points, domains) for each in by_chance]
    least = limit([np.nanmax([0.0, *shares.values()]) for shares in dealt])
    active = trials.loc[expected.index, list(found)].notna().sum()
    rows = [
        {
            "axis": axis,
            "trials": int(active[axis]),
            "fanova": found[axis],
            "by_chance": float(np.mean([shares.get(axis, np.nan) for shares in dealt])),
            "stands_out": found[axis] > least,
        }
        for axis in sorted(found, key=lambda axis: -np.nan_to_num(found[axis]))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _shares(expected: "pd.Series[float]", trials: pd.DataFrame, domains: Domains) -> dict[str, float]:
    """The share of each axis with more than one tried value."""
    tried = {axis: domain for axis, domain in domains.items() if trials.loc[expected.index, axis].nunique() > 1}
    if len(expected) <= 2:
        return {}
    active = trials.loc[expected.index, list(tried)].notna()
    sizes = {frozenset(active.index[active[axis]]) for axis in tried}
    shares: dict[str, float] = {}
    for numbers in sizes:
        of_these = trials.loc[sorted(numbers)]
        common = [axis for axis in tried if active.loc[list(of_these.index), axis].all()]
        varied = {axis: tried[axis] for axis in common if of_these[axis].nunique() > 1}
        found = _fanova(expected, of_these, varied) if varied and len(of_these) > 2 else {}
        shares |= {axis: found.get(axis, np.nan) for axis in tried if set(active.index[active[axis]]) == numbers}
    return shares


def _fanova(expected: "pd.Series[float]", trials: pd.DataFrame, axes: Domains) -> Mapping[str, float]:
    from optuna.importance import FanovaImportanceEvaluator

    drawn = _drawn(trials)
    if expected[drawn.index].nunique() < 2:
        return dict.fromkeys(axes, 0.0)
    return FanovaImportanceEvaluator(**FOREST).evaluate(_study(expected[drawn.index], drawn, axes), list(axes))


def _drawn(trials: pd.DataFrame) -> pd.DataFrame:
    return trials.iloc[np.unique(np.linspace(0, len(trials) - 1, min(len(trials), MOST)).astype(int))]


def _study(expected: "pd.Series[float]", trials: pd.DataFrame, axes: Domains) -> optuna.Study:
    """The trials as an Optuna study: a choice by the index of its value, ``Log`` by the logarithm."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    columns, distributions = {}, {}
    for axis, domain in axes.items():
        own = trials.loc[expected.index, axis]
        shown = sorted(own.dropna().unique().tolist(), key=str)
        columns[axis] = _numbers(own, domain, shown)
        distributions[axis] = _distribution(domain, len(shown))
    for score, row in zip(expected.tolist(), pd.DataFrame(columns).astype(object).to_dict("records"), strict=True):
        here = {str(axis): value for axis, value in row.items() if not pd.isna(value)}
        study.add_trial(
            create_trial(
                value=score,
                params={axis: _param(distributions[axis], value) for axis, value in here.items()},
                distributions={axis: distributions[axis] for axis in here},
            )
        )
    return study


def _numbers(column: "pd.Series[Any]", domain: Domain, shown: Sequence[Any]) -> "pd.Series[Any]":
    match domain:
        case Choice():
            return column.map({value: place for place, value in enumerate(shown)})
        case Log():
            return column.map(log)
        case _:
            return column


def _distribution(domain: Domain, values: int) -> BaseDistribution:
    match domain:
        case Choice():
            return CategoricalDistribution(tuple(range(values)))
        case Integer(low, high):
            return IntDistribution(low, high)
        case Real(low, high):
            return FloatDistribution(low, high)
        case Log(low, high):
            return FloatDistribution(log(low), log(high))


def _param(distribution: BaseDistribution, value: float) -> float | int:
    return value if isinstance(distribution, FloatDistribution) else int(value)
