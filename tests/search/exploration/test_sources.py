"""Every number of a report comes out again from the events that it is said to be made from, and from no others."""

from statistics import fmean

import pandas as pd
import pytest

from skipstack.search.exploration.sources import Sources
from skipstack.search.exploration.table import Row
from skipstack.search.ledger.events import Event
from skipstack.search.results import explored
from skipstack.search.study.records.study_record import StudyRecord
from tests.search.made_up import AXES, history, opening, study


def _frame(events: list[Event]) -> pd.DataFrame:
    trials = pd.array([getattr(event, "trial", None) for event in events], dtype="Int64")
    return pd.DataFrame({"event": range(len(events)), "kind": [event.kind for event in events], "trial": trials})


def _number(row: Row, name: str) -> object:
    return getattr(row, name)


@pytest.mark.parametrize("seed", range(2))
def test_each_number_of_a_report_is_made_again_from_its_events_alone(seed: int) -> None:
    config = study(trials=12)
    events: list[Event] = list(history(config, seed=seed))
    found = explored(StudyRecord.of(events))
    sources = Sources(found, _frame(events))
    seen = set()
    for row in found.rows:
        for name, numbers in sources.of(row).items():
            assert list(numbers) == sorted(set(numbers))
            alone = StudyRecord.of(
                [*opening(config)[: 1 if row.axis == "baseline" else 2], *(events[n] for n in numbers)]
            )
            (again,) = (each for each in explored(alone).rows if (each.axis, each.value) == (row.axis, row.value))
            if name == "effect":
                assert _number(again, name) == pytest.approx(_number(row, name), abs=1e-9)
            else:
                assert _number(again, name) == _number(row, name)
            seen.add((row.axis, name))
        assert {name for name in ("dev", "test") if _number(row, name)} == {*sources.of(row)} & {"dev", "test"}
    assert {axis for axis, _ in seen} == {"baseline", "base", "best", *AXES}
    assert {name for _, name in seen} == {"trials", "scored", "dev", "effect", "test", "epochs", "seconds"}


def test_what_rests_on_all_trials_is_made_of_all_that_they_reported() -> None:
    config = study(trials=12)
    events: list[Event] = list(history(config))
    found = explored(StudyRecord.of(events))
    everything = Sources(found, _frame(events)).everything
    alone = explored(StudyRecord.of([*opening(config), *(events[number] for number in everything)]))
    assert alone.rungs.equals(found.rungs)
    assert alone.budgets.equals(found.budgets)
    assert alone.pairs["interaction"].tolist() == pytest.approx(found.pairs["interaction"].tolist(), abs=1e-9)
    assert fmean(alone.importances["fanova"]) == pytest.approx(fmean(found.importances["fanova"]), abs=1e-6)
