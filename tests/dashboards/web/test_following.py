"""A study is followed: what one look after another finds is what a single reading of the whole ledger does."""

from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.web.following import EVERY, Followed
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import (
    Begun,
    Decided,
    Ended,
    Event,
    Finished,
    Interrupted,
    Measuring,
    Placed,
    Proposed,
    Reported,
    Resumed,
    Retried,
    Started,
)
from skipstack.search.ledger.ledger import Ledger
from tests.dashboards.web.shown import write
from tests.search.changed import scheduler_of
from tests.search.made_up import history, study

EVENTS = list(history(study(trials=30), seed=1))


def test_looks_at_a_growing_ledger_end_where_a_single_one_does(tmp_path: Path) -> None:
    folder = tmp_path / "growing"
    with Ledger(folder / "ledger") as ledger:
        ledger.append(*EVENTS[:2])
        followed = Followed(folder)
        states = []
        for start in range(2, len(EVENTS), 40):
            ledger.append(*EVENTS[start : start + 40])
            states.append(followed.look())
            assert followed.look() is states[-1]  # nothing is made anew where nothing happened
            pd.testing.assert_frame_equal(followed.scores(), study_frames(folder).trials[["state", "score", "dev"]])
    once = Followed(write(tmp_path / "whole", EVENTS))
    whole, last = once.look(), states[-1]
    assert followed.spans().equals(once.spans())
    assert followed.scores().equals(once.scores())
    assert followed.progressed().search.seen.trials.equals(once.progressed().search.seen.trials)
    assert followed.progressed() is followed.progressed()
    assert (last.state, last.ended, last.total, last.epochs) == ("finished", 30, 30, whole.epochs)
    assert [level.counts for level in last.levels] == [level.counts for level in whole.levels]
    assert last.faults == whole.faults
    assert (last.trials, last.best, last.measure) == (whole.trials, whole.best, whole.measure)
    assert last.seconds == pytest.approx(sum(each.seconds for each in EVENTS if isinstance(each, Reported)))
    ended = [event for event in EVENTS if isinstance(event, Ended) and event.reason == "failed"]
    assert [(fault.trial, fault.message) for fault in whole.faults] == [(each.trial, each.message) for each in ended]
    assert [state.ended for state in states] == sorted(state.ended for state in states)


