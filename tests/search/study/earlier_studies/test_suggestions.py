"""Which trials of other corpora a study begins with."""

from skipstack.search.ledger.events import Suggestion
from skipstack.search.study.earlier_studies.reading import Candidate
from skipstack.search.study.earlier_studies.warm_start import MOST, OF_TRIALS, suggestions

BASE = {"x": 0}


def trials(study: str, similarity: float, *points: int) -> list[Candidate]:
    return [
        Candidate(rank, Suggestion(study=study, trial=x, similarity=similarity, point={"x": x}))
        for rank, x in enumerate(points, 1)
    ]


def chosen(candidates: list[Candidate], trials: int = 100) -> list[tuple[str, int]]:
    return [(each.study, each.trial) for each in suggestions(candidates, BASE, trials)]


def test_the_second_best_comes_before_the_best_of_a_corpus_less_than_half_as_similar() -> None:
    near, far = trials("near", 0.9, 1, 2, 3), trials("far", 0.44, 4, 5, 6)
    assert chosen([*far, *near]) == [("near", 1), ("near", 2), ("far", 4), ("near", 3), ("far", 5)]
    assert chosen([*near, *trials("half", 0.46, 4, 5)]) == [
        ("near", 1),
        ("half", 4),
        ("near", 2),
        ("near", 3),
        ("half", 5),
    ]


def test_a_point_counts_once_where_it_ranks_first_and_the_base_not_at_all() -> None:
    near, far = trials("near", 0.9, 1, 0, 2), trials("far", 0.4, 2, 3)
    assert chosen([*near, *far]) == [("near", 1), ("far", 2), ("far", 3)]


def test_there_are_five_at_most_and_a_fourth_of_the_trials_but_one_in_any_case() -> None:
    many = trials("a", 1.0, *range(1, 20))
    assert [len(chosen(many, number)) for number in (1, 4, 7, 8, 19, 20, 1000)] == [1, 1, 1, 2, 4, 5, 5]
    assert (MOST, OF_TRIALS) == (5, 4)
