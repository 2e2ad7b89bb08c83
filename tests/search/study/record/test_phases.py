"""When a trial waited, trained, was paused and was measured follows from the times of the ledger's events."""

from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import (
    Begun,
    Decided,
    Ended,
    Event,
    Interrupted,
    Measuring,
    Placed,
    Promoted,
    Resumed,
    Retried,
    Started,
    Untested,
)
from skipstack.search.study.record.phases import Phases
from tests.search.made_up import reported


def placed(engine: str) -> Placed:
    return Placed(time=0.0, place="", engine=engine, address=None, gpus_per_trial=0.0, device="cpu", tracking_uri=None)


def phases(*events: Event) -> list[tuple[int, str, float, float, str]]:
    heard = Phases()
    for event in events:
        heard.happened(event)
    spans = sorted(heard.spans(), key=lambda each: (each.began, each.trial))
    return [(each.trial, each.phase, each.began, each.until, each.state) for each in spans]


def test_a_trial_on_ray_waits_trains_pauses_and_is_measured() -> None:
    assert phases(
        placed("ray"),
        Started(time=1.0, trial=0),
        Begun(time=3.0, trial=0),
        Decided(time=8.0, trial=0, epoch=1, decision="pause", rung=1),
        Promoted(time=20.0, trial=0),
        Started(time=20.0, trial=0),
        Begun(time=21.0, trial=0),
        Retried(time=24.0, trial=0, cause="crashed", message=""),
        Started(time=24.0, trial=0),
        Begun(time=25.0, trial=0),
        Ended(time=30.0, trial=0, reason="completed"),
        Measuring(time=31.0, trial=0),
        Untested(time=32.0, trial=0, reason="failed", message="", then="measure"),
        Measuring(time=33.0, trial=0),
        happened.Tested(time=36.0, trial=0, metrics={}),
    ) == [
        (0, "waiting", 1.0, 3.0, "training"),
        (0, "training", 3.0, 8.0, "paused"),
        (0, "paused", 8.0, 20.0, "waiting"),
        (0, "waiting", 20.0, 21.0, "training"),
        (0, "training", 21.0, 24.0, "crashed"),
        (0, "waiting", 24.0, 25.0, "training"),
        (0, "training", 25.0, 30.0, "completed"),
        (0, "measuring", 31.0, 32.0, "failed"),
        (0, "measuring", 33.0, 36.0, "measured"),
    ]


def test_nobody_works_after_a_driver_was_killed_until_another_resumes() -> None:
    report = reported(0, 1, 0.5).model_copy(update={"time": 4.0})
    lost = phases(placed("serial"), Started(time=1.0, trial=0), report, Resumed(time=100.0, code_version=""))
    assert lost == [(0, "training", 1.0, 4.0, "interrupted")]
    asked = phases(placed("serial"), Started(time=1.0, trial=0), report, Interrupted(time=6.0))
    assert asked == [(0, "training", 1.0, 6.0, "interrupted")]
    paused = Decided(time=4.0, trial=0, epoch=1, decision="pause", rung=1)
    stays = phases(Started(time=1.0, trial=0), paused, Interrupted(time=6.0), Resumed(time=9.0, code_version=""))
    assert stays == [(0, "training", 1.0, 4.0, "paused"), (0, "paused", 4.0, 9.0, "paused")]


def test_versions_that_do_not_say_who_waits_are_read_by_the_seconds_of_the_first_report() -> None:
    report = reported(0, 1, 0.5, seconds=3.0).model_copy(update={"time": 9.0})
    started = [placed("ray"), Started(time=1.0, trial=0), Started(time=1.0, trial=1)]
    assert phases(*started, report, Ended(time=9.0, trial=1, reason="failed")) == [
        (0, "waiting", 1.0, 6.0, "training"),
        (1, "training", 1.0, 9.0, "failed"),
        (0, "training", 6.0, 9.0, "running"),
    ]
