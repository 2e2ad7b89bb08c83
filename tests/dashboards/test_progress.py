"""Progress: exact at a given clock, quick to say, silent on stdout, and gone without a trace."""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from skipstack.dashboards.live import progress as module
from skipstack.dashboards.live.counts import StudyCounts
from skipstack.dashboards.live.progress import Progress, line, table
from skipstack.search.ledger.events import Decided, Ended, Event, Extended, Interrupted, Reported, Retried, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Space
from tests.search.made_up import (
    AXES,
    DEPTH,
    GATE,
    HIDDEN,
    RATE,
    ended,
    history,
    opening,
    proposed,
    record_of,
    reported,
    study,
)
from tests.search.toy import open_toy, run_toy, toy_study

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _told(events: Sequence[Event], past: int = 2) -> list[str]:
    """The lines of a progress that is no terminal, over the ``events`` after the ``past`` ones."""
    clock, page = Clock(), StringIO()
    with Progress(StudyRecord.of(events[:past]), clock=clock, console=Console(file=page, width=80)) as progress:
        for event in events[past:]:
            clock.now = event.time
            progress(event)
    return page.getvalue().splitlines()


def _counts(events: Sequence[Event], past: int = 2) -> StudyCounts:
    counts = StudyCounts(StudyRecord.of(events[:past]))
    for event in events[past:]:
        counts.apply(event, event.time)
    return counts


def _shown(counts: StudyCounts, now: float, width: int = 80) -> list[str]:
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(table(counts, now))
    return [text.rstrip() for text in capture.get().splitlines()]


def _at(time: float, event: Event) -> Event:
    return event.model_copy(update={"time": time})


def _short() -> list[Event]:
    """Three trials of a study of four: a start at 10 s, ends at 40, 41 and 70 s."""
    config = study({DEPTH: {"choice": [1, 3, 5, 7]}})
    return [
        *opening(config),
        _at(10.0, proposed(config, 0, {DEPTH: 3})),
        Started(time=10.0, trial=0),
        _at(10.0, proposed(config, 1, {DEPTH: 5})),
        Started(time=10.0, trial=1),
        _at(20.0, reported(0, 1, 0.90, 0.92)),
        _at(40.0, reported(1, 1, 0.70, 0.72)),
        Decided(time=40.0, trial=1, epoch=1, decision="stop", rung=1),
        _at(40.0, ended(1, "stopped")),
        _at(40.0, proposed(config, 2, {DEPTH: 1})),
        Started(time=40.0, trial=2),
        _at(41.0, ended(2, "failed", "RuntimeError: no luck")),
        *(_at(60.0 + epoch, reported(0, epoch, 0.95, 0.97)) for epoch in range(2, 7)),
        _at(70.0, ended(0)),
    ]


def test_lines_say_how_far_it_is() -> None:
    assert _told(_short()) == [
        "starting workers: 0/4 trials",
        "1/4 trials  2 epochs  best 91.00 (trial 0)  1 stopped  2.0 trials/min  1.5 min left",
        "trial 2 failed: RuntimeError: no luck",
        "3/4 trials  7 epochs  best 96.00 (trial 0)  1 stopped  1 failed  3.0 trials/min  20 s left",
    ]


def test_seeds_that_change_nothing_are_told_at_the_first_report_and_only_there() -> None:
    events = [*_short()[:5], _at(20.0, reported(0, 1, 0.9, 0.9)), _at(21.0, reported(1, 1, 0.7, 0.7))]
    told = [line for line in _told(events) if "same" in line]
    assert told == [
        "trial 0 reported the same with each of its 2 seeds: if nothing in it is drawn from the seed, one seed would "
        "say as much (--seeds 1, in Python seeds=1)"
    ]
    assert _told([*events, _at(22.0, reported(1, 2, 0.8, 0.8))], past=6)[0].startswith("starting workers")
    assert not any("same" in line for line in _told([*events, _at(22.0, reported(1, 2, 0.8, 0.8))], past=6))


def test_a_line_that_came_too_soon_is_told_at_the_end() -> None:
    last = _told(_short()[:13])[-1]
    assert last == "2/4 trials  2 epochs  best 91.00 (trial 0)  1 stopped  1 failed  3.9 trials/min  31 s left"


