"""Calls of a function with replicates: each has one seed and one replicate, and what cannot be is refused."""

from itertools import product
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.frames.columns import COLUMNS
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.function import RESERVED
from skipstack.spaces.replicates import SEEDS_ALONE, TAKEN, Replicates
from tests.search.functions import LINE, rising, source_of

FOLDS = Replicates.of({"fold": 3})
CORPORA = Replicates.of({"corpus": ["news", "web"]})


@pytest.mark.parametrize("first", [0, 7, 1_000_000])
def test_each_seed_meets_each_replicate_in_one_call(first: int) -> None:
    seeds = range(first, first + 4)
    calls = [FOLDS.arguments(call) for call in FOLDS.calls(seeds)]
    assert calls == [{"seed": seed, "fold": fold} for seed, fold in product(seeds, range(3))]
    of_list = [CORPORA.arguments(call) for call in CORPORA.calls(seeds)]
    assert of_list == [{"seed": seed, "corpus": corpus} for seed, corpus in product(seeds, ("news", "web"))]
    assert [SEEDS_ALONE.arguments(call) for call in SEEDS_ALONE.calls(seeds)] == [{"seed": seed} for seed in seeds]


def test_no_two_calls_share_a_folder() -> None:
    for replicates in (FOLDS, CORPORA, SEEDS_ALONE):
        calls = replicates.calls(range(5))
        assert len({replicates.folder(call) for call in calls}) == len(calls)
    assert str(FOLDS.folder(5)) == "seed-1/fold-2"
    assert str(SEEDS_ALONE.folder(5)) == "seed-5"


def test_no_replicate_is_called_as_a_column_of_the_tables_of_calls() -> None:
    assert {*RESERVED, *TAKEN} >= {column.name for frame in ("seeds", "curves") for column in COLUMNS[frame]}


def test_words() -> None:
    assert [FOLDS.words(5), CORPORA.words(5), SEEDS_ALONE.words(5)] == [
        "seed 1, fold 2",
        "seed 2, corpus web",
        "seed 5",
    ]
    assert [FOLDS.counted(calls) for calls in (1, 3, 6)] == ["1 fold", "3 folds", "3 folds of each of 2 partitions"]
    assert CORPORA.counted(2) == "2 values of corpus"
    assert CORPORA.counted(6) == "2 values of corpus, each with 3 seeds"
    assert SEEDS_ALONE.counted(2) == "2 seeds"


def test_a_search_has_one_seed_beside_replicates_unless_it_says_more() -> None:
    given = {"replicates": {"fold": 5}}
    assert list(SearchConfig.model_validate(given).lane_seeds) == [0, 1, 2, 3, 4]
    assert len(SearchConfig.model_validate({**given, "seeds": 3}).lane_seeds) == 15
    assert list(SearchConfig().lane_seeds) == [0, 1]
    again = SearchConfig.model_validate(SearchConfig.model_validate(given).model_dump(mode="json"))
    assert again == SearchConfig.model_validate(given)


@pytest.mark.parametrize(
    ("replicates", "says"),
    [
        (5, "search.replicates: got 5 (allowed: one name, with the number of folds or a list of values"),
        ({"fold": 5, "corpus": ["a", "b"]}, "search.replicates: got {"),
        ({"fold": 1}, "search.replicates: fold: got 1 (allowed: 2 to 10,000 folds)"),
        ({"fold": True}, "search.replicates: fold: got true (allowed: one name"),
        ({"fold": 2.5}, "search.replicates: fold: got 2.5 (allowed: one name"),
        ({"fold": "five"}, "search.replicates: fold: got 'five' (allowed: one name"),
        (
            {"seed": 5},
            "search.replicates: got the name 'seed' (allowed: a Python name other than function, seed, trial",
        ),
        ({"my fold": 5}, "search.replicates: got the name 'my fold' (allowed: a Python name"),
        ({"corpus": ["a"]}, 'search.replicates: corpus: got ["a"] (allowed: two values or more, each once)'),
        ({"corpus": ["a", "a"]}, "search.replicates: corpus: got"),
        ({"corpus": ["a", ["b"]]}, 'search.replicates: corpus: got ["b"] (allowed: a list of texts or numbers)'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(replicates: Any, says: str) -> None:
    with pytest.raises(UserError) as refused:
        load_study({**LINE, "search": {"replicates": replicates}}, function=source_of(rising))
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
