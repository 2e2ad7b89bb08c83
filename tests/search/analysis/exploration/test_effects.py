"""The additive model: against planted effects, least squares of statsmodels, and integrals."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import norm

from skipstack.search.analysis.exploration.effects import Effects, effects
from tests.search.analysis.exploration.planted import TRUTH, Planted, planted

Array = NDArray[np.float64]


def _of(each: Planted) -> Effects:
    return effects(each.scores, each.whole, each.reached, each.parts)


def _step(scores: "pd.Series[float]", parts: pd.DataFrame) -> float:
    """The naive effect of the last depth against the one before, 0.04 in truth: a difference of means."""
    means = scores.groupby(parts["depth"]).mean()
    return float(means[2] - means[1])


def test_planted_effects_are_recovered_where_trials_were_stopped_and_naive_means_are_wrong() -> None:
    """Means of what trials had when they were stopped mix effects with epochs; means of whole trials, chosen ones."""
    studies = [planted(seed) for seed in range(20)]
    found = [_of(each) for each in studies]
    for axis, truth in TRUTH.items():
        ours = np.mean([[model.of[axis, part] for part in range(len(truth))] for model in found], axis=0)
        assert ours == pytest.approx(truth, abs=0.005)
    steps = {"seen": [_step(each.scores, each.parts) for each in studies]}
    steps["whole"] = [_step(each.scores[each.whole], each.parts) for each in studies]
    assert np.mean(steps["seen"]) > 0.055
    assert np.mean(steps["whole"]) < 0.025


def test_without_stopping_it_is_the_least_squares_of_sum_coding() -> None:
    each = planted(1, stopping=False)
    found = _of(each)
    columns = {"mean": np.ones(len(each.parts))}
    for axis, truth in TRUTH.items():
        own, last = each.parts[axis], len(truth) - 1
        columns |= {f"{axis} {part}": (own == part) * 1.0 - (own == last) for part in range(last)}
    theirs = sm.OLS(each.scores, pd.DataFrame(columns)).fit()
    for axis, truth in TRUTH.items():
        expected = [theirs.params[f"{axis} {part}"] for part in range(len(truth) - 1)]
        assert [found.of[axis, part] for part in range(len(truth))] == pytest.approx([*expected, -sum(expected)])
    assert found.deviation == pytest.approx(np.sqrt(theirs.mse_resid))
    assert found.left.tolist() == pytest.approx(theirs.resid.tolist())
    assert (found.whole, found.stopped) == (120, 0)


@pytest.mark.parametrize("spread", [0.3, 1.0])  # with the latter, a stopped trial may have had all that it would reach
def test_where_trials_were_stopped_it_is_the_maximum_of_the_integrated_likelihood(spread: float) -> None:
    """The likelihood of a stopped trial, integrated over what it may have reached, is maximised without derivatives."""
    each = planted(3, trials=20, spread=spread)
    parts = each.parts[["rate"]]
    found = effects(each.scores, each.whole, each.reached, parts)
    ends, stopped = each.reached.notna().sum(axis=1), each.scores.index[~each.whole]
    gains = {rung: each.scores[each.whole] - each.reached.loc[each.whole, rung] for rung in set(ends[~each.whole])}
    of_rate = [(parts["rate"] == part) * 1.0 - (parts["rate"] == 2) for part in (0, 1)]

    # What a trial may have gained, in small steps from 0.
    above_G = np.linspace(0, 0.3, 601)

    def mean(place: Array) -> "pd.Series[float]":
        return place[0] + place[1] * of_rate[0] + place[2] * of_rate[1]

    def gained(trial: int, place: Array) -> Array:
        """How likely each gain of a stopped trial is, together with the score that it makes."""
        gain = gains[ends[trial]]
        final_G = norm.pdf(each.scores[trial] + above_G, mean(place)[trial], found.deviation)
        return np.asarray(final_G * norm.pdf(above_G, gain.mean(), gain.std(ddof=1)))

    def cost(place: Array) -> float:
        total = norm.logpdf(each.scores[each.whole], mean(place)[each.whole], found.deviation).sum()
        return -float(total + sum(np.log(trapezoid(gained(trial, place), above_G)) for trial in stopped))

    start = [0.8, found.of["rate", 0], found.of["rate", 1]]
    best = minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    assert [found.of["rate", 0], found.of["rate", 1]] == pytest.approx(best.x[1:], abs=1e-4)
    for trial in stopped:
        of_gain_G = gained(trial, best.x)
        gain = trapezoid(above_G * of_gain_G, above_G) / trapezoid(of_gain_G, above_G)
        assert found.expected[trial] == pytest.approx(each.scores[trial] + gain, abs=1e-4)


def test_a_stopped_trial_is_expected_to_reach_at_least_what_it_had() -> None:
    each = planted(2)
    found = _of(each)
    assert (found.expected >= each.scores).all()
    assert found.expected[each.whole].tolist() == pytest.approx(each.scores[each.whole].tolist())
    stopped = found.expected[~each.whole]
    assert np.corrcoef(stopped, each.finals[stopped.index])[0, 1] > 0.9
    assert (stopped - each.finals[stopped.index]).mean() == pytest.approx(0, abs=0.01)


def test_what_trials_do_not_tell_apart_has_no_effect() -> None:
    scores = pd.Series([0.5, 0.6, 0.7, 0.8])
    whole, reached = pd.Series([True] * 4), pd.DataFrame({1: scores})
    alike = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1], "one": [0] * 4})
    found = effects(scores, whole, reached, alike)
    assert found.of.keys() == {("c", 0), ("c", 1)}
    assert found.of["c", 1] == pytest.approx(0.05)


def test_stopped_trials_say_nothing_where_no_other_went_on() -> None:
    scores = pd.Series([0.5, 0.6, 0.7, 0.8])
    parts = pd.DataFrame({"a": [0, 0, 1, 1]})
    reached = pd.DataFrame({1: scores, 2: [np.nan, np.nan, np.nan, 0.8]})
    found = effects(scores, pd.Series([False, False, False, True]), reached, parts)
    assert (found.whole, found.stopped, found.of) == (1, 0, {})
    nothing = effects(scores * np.nan, pd.Series([False] * 4), reached.iloc[:, :0], parts)
    assert (nothing.whole, nothing.of) == (0, {})


def test_of_a_stopped_trial_whose_reports_are_not_known_nothing_is_expected() -> None:
    each = planted(2)
    without = each.scores.index[~each.whole][0]
    reached = each.reached.drop(index=without)
    found = effects(each.scores, each.whole, reached, each.parts)
    others = effects(each.scores.drop(without), each.whole.drop(without), reached, each.parts.drop(index=without))
    assert found.expected.equals(others.expected)
    assert found.of == others.of


def test_equal_scores_have_no_effects_but_zero() -> None:
    scores = pd.Series([0.5] * 4)
    found = effects(scores, pd.Series([True] * 4), pd.DataFrame({1: scores}), pd.DataFrame({"a": [0, 0, 1, 1]}))
    assert list(found.of.values()) == pytest.approx([0, 0], abs=1e-12)