def test_long_trials_are_heard_of_before_the_first_one_ends() -> None:
    opened = _short()[:6]
    epochs = [
        (reported(0, epoch, 0.9, 0.92), Decided(time=0.0, trial=0, epoch=epoch, decision="continue", rung=None))
        for epoch in range(1, 7)
    ]
    told = _told([*opened, *(_at(10.0 + 12 * n, event) for n, pair in enumerate(epochs, 1) for event in pair)])
    assert told[1:] == [
        "0/4 trials  2 epochs  best 91.00 (trial 0)",
        "0/4 trials  5 epochs  best 91.00 (trial 0)",
    ]


def test_lines_come_no_faster_than_every_two_seconds_and_the_last_one_always() -> None:
    config = study({DEPTH: {"choice": [1, 3, 5, 7]}})
    trials = [proposed(config, number, {DEPTH: depth}) for number, depth in enumerate((1, 3, 5, 7))]
    ends = [_at(time, ended(number)) for number, time in enumerate((10.0, 11.9, 12.0, 12.1))]
    lines = _told([*opening(config), *trials, Started(time=0.0, trial=0), *ends])
    assert [text.split()[0] for text in lines[1:]] == ["1/4", "3/4", "4/4", "measuring"]


def test_the_table_says_it_too() -> None:
    counts = _counts(_short())
    assert _shown(counts, 70.0) == [
        f"made-up  3/4 trials  {'━' * 22}╸",
        "reached  running  stopped  completed  failed",
        "start                                      1",
        "epoch 1                 1",
        "epoch 2",
        "epoch 4",
        "epoch 6                            1",
        "best 96.00  trial 0: the base",
        "7 epochs  3.0 trials/min  20 s left",
    ]


def test_the_time_left_follows_a_machine_that_got_slower() -> None:
    """100 trials end at one a second, then one in ten seconds: other programs came. The rate of all would promise 550 s
    for the last 100, which take 1,000.
    """
    config = study({DEPTH: {"integer": [1, 1000]}}, trials=300)
    counts = _counts(opening(config))
    counts.apply(_at(0.0, proposed(config, 0, {DEPTH: 1})), 0.0)
    counts.apply(Started(time=0.0, trial=0), 0.0)
    clock, paces = 0.0, []
    for number in range(200):
        clock += 1.0 if number < 100 else 10.0
        if number:
            counts.apply(_at(clock, proposed(config, number, {DEPTH: number + 1})), clock)
        counts.apply(_at(clock, ended(number)), clock)
        paces.append(counts.per_minute(clock))
    assert paces[0] == paces[99] == 60.0
    assert paces[199] == 6.0  # the later hundred
    assert counts.seconds_left(clock) == 100 * 10.0
    assert paces[119] == pytest.approx(60 * 60 / (40 * 1.0 + 20 * 10.0))


def test_before_anything_runs_the_table_says_what_it_waits_for() -> None:
    assert _shown(_counts(opening(study())), 5.0)[-3:] == ["best –", "0 epochs", "starting workers ..."]


@pytest.mark.first(1)
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_keeps_to_the_terminal(width: int) -> None:
    events = list(history(study(trials=40), seed=1))
    for upto in range(2, len(events), 7):
        assert all(len(text) <= width for text in _shown(_counts(events[:upto]), events[upto].time, width))


def test_what_differs_from_the_base_is_said_in_short() -> None:
    config = study()
    record = record_of(config, proposed(config, 0, {DEPTH: 5, GATE: "none", RATE: 0.0123456}), reported(0, 1, 0.9, 0.9))
    assert module.differences(record, record.trials[0]) == ["depth 5", "gate none", "learning_rate 0.01235"]


def test_a_value_with_a_name_is_told_by_it() -> None:
    optimiser = "training.optimiser"
    named: dict[str, Json] = {"plain": {"kind": "sgd"}, "adaptive": {"kind": "adam"}}
    config = study({optimiser: {"named": named}})
    value = Space(config.space).domains[optimiser].first
    record = record_of(config, proposed(config, 0, {optimiser: value}))
    assert module.differences(record, record.trials[0]) == ["optimiser plain"]


