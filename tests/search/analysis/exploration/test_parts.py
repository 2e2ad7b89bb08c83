"""Importances, pairs, rungs and budgets, each against a planted truth or an enumeration."""

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from skipstack.search.analysis.exploration.additive_model import Fit, fit
from skipstack.search.analysis.exploration.budgets import continued, expected_best
from skipstack.search.analysis.exploration.importance import importances
from skipstack.search.analysis.exploration.levels import INACTIVE, levels
from skipstack.search.analysis.exploration.pairs import pairs
from skipstack.search.analysis.exploration.rungs import rungs
from skipstack.search.analysis.exploration.shuffled import TIMES, TIMES_EACH, Shuffled, shuffled
from skipstack.search.analysis.exploration.standing_out import standing_out
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real
from tests.search.analysis.exploration.planted import Planted, planted

DOMAINS: dict[str, Domain] = {
    "strong": Choice((1, 3, 5)),
    "weak": Log(0.001, 0.1),
    "none": Real(0.0, 1.0),
    "conditional": Choice(("on", "off")),
    "count": Integer(1, 9),
    "fixed": Choice((7,)),
}


def _trials(number: int = 200) -> tuple["pd.Series[float]", pd.DataFrame]:
    """The strong axis tells most, the weak one less; the conditional one much, where the strong one is 5."""
    generator = np.random.default_rng(0)
    strong = generator.choice([1, 3, 5], size=number)
    conditional = np.where(strong == 5, generator.choice(["on", "off"], size=number), None)
    weak = np.exp(generator.uniform(np.log(0.001), np.log(0.1), size=number))
    trials = pd.DataFrame(
        {
            "strong": pd.array(strong, dtype="Int64"),
            "weak": weak,
            "none": generator.uniform(size=number),
            "conditional": pd.Series(conditional, dtype="str"),
            "count": pd.array(generator.integers(1, 10, size=number), dtype="Int64"),
            "fixed": pd.array([7] * number, dtype="Int64"),
        }
    )
    scores = 0.1 * strong + 0.06 * np.log(weak) + 0.2 * (conditional == "on") + 0.005 * generator.normal(size=number)
    return pd.Series(scores), trials


def _importances(
    scores: "pd.Series[float]", trials: pd.DataFrame, domains: dict[str, Domain] = DOMAINS
) -> pd.DataFrame:
    """The importances of a search, all its trials whole."""
    points = trials.astype(object).where(trials.notna(), None)
    texts = [
        json.dumps({axis: value for axis, value in point.items() if value is not None})
        for point in points.to_dict("records")
    ]
    own = levels(pd.DataFrame({"point": texts}, index=trials.index), domains)
    whole, reached = scores.notna(), pd.DataFrame({1: scores})
    apart = standing_out(scores, trials, whole, reached, own, domains)
    model = fit(scores, whole, reached, own)
    return importances(
        scores,
        trials,
        domains,
        lambda axis: shuffled(scores, trials, whole, reached, own, along=axis, like=model),
        apart,
    )


def test_planted_importances_are_found_conditional_axes_included() -> None:
    scores, trials = _trials()
    found = _importances(scores, trials).set_index("axis")
    assert "fixed" not in found.index
    assert found["trials"].tolist() == [int(trials[axis].notna().sum()) for axis in found.index]
    assert found.loc[["strong", "conditional"], "fanova"].min() > 2 * found.loc[["none", "count"], "fanova"].max()
    assert found.loc["strong", "fanova"] > found.loc["weak", "fanova"] > found.loc["none", "fanova"]
    # It is active in a third of the trials, and adds 0.2 to half of these: to the scores of all trials it contributes
    # a third of 0.1^2, and the conditional axis's own mean, 0.1, raises what the strong axis differs by.
    weak, strong = (0.06 * np.log(100)) ** 2 / 12, float(np.var([0.1, 0.3, 0.5 + 0.1]))
    assert found.loc["conditional", "fanova"] == pytest.approx(0.1**2 / 3 / (0.1**2 / 3 + weak + strong), abs=0.03)
    assert found["fanova"].sum() < 1.1
    assert found["stands_out"].loc[["strong", "conditional"]].all()
    assert not found["stands_out"].loc[["none", "count"]].any()


