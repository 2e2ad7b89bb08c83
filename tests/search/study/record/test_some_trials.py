"""The events of a few trials are those of the whole ledger about them, and about the study itself."""

from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ablated, Finished, Observed, StudyOpened, WarmStarted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import events_of_trials
from skipstack.search.study.record.study_record import StudyRecord
from tests.dashboards.web.shown import write
from tests.search.made_up import history, study

EVENTS = list(history(study(trials=30), seed=1))


def ablated(number: int) -> list[Ablated]:
    return [
        Ablated(time=event.time, ablation=number, event=event) for event in EVENTS if not isinstance(event, Ablated)
    ]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    folder: Path = tmp_path_factory.mktemp("study")
    return Ledger(write(folder, [*EVENTS, *ablated(1), *ablated(12)]) / "ledger")


def test_the_record_of_some_trials_is_that_of_all_for_them(ledger: Ledger) -> None:
    whole = StudyRecord.of(EVENTS)
    found = events_of_trials(ledger, {1, 12})
    assert found == [event for event in EVENTS if getattr(event, "trial", None) in (None, 1, 12)]
    some = StudyRecord.of(found)
    assert list(some.trials) == [1, 12]
    for number, trial in some.trials.items():
        own = whole.trials[number]
        assert (trial.reports, trial.state, trial.point, trial.tested) == (
            own.reports,
            own.state,
            own.point,
            own.tested,
        )


def test_a_study_that_learns_from_an_earlier_one_is_opened_for_each_of_its_trials(tmp_path: Path) -> None:
    opened, *others = EVENTS
    earlier = Observed(trial=77, config_identity="ab", point={}, reason="completed", curve=((1, 0.5),))
    learns = WarmStarted(time=opened.time, study="earlier", observed=(earlier,))
    with Ledger(tmp_path) as ledger:
        ledger.append(opened, learns)  # one line, which has the number of a trial of the earlier study
        for event in others:
            ledger.append(event)
    assert events_of_trials(ledger, {1})[:2] == [opened, learns]


def test_those_of_an_ablation_are_told_apart_from_those_of_the_search_and_of_others(ledger: Ledger) -> None:
    for number in (1, 12):
        found = events_of_trials(ledger, None, number)
        assert found == EVENTS
        assert isinstance(found[0], StudyOpened)
        assert isinstance(found[-1], Finished)
    assert events_of_trials(ledger, None) == EVENTS
    with pytest.raises(UserError, match="got ablation 2, which the study does not have"):
        events_of_trials(ledger, None, 2)