def test_axes_of_the_same_last_name_are_told_apart() -> None:
    sizes, kind = ("model.embedder.dropout", "model.stack.dropout"), "training.optimiser.kind"
    config = study({**{path: {"choice": [0.1, 0.2]} for path in sizes}, kind: {"choice": ["sgd", "adam"]}})
    record = record_of(config, proposed(config, 0, {sizes[0]: 0.1, sizes[1]: 0.2, kind: "sgd"}))
    assert module.differences(record, record.trials[0]) == [
        "embedder.dropout 0.1",
        "stack.dropout 0.2",
        "optimiser sgd",
    ]


@pytest.mark.first(1)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("past", [2, 30])
def test_at_every_event_the_standing_is_what_the_whole_record_says(seed: int, past: int) -> None:
    events = list(history(study(trials=12), seed=seed))  # in the square of their number
    counts = StudyCounts(StudyRecord.of(events[:past]))
    for place, event in enumerate(events[past:], start=past + 1):
        counts.apply(event, event.time)
        record = StudyRecord.of(events[:place])
        assert counts.best is next(iter(counts.record.ranked()), None)
        assert [trial.number for trial in record.ranked()[:1]] == ([counts.best.number] if counts.best else [])
        ends = Counter(trial.state for trial in record.trials.values())
        counted: Counter[str] = Counter()
        for level in counts.levels():
            counted += level.counts
        assert counted == ends
        assert counts.ended == len(record.trials) - ends["running"]
        assert counts.epochs == sum(isinstance(each, Reported) for each in events[:place])
    assert (counts.left, counts.state) == (0, "finished")


def test_of_equal_trials_the_one_proposed_first_is_best() -> None:
    config = study({DEPTH: {"choice": [1, 3, 5]}})
    trials = [proposed(config, number, {DEPTH: depth}) for number, depth in enumerate((3, 1, 5))]
    counts = _counts([*opening(config), *trials])
    best = []
    for number in (1, 2, 0):
        counts.apply(reported(number, 1, 0.9, 0.9), 0.0)
        best.append(counts.best.number if counts.best else None)
    assert best == [1, 1, 0]


def test_a_trial_stands_at_the_last_rung_it_reached() -> None:
    levels = _counts(list(history(study(), seed=0))).levels()
    assert [level.rung for level in levels] == [0, 1, 2, 4, 6]
    assert set(levels[-1].counts) == {"completed"}
    assert not any(level.counts["completed"] for level in levels[:-1])
    without = _counts(list(history(study(scheduler="none"), seed=0))).levels()
    assert [level.rung for level in without] == [0, 6]


@pytest.mark.parametrize(
    ("options", "rungs", "names"),
    [
        ({"resource": "seconds", "maximum": 60, "grace": 20}, (0, 20, 60), ["start", "20 seconds", "60 seconds"]),
        ({"resource": "seeds", "variant": "promotion"}, (0, 1, 2), ["start", "1 seed", "2 seeds"]),
        ({"grace": 2}, (0, 2, 6), ["start", "epoch 2", "epoch 6"]),
    ],
)
def test_rungs_are_told_in_the_resource_of_the_study_and_trials_that_wait_there_are_counted(
    options: dict[str, object], rungs: tuple[int, ...], names: list[str]
) -> None:
    config = study({DEPTH: {"choice": [1, 3, 5]}}, scheduler={"kind": "asha", **options})
    events = [*opening(config), *(proposed(config, number, {DEPTH: depth}) for number, depth in enumerate((3, 1, 5)))]
    events.append(Decided(time=0.0, trial=1, epoch=2, decision="pause", rung=rungs[1]))
    counts = _counts([*events, Decided(time=0.0, trial=0, epoch=2, decision="continue", rung=rungs[1])])
    assert [level.rung for level in counts.levels()] == list(rungs)
    assert [dict(level.counts) for level in counts.levels()] == [{"running": 1}, {"running": 1, "paused": 1}, {}]
    console = Console(file=StringIO(), width=80)
    console.print(table(counts, 0.0))
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert [name for name in names if name in shown] == names
    assert "paused" in shown
    assert "  1 paused" in line(counts, 0.0)