@pytest.mark.first(1)
@pytest.mark.parametrize("number", [16, 100])
def test_on_noise_no_axis_stands_out_although_one_always_has_the_largest_share(number: int) -> None:
    _, trials = _trials(number)
    scores = pd.Series(np.random.default_rng(number).normal(size=number))
    found = _importances(scores, trials)
    assert found["fanova"].max() > 0.2
    assert found["by_chance"].max() > 0.1
    assert not found["stands_out"].any()


def test_a_choice_of_half_the_variance_stands_out_beside_numbers_that_explain_nothing() -> None:
    generator = np.random.default_rng(0)
    domains: dict[str, Domain] = {"choice": Choice((0, 1, 2)), "one": Real(0.0, 1.0), "other": Real(0.0, 1.0)}
    trials = pd.DataFrame(
        {"choice": generator.integers(3, size=48), "one": generator.random(48), "other": generator.random(48)}
    )
    scores = pd.Series((trials["choice"] - 1) * np.sqrt(3 / 2) + generator.normal(size=48))
    found = _importances(scores, trials, domains).set_index("axis")
    assert found["stands_out"].to_dict() == {"choice": True, "one": False, "other": False}


@pytest.mark.slow
def test_importances_are_the_same_again_and_of_hardly_any_trials_none() -> None:
    scores, trials = _trials(30)
    assert _importances(scores, trials).equals(_importances(scores, trials))
    assert _importances(scores[:2], trials[:2]).empty
    assert _importances(scores[:0], trials[:0]).empty
    twice = trials.assign(conditional=pd.Series(["on", "off"], dtype="str").reindex(trials.index))
    found = _importances(scores, twice).set_index("axis")
    assert found.loc["conditional", "trials"] == 2
    assert np.isnan(found.loc["conditional", "fanova"])
    assert not found.loc["conditional", "stands_out"]
    assert found.loc["strong", "fanova"] > 0


@pytest.mark.slow
def test_by_chance_an_axis_explains_what_it_explains_without_an_effect_beside_a_strong_axis() -> None:
    """In many searches with one strong axis, the shares of the others are on average their shares by chance."""
    domains: dict[str, Domain] = {"strong": Real(0.0, 1.0), "choice": Choice((0, 1, 2)), "number": Real(0.0, 1.0)}
    shares = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        trials = pd.DataFrame(
            {"strong": generator.random(60), "choice": generator.integers(3, size=60), "number": generator.random(60)}
        )
        scores = 0.1 * trials["strong"] + 0.01 * pd.Series(generator.normal(size=60))
        shares.append(_importances(scores, trials, domains).set_index("axis").loc[["choice", "number"]])
    for axis in ("choice", "number"):
        of_search, by_chance = (
            float(np.mean([each.loc[axis, of] for each in shares])) for of in ("fanova", "by_chance")
        )
        assert by_chance / 1.5 < of_search < 1.5 * by_chance < 0.1


def test_along_one_axis_alone_values_are_shuffled_among_the_trials_in_which_it_is_active() -> None:
    each = planted(0, trials=60)
    points = each.parts.where(each.parts != INACTIVE)
    model = fit(each.scores, each.whole, each.reached, each.parts)
    found = shuffled(each.scores, points, each.whole, each.reached, each.parts, along="gate", like=model)
    assert len(found) == TIMES_EACH
    for one in found:
        assert not one.points["gate"].equals(points["gate"])
        assert one.points["gate"].isna().equals(points["gate"].isna())
        assert one.points["gate"].value_counts().equals(points["gate"].value_counts())
        assert one.points.drop(columns="gate").equals(points.drop(columns="gate"))
        assert one.parts.equals(one.points.fillna(INACTIVE).astype(one.parts.dtypes))
        assert (one.model.deviation, one.model.spread) == pytest.approx((model.deviation, model.spread))


def test_points_are_dealt_to_the_curves_of_others_and_parts_with_them() -> None:
    each = planted(0, trials=30)
    trials = each.parts.assign(score=each.scores)
    found = shuffled(trials["score"], trials, each.whole, each.reached, each.parts)
    assert len(found) == TIMES
    for one in found:
        assert one.points.equals(one.parts)  # here a value is its part
        assert sorted(map(tuple, one.parts.to_numpy().tolist())) == sorted(map(tuple, each.parts.to_numpy().tolist()))
        assert not one.parts.equals(each.parts)
        assert one.model.expected[each.whole].tolist() == each.scores[each.whole].tolist()
    assert not found[0].parts.equals(found[1].parts)


