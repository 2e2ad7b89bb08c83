"""A ledger read as columns gives the very record that its events give, one after another."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.search.ledger.events import Decided, Event, Noted, Reported, Resumed, Retried
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.record import reading
from skipstack.search.study.record.columnar_record import columnar_record
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Space
from tests.formats.before_files import STUDIES, copied
from tests.search import made_up
from tests.search.changed import searched
from tests.search.toy import open_toy, run_toy, toy_study


def varied(events: Iterator[Event], seed: int) -> Iterator[Event]:
    """Reports as they may be, too: of other metrics, NaN, latencies; and trials that other lines stand among."""
    draw = random.Random(seed)
    for event in events:
        if isinstance(event, Reported):
            further = {"dev_f1": event.metrics["dev_accuracy"], "train_loss": (draw.random() * 1e-7, 1e22)}
            changes: list[dict[str, object]] = [
                {},
                {"metrics": event.metrics | further},
                {"score": math.nan, "metrics": {"dev_accuracy": (math.nan, math.inf)}},
                {"latency": draw.random()},
            ]
            (change,) = draw.choices(changes, (20, 5, 1, 1))
            yield event.model_copy(update=change)
        else:
            yield event
            if isinstance(event, Decided) and draw.random() < 0.05:
                yield Retried(time=event.time, trial=event.trial, cause="crashed", message='{"a":[1,2]},')


def written(folder: Path, seed: int) -> Ledger:
    """A study of 16 trials; what its driver writes as one append is one."""
    search = {"trials": 16, "scheduler": {"kind": "none"} if seed % 2 else {"kind": "asha", "reduction": 2}}
    together: list[Event] = []
    with Ledger(folder) as ledger:
        for event in varied(made_up.history(made_up.study(**search), seed=seed), seed):
            if together and event.kind not in ("decided", "ended"):
                ledger.append(*together)
                together = []
            together.append(event)
        ledger.append(*together)
    return Ledger(folder)


def told(record: StudyRecord) -> tuple[object, ...]:
    """Everything that a record knows, as text, so that NaN equals NaN."""
    trials = [(repr(trial), list(trial.reports.events)) for trial in record.trials.values()]
    return record.events, trials, record.opened, record.corpora, record.finished


@pytest.mark.first(4)
@pytest.mark.parametrize("seed", range(20))
def test_columns_give_the_record_that_events_give(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = written(tmp_path / "ledger", seed)
    wanted = StudyRecord.of(ledger.read())
    found = columnar_record(ledger.lines())
    assert found is not None
    assert told(found) == told(wanted)
    monkeypatch.setattr(reading, "LONG", 0)
    assert told(read_study(tmp_path)) == told(wanted)


def test_the_time_until_a_kill_counts(tmp_path: Path) -> None:
    """Also where the last event of a run is a report that is read as a column."""
    config = made_up.study(trials=1, scheduler={"kind": "none"})
    with Ledger(tmp_path) as ledger:
        ledger.append(*made_up.opening(config))
        ledger.append(made_up.proposed(config, 0, Space(config.space).base_point()))
        for epoch, time in enumerate((10.0, 20.0, 25.0, 1000.0, 1003.0), start=1):
            if epoch == 4:
                ledger.append(Resumed(time=900.0, code_version=""), Noted(time=950.0, trial=None, text="", asked_by=""))
            report = made_up.reported(0, epoch, 0.5, 0.25 * epoch).model_copy(update={"time": time})
            ledger.append(report, Decided(time=time, trial=0, epoch=epoch, decision="continue", rung=None))
    record = columnar_record(ledger.lines())
    assert record is not None
    assert record.working.seconds() == StudyRecord.of(ledger.read()).working.seconds() == 25.0 + 3.0


@pytest.mark.parametrize("name", STUDIES)
def test_ledgers_of_the_version_before_are_read_alike(name: str, tmp_path: Path) -> None:
    ledger = Ledger(copied(name, tmp_path) / "ledger")
    found = columnar_record(ledger.lines())
    assert found is not None
    assert told(found) == told(StudyRecord.of(ledger.read()))


def test_a_long_study_is_read_whose_seeds_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trials are tested with seeds that later groups have added."""
    racing = searched(toy_study(6, "grid"), seeds=2, scheduler=AshaConfig(reduction=2, resource="seeds"))
    wanted = run_toy(open_toy(tmp_path, racing))
    assert max(len(trial.test) for trial in wanted.trials.values()) == 2
    monkeypatch.setattr(reading, "LONG", 0)
    assert told(read_study(tmp_path)) == told(wanted)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b'"trial":1,"epoch":2,"decision"', b'"trial":1,"epoch":3,"decision"'),
        (b'"trial":1,"epoch":2,"decision"', b'"trial":0,"epoch":2,"decision"'),
        (b'"trial":1,"epoch":2,"score":', b'"trial":1,"epoch":2,"score":-'),
    ],
)
def test_what_no_driver_writes_is_left_to_events(written: bytes, instead: bytes, tmp_path: Path) -> None:
    """Decisions on other reports than their own; a score below 0 is one like any other."""
    config = made_up.study(trials=2, scheduler={"kind": "none"})
    with Ledger(tmp_path) as ledger:
        ledger.append(*made_up.opening(config))
        for number in (0, 1):
            ledger.append(made_up.proposed(config, number, Space(config.space).base_point()))
            for epoch in (1, 2, 3):
                going = Decided(time=0.0, trial=number, epoch=epoch, decision="continue", rung=None)
                ledger.append(made_up.reported(number, epoch, 0.5, 0.25 * epoch), going)
    lines = [line._replace(payload=(line.payload or b"").replace(written, instead)) for line in ledger.lines()]
    assert sum(line.payload != one.payload for line, one in zip(lines, ledger.lines(), strict=True)) == 1
    found = columnar_record(lines)
    assert (found is None) == (b"decision" in written)
    if found is not None:
        assert found.trials[1].reports.scores[1] == -0.5
