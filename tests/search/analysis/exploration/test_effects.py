"""The additive model, against planted effects, closed forms and integrals; which effects the trials can carry."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import norm

from skipstack.search.analysis.exploration.additive_model import VAGUE, Fit, fit, fits
from skipstack.search.analysis.exploration.effects import Effects, effects
from tests.search.analysis.exploration.planted import TRUTH, Planted, planted

Array = NDArray[np.float64]


def _fit(each: Planted) -> Fit:
    return fit(each.scores, each.whole, each.reached, each.parts)


def _of(each: Planted) -> Effects:
    return effects(each.scores, each.whole, each.reached, each.parts)


def _step(scores: "pd.Series[float]", parts: pd.DataFrame) -> float:
    """The naive effect of the last depth against the one before, 0.04 in truth: a difference of means."""
    means = scores.groupby(parts["depth"]).mean()
    return float(means[2] - means[1])


def test_planted_effects_are_recovered_where_trials_were_stopped_and_naive_means_are_wrong() -> None:
    """Means of what trials had when they were stopped mix effects with epochs; means of whole trials, chosen ones."""
    studies = [planted(seed) for seed in range(20)]
    found = [_fit(each) for each in studies]
    for axis, truth in TRUTH.items():
        every = range(len(truth))
        ours = np.mean([[model.effect(axis, part, every)[0] for part in every] for model in found], axis=0)
        assert ours == pytest.approx(truth, abs=0.006)
    steps = {"seen": [_step(each.scores, each.parts) for each in studies]}
    steps["whole"] = [_step(each.scores[each.whole], each.parts) for each in studies]
    assert np.mean(steps["seen"]) > 0.055
    assert np.mean(steps["whole"]) < 0.025


def test_without_stopping_it_is_the_mixed_model_in_closed_form() -> None:
    """With V = sigma^2 + tau^2 Z Z^T: mu is generalised least squares, beta = tau^2 Z^T V^-1 (y - mu), and sigma and
    tau maximise -log|V| / 2 - log(1^T V^-1 1) / 2 - (y - mu)^T V^-1 (y - mu) / 2.
    """
    each = planted(1, trials=40, stopping=False)
    found, scale = _fit(each), each.scores.std(ddof=0)
    y_N = (each.scores.to_numpy() - each.scores.mean()) / scale
    z_NP = np.column_stack(
        [
            np.where(each.parts[axis] < 0, 0.0, (each.parts[axis] == part) - 1 / len(of))
            for axis, of in TRUTH.items()
            for part in range(len(of))
        ]
    )
    one_N = np.ones(len(y_N))

    def solved(sigma: float, tau: float) -> tuple[Array, float, float]:
        inverse_NN = np.linalg.inv(sigma**2 * np.eye(len(y_N)) + tau**2 * z_NP @ z_NP.T)
        information = one_N @ inverse_NN @ one_N
        mu = one_N @ inverse_NN @ y_N / information
        apart_N = y_N - mu
        likelihood = np.linalg.slogdet(inverse_NN)[1] - np.log(information) - apart_N @ inverse_NN @ apart_N
        return tau**2 * z_NP.T @ inverse_NN @ apart_N, mu, likelihood / 2

    def cost(logarithms: Array) -> float:
        return -solved(*np.exp(logarithms))[2] + (logarithms[1] / VAGUE) ** 2 / 2

    best = minimize(cost, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    sigma, tau = np.exp(best.x)
    assert found.deviation == pytest.approx(sigma * scale, rel=0.02)
    assert found.spread == pytest.approx(tau * scale, rel=0.05)
    beta_P, mu, _ = solved(found.deviation / scale, found.spread / scale)
    assert found.place_P == pytest.approx(np.append(mu, beta_P) * scale)
    assert found.left.tolist() == pytest.approx((scale * (y_N - mu - z_NP @ beta_P)).tolist())
    # The distribution given the scores, by Bayes' rule for normal ones: mu has a flat one beforehand.
    design_NP = np.column_stack([one_N, z_NP])
    precision_PP = design_NP.T @ design_NP / found.deviation**2
    precision_PP += np.diag([0.0, *[found.spread**-2] * z_NP.shape[1]])
    assert found.covariance_PP == pytest.approx(np.linalg.inv(precision_PP))


def test_with_many_trials_it_is_the_least_squares_of_sum_coding() -> None:
    each = planted(1, trials=4000, stopping=False)
    found = _fit(each)
    columns = {"mean": np.ones(len(each.parts))}
    for axis, truth in TRUTH.items():
        own, last = each.parts[axis], len(truth) - 1
        columns |= {f"{axis} {part}": (own == part) * 1.0 - (own == last) for part in range(last)}
    theirs = sm.OLS(each.scores, pd.DataFrame(columns)).fit()
    for axis, truth in TRUTH.items():
        for part in range(len(truth) - 1):
            ours, deviation = found.effect(axis, part, range(len(truth)))
            assert ours == pytest.approx(theirs.params[f"{axis} {part}"], abs=1e-4)
            assert deviation == pytest.approx(theirs.bse[f"{axis} {part}"], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.3, 1.0])  # with the latter, a stopped trial may have had all that it would reach
def test_where_trials_were_stopped_it_is_the_maximum_of_the_integrated_likelihood(spread: float) -> None:
    """The likelihood of a stopped trial, integrated over what it may have reached, is maximised without derivatives."""
    each = planted(3, trials=20, spread=spread)
    parts = each.parts[["rate"]]
    found = fit(each.scores, each.whole, each.reached, parts)
    ends, stopped = each.reached.notna().sum(axis=1), each.scores.index[~each.whole]
    gains = {rung: each.scores[each.whole] - each.reached.loc[each.whole, rung] for rung in set(ends[~each.whole])}
    of_rate = [(parts["rate"] == part) - 1 / 3 for part in range(3)]

    # What a trial may have gained, in small steps from 0.
    above_G = np.linspace(0, 0.3, 601)

    def mean(place: Array) -> "pd.Series[float]":
        return place[0] + sum(effect * own for effect, own in zip(place[1:], of_rate, strict=True))

    def gained(trial: int, place: Array) -> Array:
        """How likely each gain of a stopped trial is, together with the score that it makes."""
        gain = gains[ends[trial]]
        final_G = norm.pdf(each.scores[trial] + above_G, mean(place)[trial], found.deviation)
        return np.asarray(final_G * norm.pdf(above_G, gain.mean(), gain.std(ddof=1)))

    def cost(place: Array) -> float:
        total = norm.logpdf(each.scores[each.whole], mean(place)[each.whole], found.deviation).sum()
        total += norm.logpdf(place[1:], 0.0, found.spread).sum()
        return -float(total + sum(np.log(trapezoid(gained(trial, place), above_G)) for trial in stopped))

    middle = each.scores.mean()
    start = found.place_P + np.array([middle, 0.0, 0.0, 0.0])
    best = minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2000})
    assert start == pytest.approx(best.x, abs=1e-4)
    for trial in stopped:
        of_gain_G = gained(trial, best.x)
        gain = trapezoid(above_G * of_gain_G, above_G) / trapezoid(of_gain_G, above_G)
        assert found.expected[trial] == pytest.approx(each.scores[trial] + gain, abs=1e-4)


def test_a_stopped_trial_is_expected_to_reach_at_least_what_it_had() -> None:
    each = planted(2)
    found = _fit(each)
    assert (found.expected >= each.scores).all()
    assert found.expected[each.whole].tolist() == pytest.approx(each.scores[each.whole].tolist())
    stopped = found.expected[~each.whole]
    assert np.corrcoef(stopped, each.finals[stopped.index])[0, 1] > 0.9
    assert (stopped - each.finals[stopped.index]).mean() == pytest.approx(0, abs=0.01)


def _grid(scores: list[float], parts: dict[str, list[int]], *, whole: list[bool] | None = None) -> Effects:
    ends = pd.Series([True] * len(scores) if whole is None else whole)
    of = pd.Series(scores)
    return effects(of, ends, pd.DataFrame({1: of, 2: of.where(ends)}), pd.DataFrame(parts))


def test_more_whole_trials_than_free_numbers_are_needed() -> None:
    """Two axes with two parts each have three: the mean and a difference each."""
    enough = _grid([0.5, 0.6, 0.7, 0.8], {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    assert (enough.columns, enough.whole, set(enough.of)) == (3, 4, {("a", 0), ("a", 1), ("b", 0), ("b", 1)})
    few = _grid([0.5, 0.6, 0.7], {"a": [0, 0, 1], "b": [0, 1, 0]})
    assert (few.columns, few.whole, few.of, few.untold) == (3, 3, {}, {})


def test_what_whole_trials_do_not_tell_apart_has_no_effect_and_the_axis_that_hides_it_is_named() -> None:
    same = [0, 0, 1, 1] * 3
    found = _grid(
        [0.5, 0.6, 0.7, 0.8, 0.5, 0.6, 0.7, 0.8, 0.5, 0.6, 0.7, 0.8],
        {"a": same, "b": same, "c": [0, 1, 0, 1] * 3, "one": [0] * 12},
    )
    assert found.of.keys() == {("c", 0), ("c", 1)}
    assert found.untold == {("a", 0): ("b",), ("a", 1): ("b",), ("b", 0): ("a",), ("b", 1): ("a",)}
    assert found.of["c", 1].value == pytest.approx(0.05, abs=0.01)
    assert not found.of["c", 1].open


def test_a_value_with_one_whole_trial_has_none_and_others_are_compared_without_it() -> None:
    a = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    whole = [True] * 7 + [False] * 3
    found = _grid([0.8, 0.81, 0.79, 0.6, 0.61, 0.59, 0.3, 0.2, 0.2, 0.2], {"a": a}, whole=whole)
    assert (found.whole, found.stopped) == (7, 3)
    assert found.untold == {("a", 2): ()}
    assert [found.of["a", part].whole for part in (0, 1)] == [3, 3]
    assert [found.of["a", part].value for part in (0, 1)] == pytest.approx([0.1, -0.1], abs=0.01)
    assert found.of["a", 0].low < found.of["a", 0].value < found.of["a", 0].high


def test_on_noise_hardly_any_effect_has_a_sign() -> None:
    """Of 20 searches of 40 trials: a band of 95 % holds 0 in nearly all values, since nothing has an effect."""
    shown = []
    for seed in range(20):
        each = planted(seed, trials=40, stopping=False)
        noise = pd.Series(np.random.default_rng([seed, 1]).normal(size=40))
        found = effects(noise, each.whole, pd.DataFrame({1: noise}), each.parts)
        shown += [not effect.open for effect in found.of.values()]
    assert len(shown) == 20 * 8
    assert np.mean(shown) < 0.05


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
    assert found.model.expected.equals(others.model.expected)
    assert found.of == others.of


def test_equal_scores_have_no_effects_but_zero() -> None:
    found = _grid([0.5] * 4, {"a": [0, 0, 1, 1]})
    assert [effect.value for effect in found.of.values()] == pytest.approx([0, 0], abs=1e-12)
    assert all(effect.open for effect in found.of.values())


def test_searches_that_are_fitted_together_have_the_fits_that_they_have_alone() -> None:
    """In some of them a part is tried that others have not tried, and trials whose gains are not known."""
    each = planted(0, trials=30)
    reached = each.reached.copy()
    unknown = each.whole.index[~each.whole][:4]
    reached.loc[unknown] = np.nan
    source = np.random.default_rng(0)
    dealt = [each.parts.iloc[source.permutation(30)].set_axis(each.parts.index) for _ in range(5)]
    dealt[1] = dealt[1].assign(depth=dealt[1]["depth"].clip(upper=1))
    dealt[3] = dealt[3].assign(rate=0)
    together = fits(each.scores, each.whole, reached, dealt)
    assert len({own.keys for own in together}) == 3
    for own, parts in zip(together, dealt, strict=True):
        alone = fit(each.scores, each.whole, reached, parts)
        assert own.keys == alone.keys
        assert own.expected.index.equals(alone.expected.index)
        assert not set(unknown) & set(own.expected.index)
        for name in ("deviation", "spread", "place_P", "covariance_PP", "expected", "left"):
            assert np.asarray(getattr(own, name)) == pytest.approx(np.asarray(getattr(alone, name)), rel=1e-6, abs=1e-9)
