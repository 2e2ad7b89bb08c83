"""The importance of each axis, by Optuna's evaluators PED-ANOVA and fANOVA."""

import warnings
from collections.abc import Mapping, Sequence
from math import log
from typing import Any, Final

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from skipstack.search.analysis.exploration.levels import Domains
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real

COLUMNS: Final = ("axis", "trials", "ped_anova", "fanova")

TOP: Final = 5
"""The minimum number of best trials in PED-ANOVA (Optuna's advice), but at most half of all."""

TENTH: Final = 0.1
"""The share of best trials if there are many."""

FOREST: Final = {"n_trees": 32, "max_depth": 5, "seed": 0}
"""The forest of fANOVA: small, since the time grows with its leaves. Larger ones change shares by about 0.02."""

MOST: Final = {"ped_anova": 1000, "fanova": 200}
"""The maximum number of trials in each, since the time grows with them: equally spaced ones by number."""


def load() -> None:
    """Import scikit-learn and the rest, which takes a second, while something else is waited for."""
    import optuna.importance  # noqa: F401 (imported for its side effect)


def importances(expected: "pd.Series[float]", trials: pd.DataFrame, domains: Domains) -> pd.DataFrame:
    """A row for each axis with more than one tried value, the most important first by PED-ANOVA.

    ``expected``: the final score by trial (``Effects.expected``). Column ``trials``: how many of these have the axis
    active.

    ``ped_anova``: how much the distribution of values among the best trials differs from that among all (Watanabe et
    al., 2023), as a share of the sum over all axes; the best are a tenth, but at least ``TOP``. A conditional axis
    counts by how often it is active in both, and by its values there (Optuna's conditional PED-ANOVA).

    ``fanova``: the share of the variance of scores that the axis alone explains (Hutter et al., 2014), by a random
    forest. Its trees need every axis in every trial, so for a conditional axis they are grown from the trials in which
    it is active, on the axes that all these have; it is then a share of the variance among these trials.
    """
    tried = {axis: domain for axis, domain in domains.items() if trials.loc[expected.index, axis].nunique() > 1}
    if not tried or len(expected) <= 2:
        return pd.DataFrame(columns=list(COLUMNS))
    active = trials.loc[expected.index, list(tried)].notna()
    ped = _ped_anova(expected, trials.loc[expected.index], tried)
    sizes = {frozenset(active.index[active[axis]]) for axis in tried}
    fanova: dict[str, float] = {}
    for numbers in sizes:
        of_these = trials.loc[sorted(numbers)]
        common = [axis for axis in tried if active.loc[list(of_these.index), axis].all()]
        varied = {axis: tried[axis] for axis in common if of_these[axis].nunique() > 1}
        shares = _fanova(expected, of_these, varied) if varied and len(of_these) > 2 else {}
        fanova |= {axis: shares[axis] for axis in shares if set(active.index[active[axis]]) == numbers}
    rows = [
        {"axis": axis, "trials": int(active[axis].sum()), "ped_anova": ped[axis], "fanova": fanova.get(axis, np.nan)}
        for axis in sorted(tried, key=lambda axis: -ped[axis])
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ped_anova(expected: "pd.Series[float]", trials: pd.DataFrame, axes: Domains) -> Mapping[str, float]:
    from optuna.importance import PedAnovaImportanceEvaluator  # imports scikit-learn, which short reports do not need

    drawn = _drawn(trials, MOST["ped_anova"])
    quantile = max(TENTH, min(TOP / len(drawn), 0.5))
    study = _study(expected[drawn.index], drawn, axes)
    present = [axis for axis in axes if drawn[axis].notna().any()]
    with warnings.catch_warnings():  # Optuna warns of conditions that only one trial satisfies, and ignores them
        warnings.simplefilter("ignore", UserWarning)
        found = PedAnovaImportanceEvaluator(target_quantile=quantile).evaluate(study, present)
    total = sum(found.values())
    return {axis: found.get(axis, 0.0) / total if total > 0 else 0.0 for axis in axes}


def _fanova(expected: "pd.Series[float]", trials: pd.DataFrame, axes: Domains) -> Mapping[str, float]:
    from optuna.importance import FanovaImportanceEvaluator

    drawn = _drawn(trials, MOST["fanova"])
    if expected[drawn.index].nunique() < 2:
        return dict.fromkeys(axes, 0.0)
    return FanovaImportanceEvaluator(**FOREST).evaluate(_study(expected[drawn.index], drawn, axes), list(axes))


def _drawn(trials: pd.DataFrame, most: int) -> pd.DataFrame:
    return trials.iloc[np.unique(np.linspace(0, len(trials) - 1, min(len(trials), most)).astype(int))]


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
