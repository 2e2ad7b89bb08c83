"""What an ablation will cost, on made-up ledgers of searches whose seeds trained together, or one after another."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablation_plan import ablation_page
from skipstack.search.analysis.ablation.experiment import Experiment, experiment
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.confirmation.forecast import Forecast, Resolution, forecast
from skipstack.search.ledger.events import Event
from skipstack.search.statistics.power import Noise, noise, smallest_difference
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.made_up import DEPTH, HIDDEN, ended, opening, proposed, record_of, reported, study

AXES = {DEPTH: {"choice": [3, 5, 7]}, HIDDEN: {"choice": [16, 32, 64]}}
CONFIG = study(AXES, proposer="random", scheduler="none")
POINTS = [{DEPTH: depth, HIDDEN: hidden} for depth in (3, 5) for hidden in (16, 32)]
"""The base, either change alone, and the winner with both: all that an ablation trains."""

FAR = {DEPTH: 7, HIDDEN: 64}
"""Slow, and like none of them."""

EPOCHS = CONFIG.space.base.training.epochs


def taken(number: int, seeds: int) -> float:
    """Planted: the seconds of an epoch, of which a part does not grow with the seeds."""
    return (1 + number) * (0.5 + 0.25 * seeds)


def searched(seeds: int, *, racing: bool = False) -> StudyRecord:
    """The last of ``POINTS`` is the best. Racing seeds report one after another."""
    events: list[Event] = []
    for number, point in enumerate([*POINTS, FAR]):
        events.append(proposed(CONFIG, number, point, seeds=tuple(range(seeds))))
        for seed in range(seeds) if racing else (None,):
            for epoch in range(1, EPOCHS + 1):
                lanes = [0.5 if point is FAR else 0.8 + 0.01 * number] * (1 if racing else seeds)
                report = reported(number, epoch, *lanes, seconds=taken(number, len(lanes)))
                events.append(report if seed is None else report.model_copy(update={"seeds": (seed,)}))
        events.append(ended(number))
    return record_of(CONFIG, *events)


def ablation(record: StudyRecord, seeds: int, *, family: str = "", place: int = 1) -> Experiment:
    return experiment(record, AblationOptions(seeds=seeds, family=family), place=place, time=0.0)


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Forecast]:
    """Forecasts where every corpus has as many tokens as its name has letters."""
    monkeypatch.setattr(
        "skipstack.search.analysis.confirmation.forecast._tokens", lambda folder, event: len(event.corpus)
    )

    def of(record: StudyRecord, seeds: int, **options: Any) -> Forecast:
        made = ablation(record, seeds, **options)
        return forecast(record, made, opening(made.study), StudyFolder(tmp_path))

    return of


def test_rows_may_have_corpora_of_the_search_that_are_not_among_the_first_events(
    expected: Callable[..., Forecast], tmp_path: Path
) -> None:
    record = searched(2)
    assert forecast(record, ablation(record, 2), [], StudyFolder(tmp_path)) == expected(record, 2)


@pytest.mark.parametrize("seeds", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("of_search", [1, 2, 4])
def test_what_is_said_holds_what_it_takes_where_seeds_train_together(
    of_search: int, seeds: int, expected: Callable[..., Forecast]
) -> None:
    found = expected(searched(of_search), seeds)
    truth = EPOCHS * sum(taken(number, seeds) for number in range(4))
    measured = EPOCHS * sum(taken(number, of_search) for number in range(4))
    assert found.seconds is not None
    least, most = found.seconds
    assert least <= truth + 1e-9
    assert truth <= most + 1e-9
    assert sorted((least, most)) == pytest.approx(sorted((measured, measured * seeds / of_search)))
    assert (found.trials, found.most, found.seeds) == (4, 4, seeds)


def test_seeds_that_raced_trained_alone(expected: Callable[..., Forecast]) -> None:
    alone = EPOCHS * sum(taken(number, 1) for number in range(4))
    assert expected(searched(2, racing=True), 3).seconds == pytest.approx((alone, 3 * alone))


def test_the_sentence_says_the_span_and_what_it_assumes(expected: Callable[..., Forecast]) -> None:
    record = searched(2)

    def told(seeds: int) -> str:
        page = ablation_page(ablation(record, seeds), expected(record, seeds), record.measure)
        return " ".join(render(Report(page=page, content={}), "text").split())

    pace = "of training, one trial after another, at the pace of the search"
    assert f"about 60 s {pace} the" in told(2)
    assert f"about 60 s to 2.5 min {pace}: 5 seeds take at least as long as its 2, at most 2.5 times as long" in told(5)
    assert f"about 30 s to 60 s {pace}: 1 seed takes at most as long as its 2, at least 50% of it" in told(1)


def test_a_plan_that_can_mark_no_possible_gain_says_so(expected: Callable[..., Forecast]) -> None:
    record = searched(2)
    resolution = Resolution(smallest=3.1, as_searched=1.5, needed=None, sentences=20, questions=5)
    page = ablation_page(ablation(record, 2), replace(expected(record, 2), resolution=resolution), record.measure)
    told = " ".join(render(Report(page=page, content={}), "text").split())
    assert "no possible gain or loss gets a mark in 80% of cases with 2 seeds, if scores vary as in the search" in told


@pytest.mark.parametrize("place", [1, 2])
def test_in_a_family_less_is_detected_as_with_so_many_more_questions(
    place: int, expected: Callable[..., Forecast], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = np.random.default_rng(3)
    table = source.normal(0, 0.004, (2, 1)) + source.normal(0, 0.1, (1, 400)) + source.normal(0, 0.2, (2, 400))
    monkeypatch.setattr("skipstack.search.analysis.confirmation.forecast.difference_table", lambda *_: table)
    found = expected(searched(2), 5, family="layers", place=place).resolution
    known = noise([table])
    assert found is not None
    assert known is not None
    questions = 5 * place * (place + 1)
    truth = smallest_difference(replace(known, degrees=inf), seeds=5, sentences=400, questions=questions)
    assert found.as_searched == pytest.approx(truth)
    assert found.questions == 5


@pytest.mark.slow
def test_what_can_be_told_is_said_as_the_search_has_it_and_with_allowance_for_its_few_seeds(
    expected: Callable[..., Forecast], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted tables of differences, of known noise: the report of an ablation with that noise has the truth."""
    source, sentences = np.random.default_rng(1), 400
    planted = Noise(seeds=0.004**2, sentences=0.1**2, rest=0.2**2)

    def table(*_: object) -> NDArray[np.float64]:
        of_seeds, of_sentences = source.normal(0, 0.004, (2, 1)), source.normal(0, 0.1, (1, sentences))
        return np.asarray(of_seeds + of_sentences + source.normal(0, 0.2, (2, sentences)))

    monkeypatch.setattr("skipstack.search.analysis.confirmation.forecast.difference_table", table)
    record = searched(2)
    found = [expected(record, 5).resolution for _ in range(60)]
    truth = smallest_difference(planted, seeds=5, sentences=sentences, questions=5)
    as_searched = np.median([each.as_searched for each in found if each is not None and each.as_searched is not None])
    allowing = np.median([each.smallest for each in found if each is not None and each.smallest is not None])
    assert as_searched == pytest.approx(truth, rel=0.2)
    assert allowing > 1.3 * truth
    page = ablation_page(ablation(record, 5), expected(record, 5), record.measure)
    told = " ".join(render(Report(page=page, content={}), "text").split())
    assert "points if scores vary as in the search, " in told
    assert "with allowance for how roughly its 2 seeds show that (5 questions at once" in told