def test_a_study_that_is_resumed_counts_what_was_done_and_measures_what_is() -> None:
    events = _short()
    before, after = events[:11], [Started(time=0.0, trial=0), *events[11:]]
    late = [_at(1000.0 + event.time, event) for event in after]
    counts = _counts([*before, *late], past=len(before))
    assert (counts.ended, counts.total, counts.count("stopped")) == (3, 4, 1)
    assert counts.per_minute(1060.0) == pytest.approx(2.0)  # two ends in the minute since 1000
    assert counts.seconds_left(1060.0) == pytest.approx(30.0)
    assert (
        _told([*before, *late], past=len(before))[0]
        == "starting workers: 1/4 trials  2 epochs  best 91.00 (trial 0)  1 stopped"
    )


def test_no_pace_is_told_before_it_is_known() -> None:
    events = _short()
    counts = _counts(events[:9])
    assert (counts.per_minute(50.0), counts.seconds_left(50.0)) == (None, None)
    counts = _counts(events[:10])
    assert (counts.per_minute(10.0), counts.seconds_left(10.0)) == (None, None)  # a clock that stands still
    assert counts.per_minute(40.0) == pytest.approx(2.0)


def test_a_space_with_fewer_points_than_trials_are_asked_for_has_fewer_trials() -> None:
    conditional = {key: AXES[key] for key in (DEPTH, GATE)}
    assert StudyCounts(record_of(study(conditional, trials=16))).total == 5  # one of depth 1, two of 3, two of 5
    assert StudyCounts(record_of(study(conditional, trials=3))).total == 3
    assert StudyCounts(record_of(study(trials=16))).total == 16
    # The base, two other depths, and at depth 3 another gate.
    assert StudyCounts(record_of(study(conditional, trials=16, proposer="one_at_a_time"))).total == 4


def test_a_list_of_points_has_as_many_trials_as_it_then_runs(tmp_path: Path) -> None:
    tree = toy_study(trials=16).model_dump(mode="json")
    points = [{DEPTH: depth, "training.optimiser.learning_rate": 0.1} for depth in (2, 3, 2)]
    tree["search"]["proposer"] = {"kind": "listed", "points": points}
    folder = open_toy(tmp_path / "study", StudyConfig.model_validate(tree))
    before = StudyCounts(StudyRecord.of(Ledger(folder.ledger).read())).total
    assert before == len(run_toy(folder).trials) == 3, "the base, and each point once"


def test_points_that_a_user_asks_for_are_counted_at_once() -> None:
    counts = StudyCounts(record_of(study(trials=3)))
    assert counts.left == 3
    counts.apply(Extended(time=9.0, trials=2), 9.0)
    assert counts.left == 5


def test_the_trials_of_a_path_are_counted_as_it_is_walked(tmp_path: Path) -> None:
    changes: dict[str, Json] = {DEPTH: 1, RATE: 0.01, HIDDEN: 4, "model.stack.dropout": 0.3}
    base: dict[str, Json] = {DEPTH: 3, RATE: 0.02, HIDDEN: 8, "model.stack.dropout": 0.5}
    rows = [base, base | changes]
    rows += [row for axis in base for row in (base | {axis: changes[axis]}, base | changes | {axis: base[axis]})]
    proposer = {"kind": "path", "points": rows, "starts": [base], "changes": changes}
    tree = toy_study(epochs=1).model_dump(mode="json")
    tree["space"]["axes"] = {axis: {"choice": [base[axis], changes[axis]]} for axis in base}
    tree["search"] |= {"proposer": proposer, "trials": 100, "scheduler": {"kind": "none"}}
    record = run_toy(open_toy(tmp_path / "study", StudyConfig.model_validate(tree)))
    events = Ledger(tmp_path / "study" / "ledger").read()
    counts, totals = StudyCounts(StudyRecord.of(events[:2])), []
    for event in events[2:]:
        counts.apply(event, event.time)
        totals.append(counts.total)
        assert (counts.left == 0) == (counts.ended == len(record.trials))
    # The rows; at the second step the three pairs with what was taken; the third step's are rows: all but one change.
    assert list(dict.fromkeys(totals)) == [10, 13]
    assert len(record.trials) == 13
    assert counts.state == "finished"


