"""The scheduler that is read from a record says what the driver's own one does, at any time in a study."""

from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.study_state import StudyState
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.replayed_scheduler import replayed_scheduler
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.changed import searched
from tests.search.made_up import history, study
from tests.search.toy import FailingWorker, open_toy, run_toy, toy_study

SCHEDULERS: dict[str, Any] = {
    "asha": {"kind": "asha", "reduction": 2},
    "asha, seeds": {"kind": "asha", "reduction": 2, "resource": "seeds"},
    "promotion": {"kind": "asha", "reduction": 2, "variant": "promotion", "brackets": 2},
    "hyperband": {"kind": "hyperband", "reduction": 2},
    "median": {"kind": "median", "minimum_trials": 2},
}


@pytest.mark.first(2)
@pytest.mark.parametrize("kind", SCHEDULERS)
def test_what_lies_ahead_of_each_trial_is_what_the_drivers_scheduler_says(kind: str, tmp_path: Path) -> None:
    folder = open_toy(tmp_path, searched(toy_study(trials=14), scheduler=SCHEDULERS[kind], seeds=3))
    run_toy(folder, worker=FailingWorker)
    opened, *events = Ledger(folder.ledger).read()
    state = StudyState(folder, opened, written=folder.ledger)
    thresholds = 0
    for number, event in enumerate(events):
        state.apply(event)
        if number % 5 == 0:
            replayed = replayed_scheduler(state.record)
            for trial in state.record.trials:
                assert replayed.ahead(trial) == state.scheduler.ahead(trial), (number, trial)
                thresholds += sum(ahead.needed is not None for ahead in replayed.ahead(trial))
    assert thresholds, "else nothing was compared"


def test_decisions_that_this_version_would_not_take_are_told() -> None:
    events = list(history(study(trials=30), seed=1))
    other = study(trials=30, scheduler={"kind": "asha", "grace": 1, "reduction": 2, "variant": "promotion"})
    foreign = events[0].model_copy(update={"study": other.model_dump(mode="json")})
    record = StudyRecord.of([foreign, *events[1:]])
    assert replayed_scheduler(record).rungs == (1, 2, 4), "trials that went on at once count as promoted"
    record.trials[1].reports.append(record.trials[2].reports[0].model_copy(update={"trial": 1, "epoch": 1}), 10**6)
    with pytest.raises(UserError, match=r"trial 1 .*allowed: a ledger of this version"):
        replayed_scheduler(record)
