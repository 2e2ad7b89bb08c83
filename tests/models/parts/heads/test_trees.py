"""Decoding of dependency trees, against the enumeration of all trees of up to 5 words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from skipstack.data.labels.trees import find_cycle
from skipstack.models.parts.heads.trees import best_tree, greedy_heads
from tests.oracles import trees as oracle

LONG = 60
seeds = st.integers(0, 2**32 - 1)


def random_scores(seed: int, words: int, spread: float = 1.0) -> NDArray[np.float64]:
    """Scores N(0, spread); a word's own place is no number, for nobody is to read it."""
    scores_TS = np.random.default_rng(seed).normal(0, spread, (words, words + 1))
    scores_TS[np.arange(words), np.arange(words) + 1] = np.nan
    return scores_TS


@settings(max_examples=100)
@given(seeds, st.integers(1, 5), st.booleans(), st.sampled_from([1e-3, 1.0, 1e6]))
def test_the_tree_that_is_decoded_is_the_best_of_all(seed: int, words: int, single_root: bool, spread: float) -> None:
    scores_TS = random_scores(seed, words, spread)
    expected = oracle.best(scores_TS, single_root=single_root)
    assert tuple(best_tree(scores_TS, single_root=single_root).tolist()) == expected


@settings(max_examples=100)
@given(st.data(), st.integers(1, 5), st.booleans())
def test_of_equal_trees_one_of_the_best_is_decoded(data: st.DataObject, words: int, single_root: bool) -> None:
    values = st.lists(st.integers(0, 2), min_size=words * (words + 1), max_size=words * (words + 1))
    scores_TS = np.array(data.draw(values), dtype=np.float64).reshape(words, words + 1)
    ours = tuple(best_tree(scores_TS, single_root=single_root).tolist())
    assert ours in oracle.trees(words, single_root=single_root)
    best = oracle.best(scores_TS, single_root=single_root)
    assert oracle.score(scores_TS, ours) == oracle.score(scores_TS, best)


@settings(max_examples=50)
@given(seeds, st.data())
def test_greedy_heads_that_are_a_tree_are_kept(seed: int, data: st.DataObject) -> None:
    planted = data.draw(st.sampled_from(oracle.trees(5, single_root=True)))
    scores_TS = random_scores(seed, 5)
    scores_TS[np.arange(5), planted] = np.nanmax(scores_TS, axis=1) + 0.1
    assert tuple(greedy_heads(np.nan_to_num(scores_TS, nan=-np.inf)).tolist()) == planted
    assert tuple(best_tree(scores_TS, single_root=True).tolist()) == planted


@settings(max_examples=20)
@given(seeds)
def test_long_sentences_get_a_tree_with_one_word_under_the_root(seed: int) -> None:
    """Scores near the root's make many roots; scores of neighbours for each other make cycles within cycles."""
    scores_TS = random_scores(seed, LONG)
    scores_TS[:, 0] += 1
    near = np.abs(np.arange(LONG)[:, None] + 1 - np.arange(LONG + 1))
    heads = best_tree(scores_TS - 0.5 * near, single_root=True)
    assert (heads == 0).sum() == 1
    assert find_cycle(heads.tolist()) == []


def test_planted_cycles_within_cycles_are_unfolded() -> None:
    """1 and 2 want each other, both together 3 and 3 them: the arc from the root breaks in where it costs least."""
    scores_TS = np.array([[0.0, 0, 10, 4], [1, 10, 0, 0], [0, 5, 0, 0]])
    assert best_tree(scores_TS, single_root=True).tolist() == [2, 0, 1]
    assert oracle.best(scores_TS, single_root=True) == (2, 0, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [slice(None), 0, (slice(None), 0)])
def test_scores_of_a_network_that_diverged_still_give_a_tree(value: float, where: object) -> None:
    scores_TS = random_scores(3, 5)
    scores_TS[where] = value  # type: ignore[index]
    assert tuple(best_tree(scores_TS, single_root=True).tolist()) in oracle.trees(5, single_root=True)