def test_an_empty_ledger_is_refused_until_it_has_an_event(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        followed = Followed(tmp_path)
        with pytest.raises(UserError, match="the ledger is empty"):
            followed.look()
        ledger.append(*EVENTS[:61])
    assert followed.look().trials


def test_no_trial_is_trained_between_two_drivers_and_the_pace_is_the_last_ones(tmp_path: Path) -> None:
    events, away = EVENTS[:61], 10_000.0
    now = events[-1].time
    lost = [Interrupted(time=now), Resumed(time=now + away, code_version="test")]
    before = Followed(write(tmp_path / "before", events)).look()
    gone = Followed(write(tmp_path / "after", [*events, *lost]))
    after = gone.look()
    assert len(before.running) == 2
    assert after.running == {}
    assert set(gone.spans()["until"]) <= {event.time for event in events}
    assert before.per_minute is not None
    assert before.seconds_left == pytest.approx(60 * (before.total - before.ended) / before.per_minute)
    assert after.per_minute is None


def test_the_trials_of_an_interrupted_study_wait_until_they_are_started_again(tmp_path: Path) -> None:
    events, now = EVENTS[:61], EVENTS[60].time
    training = list(Followed(write(tmp_path / "before", events)).look().running)
    lost = [*events, Interrupted(time=now)]
    again = [*lost, Resumed(time=now + 9, code_version="test"), Started(time=now + 9, trial=training[0])]
    killed = [*events, Resumed(time=now + 9, code_version="test")]
    counts = dict[str, tuple[int, int]]()
    for name, told in {"lost": lost, "again": again, "killed": killed}.items():
        levels = Followed(write(tmp_path / name, told)).look().levels
        running, waiting = (sum(level.counts[state] for level in levels) for state in ("running", "waiting"))
        counts[name] = running, waiting
    assert counts == {"lost": (0, 2), "again": (1, 1), "killed": (0, 2)}


def test_an_event_that_cannot_come_next_is_refused_by_each_look(tmp_path: Path) -> None:
    followed = Followed(write(tmp_path, [*EVENTS[:61], Ended(time=0.0, trial=99, reason="stopped"), *EVENTS[61:]]))
    for _ in range(2):
        with pytest.raises(UserError, match=rf"{tmp_path}.*event 62 \(ended\) .*: got trial 99"):
            followed.look()


def test_a_trial_that_is_tried_again_is_told_once_for_each_time(tmp_path: Path) -> None:
    events = EVENTS[:10]
    trial = next(iter(Followed(write(tmp_path / "a", events)).look().running))
    again = Retried(time=events[-1].time, trial=trial, cause="out_of_memory", message="none left")
    (fault,) = Followed(write(tmp_path / "b", [*events, again])).look().faults
    assert (fault.trial, fault.what, fault.message, fault.again) == (trial, "out of memory", "none left", True)


def queued(*, told: bool) -> list[Event]:
    """The first events of a study on Ray with two trials of which one waits; a version may have ``told`` who does."""
    opening = [each for each in EVENTS[:20] if each.kind in ("study_opened", "corpus_prepared")]
    placed = Placed(time=0.0, place="", engine="ray", address=None, gpus_per_trial=0.0, device="cpu", tracking_uri=None)
    first, second = [each for each in EVENTS if isinstance(each, Proposed)][:2]
    report = next(each for each in EVENTS if isinstance(each, Reported) and each.trial == first.trial)
    started = [Started(time=1.0, trial=first.trial), Started(time=1.0, trial=second.trial)]
    begun = [Begun(time=5.0, trial=first.trial)] if told else []
    reported = report.model_copy(update={"time": 9.0, "seconds": 3.0})
    return [*opening, placed, first, second, *started, *begun, reported]


@pytest.mark.parametrize(("told", "began"), [(True, 5.0), (False, 6.0)])
def test_a_trial_that_waits_for_a_worker_is_not_drawn_as_work(tmp_path: Path, told: bool, began: float) -> None:
    followed = Followed(write(tmp_path, queued(told=told)))
    found = followed.look()
    assert (list(found.running), found.waiting) == ([0], 1)
    assert followed.spans().set_index(["trial", "phase"]).to_dict("index") == {
        (0, "waiting"): {"began": 1.0, "until": began, "state": "training"},
        (0, "training"): {"began": began, "until": 9.0, "state": "running"},
        (1, "waiting"): {"began": 1.0, "until": 9.0, "state": "waiting"},
    }
    counted = {state: sum(level.counts[state] for level in found.levels) for state in ("running", "waiting")}
    assert counted == {"running": 1, "waiting": 1}


def test_who_is_measured_on_test_is_no_longer_waited_for_once_it_is_told(tmp_path: Path) -> None:
    before = [event for event in EVENTS if not isinstance(event, Finished | happened.Tested)]
    first = next(event for event in EVENTS if isinstance(event, happened.Tested))
    end = before[-1].time
    under_way = Followed(write(tmp_path / "a", [*before, Measuring(time=end + 1, trial=first.trial)]))
    found = under_way.look()
    assert (found.state, found.measuring, found.running) == ("measuring on test", (first.trial,), {})
    assert sum(level.counts["measuring"] for level in found.levels) == 1
    told = [Measuring(time=end + 1, trial=first.trial), first.model_copy(update={"time": end + 3})]
    over = Followed(write(tmp_path / "b", [*before, *told]))
    assert over.look().measuring == ()
    spans = over.spans()
    assert spans[spans["phase"] == "measuring"].to_dict("records") == [
        {"trial": first.trial, "phase": "measuring", "began": end + 1, "until": end + 3, "state": "measured"}
    ]


def test_what_lies_ahead_of_those_that_train_is_what_the_scheduler_says(tmp_path: Path) -> None:
    events = EVENTS[: next(place for place, event in enumerate(EVENTS) if event.kind == "ended" and event.trial > 5)]
    events = events[: max(place for place, event in enumerate(events) if isinstance(event, Decided)) + 1]
    followed = Followed(write(tmp_path, events))
    judge = scheduler_of(study(trials=30).search, 6, frozenset({0}))
    for event in events:
        if isinstance(event, Reported):
            judge.report(event.trial, event.epoch, event.score)
    running = followed.look().running
    assert followed.progressed().ahead == {number: judge.ahead(number) for number in running}
    assert any(ahead.needed is not None for number in running for ahead in judge.ahead(number))


def test_a_long_ledger_is_read_as_columns_with_the_same_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, EVENTS[:200])
    short = Followed(folder)
    monkeypatch.setattr("skipstack.search.study.record.reading.LONG", 0)
    long = Followed(folder)
    assert long.look() == short.look()
    assert long.spans().equals(short.spans())
    assert long.progressed().search.seen.trials.equals(short.progressed().search.seen.trials)


def test_an_exploration_is_used_again_for_a_moment_unless_the_study_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skipstack.dashboards.web.following.RECENT", 1000.0)
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*EVENTS[:60])
        followed = Followed(tmp_path)
        first = followed.progressed()
        ledger.append(*EVENTS[60:120])
        assert followed.progressed() is first
        monkeypatch.setattr("skipstack.dashboards.web.following.RECENT", -1000.0)
        second = followed.progressed()
        assert len(second.search.seen.trials) > len(first.search.seen.trials)
        assert followed.progressed() is second  # nothing has happened since
        monkeypatch.setattr("skipstack.dashboards.web.following.RECENT", 1000.0)
        ledger.append(*EVENTS[120:])
        assert followed.progressed().search.finished


def test_the_pace_is_none_once_the_study_is_over(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*EVENTS[:60])
        followed = Followed(tmp_path)
        paces = (followed.pace, followed.progress_pace)
        assert [pace() for pace in paces] == [EVERY, EVERY]  # before it has read anything
        followed.progressed()
        assert all((pace() or 0) >= EVERY for pace in paces)
        ledger.append(*EVENTS[60:])
        followed.look()
        assert [pace() for pace in paces] == [None, None]