def test_what_pairs_have_left_is_the_interaction_of_a_full_grid() -> None:
    grid = pd.DataFrame(list(product(range(3), range(2), range(2))), columns=["a", "b", "c"])
    planted_ab = np.array([[0.03, -0.03], [-0.02, 0.02], [-0.01, 0.01]])
    scores = 0.1 * grid["a"] + 0.2 * grid["b"] - 0.3 * grid["c"] + planted_ab[grid["a"], grid["b"]]
    whole = pd.Series([True] * len(grid))
    reached = pd.DataFrame({1: scores})
    found = pairs(fit(scores, whole, reached, grid), grid, whole, _dealt_grid(scores, reached, grid))
    assert len(found) == 3 * 2 + 3 * 2 + 2 * 2
    ab = found[(found["axis_one"] == "a") & (found["axis_two"] == "b")]
    assert ab["interaction"].tolist() == pytest.approx(planted_ab.ravel().tolist(), abs=0.002)  # effects are shrunk
    of_c = found.loc[found["axis_two"] == "c", "interaction"]
    assert of_c.tolist() == pytest.approx([0] * 10, abs=0.002)
    assert not found["stands_out"].any()  # no field has more than two of the twelve trials
    assert set(ab["n"]) == set(ab["whole"]) == {2}


def _dealt_grid(scores: "pd.Series[float]", reached: pd.DataFrame, grid: pd.DataFrame) -> list[Shuffled]:
    return shuffled(scores, grid, scores.notna(), reached, grid)


def test_a_planted_interaction_stands_out_and_nothing_else() -> None:
    grid = pd.DataFrame(list(product(range(2), range(2), range(3))) * 10, columns=["a", "b", "c"])
    noise = np.random.default_rng(0).normal(size=len(grid))
    scores = pd.Series(0.1 * grid["a"] + 0.01 * noise + 0.03 * np.where(grid["a"] == grid["b"], 1, -1))
    whole, reached = pd.Series([True] * len(grid)), pd.DataFrame({1: scores})
    found = pairs(fit(scores, whole, reached, grid), grid, whole, _dealt_grid(scores, reached, grid))
    of_ab = (found["axis_one"] == "a") & (found["axis_two"] == "b")
    assert found.loc[of_ab, "stands_out"].all()
    assert not found.loc[~of_ab, "stands_out"].any()


def test_of_stopped_trials_pairs_say_how_many_they_are() -> None:
    each = planted(0)
    dealt = shuffled(each.scores, each.parts, each.whole, each.reached, each.parts)
    found = pairs(_fit(each), each.parts, each.whole, dealt)
    cell = found[(found["axis_one"] == "depth") & (found["part_one"] == 2) & (found["axis_two"] == "rate")].iloc[0]
    mine = (each.parts["depth"] == 2) & (each.parts["rate"] == cell["part_two"])
    assert (cell["n"], cell["whole"]) == (mine.sum(), (mine & each.whole).sum())
    assert not ((found["axis_one"] == "gate") & (found["part_one"] < 0)).any()


def _fit(each: Planted) -> Fit:
    return fit(each.scores, each.whole, each.reached, each.parts)


def test_rungs_say_how_alike_they_rank_the_trials_that_went_on() -> None:
    each = planted(0)
    found = rungs(each.scores, each.whole, each.reached, each.reached, (1, 3, 9, 27))
    assert found["rung"].tolist() == [1, 3, 9, 27]
    assert found["n"].tolist() == [120, 60, 30, 0]
    assert found["stopped"].tolist() == [60, 30, 0, 0]
    assert found["whole"].tolist() == [30, 30, 30, 0]
    finals = each.scores[each.whole]
    for rung, row in zip((1, 3), found.to_dict("records"), strict=False):
        assert row["correlation"] == pytest.approx(spearmanr(each.reached.loc[each.whole, rung], finals).statistic)
        assert row["low"] < row["correlation"] < row["high"]
        there = each.reached[rung].dropna().sort_values(ascending=False)
        assert row["place_of_best"] == list(there.index).index(finals.idxmax()) + 1
    assert np.isnan(found["correlation"].iloc[3])


