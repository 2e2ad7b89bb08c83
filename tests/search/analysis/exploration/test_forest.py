"""Forests against scikit-learn's trees; shares against enumerated cells, and against Optuna's evaluator."""

from itertools import product

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.importance import FanovaImportanceEvaluator
from optuna.trial import create_trial
from sklearn.tree import DecisionTreeRegressor

from skipstack.search.analysis.exploration.forest import Boxes, drawn, grow
from skipstack.search.analysis.exploration.importance import explained, importances
from skipstack.spaces.domains import Choice, Real


def _points(number: int, dimensions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places that are equal in single precision, too, which scikit-learn takes; scores; bounds."""
    source = np.random.default_rng(number)
    place_ND = source.uniform(size=(number, dimensions)).astype(np.float32).astype(float)
    score_N = np.sin(5 * place_ND[:, 0]) + place_ND[:, -1] * source.uniform(size=number)
    return place_ND, score_N, np.tile([0.0, 1.0], (dimensions, 1))


# Of several dimensions few cuts: boxes of two points would be cut equally well along each of them.
@pytest.mark.parametrize(
    ("number", "dimensions", "depth"), [(200, 10, 2), (100, 4, 2), (60, 1, 5), (6, 1, 5), (2, 1, 5)]
)
def test_trees_are_those_of_scikit_learn(number: int, dimensions: int, depth: int) -> None:
    place_ND, score_N, bounds_D2 = _points(number, dimensions)
    source = np.random.default_rng(0)
    times_TN = drawn(number, 8, source)
    assert (times_TN.sum(axis=1) == number).all()
    forest = grow(place_ND, score_N, bounds_D2, times_TN, depth, source)
    asked_ND = source.uniform(size=(300, dimensions)).astype(np.float32).astype(float)
    for tree, times_N in enumerate(times_TN):
        theirs = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(place_ND, score_N, sample_weight=times_N)
        inside_NL = ((asked_ND[:, None] > forest.low_TLD[tree]) & (asked_ND[:, None] <= forest.high_TLD[tree])).all(2)
        assert (inside_NL.sum(axis=1) == 1).all()
        assert forest.value_TL[tree][inside_NL.argmax(axis=1)] == pytest.approx(theirs.predict(asked_ND), abs=1e-9)


def test_of_equally_good_cuts_each_is_drawn_as_often() -> None:
    place_ND = np.repeat([[0.0], [1.0]], 3, axis=1)
    times_TN = np.ones((3000, 2), dtype=np.int64)
    forest = grow(place_ND, np.array([1.0, 2.0]), np.tile([0.0, 1.0], (3, 1)), times_TN, 5, np.random.default_rng(0))
    cut_D = (forest.high_TLD[:, 0] == 0.5).sum(axis=0)
    assert cut_D.sum() == 3000
    assert cut_D == pytest.approx([1000] * 3, abs=4 * np.sqrt(3000 * 2 / 9))


def test_equal_scores_and_equal_places_are_not_cut() -> None:
    times_TN, bounds_D2, source = np.ones((4, 3), dtype=np.int64), np.array([[0.0, 1.0]]), np.random.default_rng(0)
    for places, scores in (([0.1, 0.2, 0.3], [2.0, 2.0, 2.0]), ([0.1, 0.1, 0.1], [1.0, 2.0, 3.0])):
        forest = grow(np.array(places)[:, None], np.array(scores), bounds_D2, times_TN, 5, source)
        assert (forest.high_TLD[:, 0] == 1).all()
        assert (forest.high_TLD[:, 1:] == 0).all()
        assert forest.value_TL[:, 0] == pytest.approx([2.0] * 4)
        assert explained(forest, bounds_D2, [[0]]) == [0.0]


def test_neighbouring_floats_are_cut_apart() -> None:
    low = 0.5 + np.spacing(0.5)  # an odd one: halfway to the next is rounded up
    place_ND, times_TN = np.array([[low], [np.nextafter(low, 1)]]), np.ones((1, 2), dtype=np.int64)
    bounds_D2, source = np.array([[0.0, 1.0]]), np.random.default_rng(0)
    forest = grow(place_ND, np.array([1.0, 2.0]), bounds_D2, times_TN, 5, source)
    assert sorted(forest.value_TL[0, :2]) == [1.0, 2.0]
    assert forest.high_TLD[0, 0, 0] == forest.low_TLD[0, 1, 0] == low


def test_shares_are_those_of_all_cells_enumerated() -> None:
    place_ND, score_N, _ = _points(20, 3)
    place_ND, bounds_D2 = place_ND * [2.0, 1.0, 3.0], np.array([[0.0, 2.0], [-1.0, 1.0], [0.0, 3.0]])
    source = np.random.default_rng(0)
    forest = grow(place_ND, score_N, bounds_D2, drawn(20, 5, source), 3, source)
    groups = [[0], [1, 2], [2], [0, 1, 2]]
    found = explained(forest, bounds_D2, groups)
    assert found == pytest.approx(np.mean([_enumerated(forest, bounds_D2, tree, groups) for tree in range(5)], axis=0))
    assert found[-1] == pytest.approx(1)


def _enumerated(forest: Boxes, bounds_D2: np.ndarray, tree: int, groups: list[list[int]]) -> list[float]:
    low_LD, high_LD = forest.low_TLD[tree], forest.high_TLD[tree]
    edges = [np.unique([*low_LD[:, own], *high_LD[:, own], *bounds_D2[own]]) for own in range(3)]
    cells = np.empty([len(edge) - 1 for edge in edges])
    for place in product(*map(range, cells.shape)):
        middle_D = [(edge[at] + edge[at + 1]) / 2 for at, edge in zip(place, edges, strict=True)]
        cells[place] = forest.value_TL[tree][((middle_D > low_LD) & (middle_D <= high_LD)).all(axis=1)].item()
    sizes = [np.diff(edge) / (edge[-1] - edge[0]) for edge in edges]
    mean = np.einsum("abc,a,b,c", cells, *sizes)
    whole = np.einsum("abc,a,b,c", (cells - mean) ** 2, *sizes)
    shown = []
    for group in groups:
        marginal = cells - mean
        for own in sorted({0, 1, 2} - set(group)):
            shape = [1, 1, 1]
            shape[own] = -1
            marginal = (marginal * sizes[own].reshape(shape)).sum(axis=own, keepdims=True)
        weights = [sizes[own] if own in group else np.ones(1) for own in range(3)]
        shown.append(np.einsum("abc,a,b,c", marginal**2, *weights) / whole)
    return shown


@pytest.mark.first(1)
@pytest.mark.parametrize(("number", "apart"), [(12, 0.12), (60, 0.05), (200, 0.03)])
def test_optuna_says_the_same_but_for_what_is_drawn(number: int, apart: float) -> None:
    source = np.random.default_rng(number)
    trials = pd.DataFrame(
        {
            "gate": source.choice(["a", "b", "c"], size=number),
            "rate": source.uniform(size=number),
            "none": source.uniform(size=number),
        }
    )
    scores = (
        trials["gate"].map({"a": 0.0, "b": 0.3, "c": 1.0}) + 0.9 * trials["rate"] + 0.1 * source.normal(size=number)
    )
    domains = {"gate": Choice(("a", "b", "c")), "rate": Real(0.0, 1.0), "none": Real(0.0, 1.0)}
    distributions = {
        axis: CategoricalDistribution(domain.values) if isinstance(domain, Choice) else FloatDistribution(0.0, 1.0)
        for axis, domain in domains.items()
    }
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    for score, point in zip(scores.tolist(), trials.to_dict("records"), strict=True):
        study.add_trial(create_trial(value=score, params=point, distributions=distributions))
    theirs = FanovaImportanceEvaluator(n_trees=32, max_depth=5, seed=0).evaluate(study)
    ours = importances(scores, trials, domains, lambda _: [], []).set_index("axis")["fanova"]
    assert ours[list(theirs)].tolist() == pytest.approx(list(theirs.values()), abs=apart)