def test_nothing_is_printed_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    events = list(history(study()))
    with Progress(StudyRecord.of(events[:2]), clock=Clock()) as progress:
        for event in events[2:]:
            progress(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "16/16 trials" in captured.err


def _terminal() -> Console:
    return Console(file=StringIO(), force_terminal=True, width=80, height=30, _environ={"TERM": "xterm-256color"})


def test_on_a_terminal_the_last_table_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "REFRESHED_PER_SECOND", 500)  # drawing and events meet as often as they can
    console, clock = _terminal(), Clock()
    events = list(history(study(trials=40), seed=2))
    assert any(isinstance(event, Ended) and event.reason == "failed" for event in events)
    with Progress(StudyRecord.of(events[:2]), clock=clock, console=console) as progress:
        for event in events[2:]:
            clock.now = event.time
            progress(event)
    assert isinstance(console.file, StringIO)
    page = console.file.getvalue()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", page)
    assert "failed: RuntimeError: no luck" in plain
    assert "40/40 trials" in plain[plain.rindex("made-up") :]
    assert page.index(HIDE) < page.rindex(SHOW)
    assert capsys.readouterr().out == ""


def test_nothing_is_printed_while_the_drawing_thread_is_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(record_of(study()), clock=Clock(), console=_terminal())
    printed = []

    def print_(*_: object, **__: object) -> None:
        assert not progress._lock.locked()  # the drawing thread may hold what printing needs, and wait for this lock
        printed.append(True)

    monkeypatch.setattr(progress._console, "print", print_)
    progress(proposed(study(), 0, {DEPTH: 1, RATE: 0.01}))
    progress(ended(0, "failed", "RuntimeError: no luck"))
    assert printed


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_terminal_is_given_back_whatever_happens(error: type[BaseException]) -> None:
    console = _terminal()
    stdout, stderr = sys.stdout, sys.stderr
    progress = Progress(record_of(study()), clock=Clock(), console=console)

    def break_off() -> None:
        with progress:
            progress(Interrupted(time=0.0))
            raise error

    with pytest.raises(error):
        break_off()
    assert isinstance(console.file, StringIO)
    page = console.file.getvalue()
    assert page.count(HIDE) == page.count(SHOW) == 1
    assert page.index(HIDE) < page.index(SHOW)
    assert (sys.stdout, sys.stderr) == (stdout, stderr)


def test_a_terminal_without_cursor_movements_gets_lines() -> None:
    page = StringIO()
    console = Console(file=page, force_terminal=True, _environ={"TERM": "dumb"})
    with Progress(record_of(study()), clock=Clock(), console=console):
        pass
    assert page.getvalue() == "starting workers: 0/16 trials\n"


def test_a_name_is_text_and_no_markup() -> None:
    config = study().model_copy(update={"name": "[red]a[/red]"})
    events = [*opening(config), proposed(config, 0, {DEPTH: 1, RATE: 0.01}), ended(0, "failed", "ValueError: [bold]x")]
    assert "trial 0 failed: ValueError: [bold]x" in _told(events)
    assert _shown(_counts(events), 0.0)[0].startswith("[red]a[/red]")


def test_a_trial_that_is_lost_with_its_machine_is_told_at_once_and_is_no_end() -> None:
    config = study()
    point = Space(config.space).point(config.space.base)
    began = [*opening(config), proposed(config, 0, point), Started(time=1.0, trial=0)]
    losses = [
        Retried(time=2.0, trial=0, cause="lost", message="its machine was lost"),
        Retried(time=3.0, trial=0, cause="preempted", message="its machine was taken back, as was announced"),
    ]
    told = _told([*began, *losses])
    assert "trial 0 lost: its machine was lost; it is tried again" in told
    assert "trial 0 preempted: its machine was taken back, as was announced; it is tried again" in told
    assert " lost" not in line(_counts([*began, *losses]), 3.0)