@pytest.mark.slow
def test_rungs_of_noise_do_not_correlate_although_the_best_score_contains_them() -> None:
    """Of 200 studies of 30 trials whose every score is noise: the mean is 0, and 95 of 100 intervals hold it."""
    source, values, held, of_best = np.random.default_rng(0), [], [], []
    for _ in range(200):
        by_epoch = pd.DataFrame(source.normal(size=(30, 9)), columns=range(1, 10))
        reached = by_epoch.cummax(axis=1)
        row = rungs(reached[9], pd.Series([True] * 30), reached, by_epoch, (3,)).iloc[0]
        values.append(row["correlation"])
        held.append(row["low"] <= 0 <= row["high"])
        of_best.append(spearmanr(reached[3], reached[9]).statistic)
    assert np.mean(of_best) > 0.3
    assert np.mean(values) == pytest.approx(0, abs=0.04)
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)


def test_nine_whole_trials_have_no_correlation_and_ten_have_one() -> None:
    for count in (9, 10):
        scores = pd.Series(np.linspace(0, 1, count))
        by_epoch = pd.DataFrame({1: scores, 2: scores})
        found = rungs(scores, pd.Series([True] * count), by_epoch, by_epoch, (1,))
        assert found["whole"].tolist() == [count]
        assert (found["correlation"].iloc[0] == pytest.approx(1)) == (count == 10)


def test_the_expected_best_is_the_mean_over_all_choices() -> None:
    scores = [0.3, 0.9, 0.5, 0.5]
    found = expected_best(scores, epochs=20.0)
    assert found["trials"].tolist() == [1, 2, 3, 4]
    for number, best in zip(found["trials"], found["expected_best"], strict=True):
        assert best == pytest.approx(np.mean([max(chosen) for chosen in combinations(scores, number)]))
    assert found["epochs"].tolist() == [5.0, 10.0, 15.0, 20.0]
    assert expected_best([], epochs=0.0).empty
    many = expected_best(np.random.default_rng(0).normal(size=10_000).tolist(), epochs=1.0)
    assert len(many) <= 40
    assert many["trials"].iloc[-1] == 10_000
    assert many["expected_best"].is_monotonic_increasing


@pytest.mark.parametrize("number", [4, 5, 9])
def test_what_half_as_many_trials_again_give_is_what_the_last_half_gave_in_all_orders(number: int) -> None:
    scores = np.random.default_rng(number).normal(size=number).tolist()
    found = continued(scores, epochs=10.0 * number, seed_deviation=0.5, proposer="random")
    assert found is not None
    kept = number - number // 2
    assert (found.trials, found.epochs) == (number - kept, 10.0 * (number - kept))
    assert found.most is not None
    assert found.most == pytest.approx(max(scores) - np.mean([max(draw) for draw in combinations(scores, kept)]))
    assert found.last == pytest.approx(max(scores) - max(scores[:kept]))
    assert found.worth_it == (found.most >= 0.05)


def test_of_trials_drawn_alike_more_of_them_give_no_more_than_it_says() -> None:
    """The mean over 2,000 searches of 12 trials, against the maxima of 12 and of 18 in closed form."""
    source = np.random.default_rng(0)
    for draw, best in (
        (lambda size: source.uniform(size=size), lambda k: k / (k + 1)),
        (lambda size: source.exponential(size=size), lambda k: sum(1 / each for each in range(1, k + 1))),
    ):
        searches = [continued(draw(12).tolist(), 1.0, None, proposer="random") for _ in range(2000)]
        said = np.mean([found.most for found in searches if found is not None and found.most is not None])
        assert said == pytest.approx(best(12) - best(6), rel=0.05)  # unbiased
        assert said > best(18) - best(12)


def test_of_few_trials_or_equal_ones_little_is_said() -> None:
    assert continued([0.1, 0.2, 0.3], 3.0, None, proposer="random") is None
    alike = continued([0.5] * 6, 6.0, 0.1, proposer="random")
    assert alike is not None
    assert (alike.most, alike.worth_it) == (0.0, False)
    single = continued([0.5] * 6, 6.0, None, proposer="random")
    assert single is not None
    assert single.worth_it


@pytest.mark.parametrize("proposer", ["tpe", "gp", "evolution", "prior", "grid"])
def test_nothing_bounds_what_a_search_gains_whose_points_are_not_drawn_independently(proposer: str) -> None:
    found = continued([0.1, 0.2, 0.3, 0.4], 4.0, 5.0, proposer=proposer)
    assert found is not None
    assert (found.most, found.held, found.worth_it) == (None, None, True)
    assert found.last == pytest.approx(0.2)
