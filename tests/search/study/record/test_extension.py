"""A study that is asked for more goes on as if it had been asked at once, and a replay of its ledger agrees."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Event, Extended, Promoted, Proposed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.checks import check_study
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.extension import check_untried, extended, extension, shortening
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import is_finished, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json
from tests.search.changed import searched
from tests.search.killing import DyingLedger, Killed, appends
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"
PROPOSERS = pytest.mark.parametrize("proposer", ["grid", "one_at_a_time", "random", "tpe"])


def run(folder: StudyFolder, *first: Event) -> StudyRecord:
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger, first=first)
        if first:
            driver.resumed("toy")
        run_study(driver, SerialEngine(ToyWorker))
        return driver.record


def finite(proposer: str, trials: int) -> StudyConfig:
    study = toy_study(trials=trials, proposer="grid")
    return searched(study, proposer=proposer)


def more(trials: int = 0, seeds: int = 0, **choices: Any) -> Extended:
    named: dict[str, tuple[Json, ...]] = {path.replace("__", "."): values for path, values in choices.items()}
    return Extended(time=2.0, trials=trials, seeds=seeds, choices=named)


def extend_by(record: StudyRecord, **asked: Any) -> None:
    """Extend a study by what is asked for, as far as that is checked before a corpus is prepared."""
    by = extension(record.study, len(record.trials), **{"trials": 0, "seeds": 0, "choices": {}, **asked}, time=2.0)
    check_untried(extended(record.study, by), [trial.point for trial in record.trials.values()])


def told(record: StudyRecord) -> list[tuple[object, ...]]:
    """What the trials are, without the clock."""
    return [
        (canonical_json(trial.point), trial.seeds, [report.score for report in trial.reports], trial.reason)
        for trial in record.trials.values()
    ]


@pytest.mark.first(2)
@PROPOSERS
def test_more_trials_in_two_steps_are_the_trials_of_one_step(proposer: str, tmp_path: Path) -> None:
    whole = run(open_toy(tmp_path / "whole", finite(proposer, trials=7)))
    folder = open_toy(tmp_path / "parts", finite(proposer, trials=3))
    assert len(run(folder).trials) == 3
    assert is_finished(folder.path)
    assert told(run(folder, more(trials=4))) == told(whole)
    assert is_finished(folder.path)
    assert told(read_study(folder.path)) == told(whole)


@pytest.mark.slow
@PROPOSERS
def test_enough_is_enough_whenever_it_is_said_and_more_may_be_asked_for_again(proposer: str, tmp_path: Path) -> None:
    """Killed after any append: what is begun is finished and tested, nothing else begins, and a replay agrees."""
    first = open_toy(tmp_path / "whole", finite(proposer, trials=7))
    whole = told(run(first))
    for kill in range(2, appends(first), 5):
        folder = open_toy(tmp_path / f"killed-{kill}", finite(proposer, trials=7))
        with pytest.raises(Killed):
            run_toy(folder, DyingLedger(folder.ledger, kill, after=False))
        begun = read_study(folder.path)
        if not begun.trials:
            continue
        said = shortening(begun.study, len(begun.trials), time=3.0)
        assert bool(said) == (len(begun.trials) < 7)
        record = run(folder, *said) if said else run(folder)
        assert told(record) == whole[: len(begun.trials)]
        assert record.study.search.trials == len(begun.trials)
        assert record.trials[0].tested
        assert is_finished(folder.path)
        assert told(read_study(folder.path)) == told(record)
        if len(begun.trials) < 7:
            assert told(run(folder, more(trials=7 - len(begun.trials)))) == whole


def test_before_the_first_trial_nothing_is_enough() -> None:
    with pytest.raises(UserError, match="no trial yet"):
        shortening(toy_study(trials=3, proposer="grid"), 0, time=1.0)


@PROPOSERS
def test_a_new_choice_is_tried_and_nothing_is_tried_twice(proposer: str, tmp_path: Path) -> None:
    folder = open_toy(tmp_path, finite(proposer, trials=9))
    before = run(folder)
    record = run(folder, more(trials=20, model__stack__depth=(5,)))
    points = [canonical_json(trial.point) for trial in record.trials.values()]
    assert points[: len(before.trials)] == [canonical_json(trial.point) for trial in before.trials.values()]
    assert len(set(points)) == len(points)
    assert {trial.point[DEPTH] for trial in record.trials.values()} == {1, 2, 3, 5}
    if proposer != "one_at_a_time":
        assert len(points) == 12  # 4 depths, 3 learning rates
    assert record.space.domains[DEPTH].contains(5)


@pytest.mark.parametrize(
    "scheduler",
    [{"kind": "asha", "variant": "promotion", "grace": 1, "reduction": 2}, {"kind": "hyperband", "grace": 1}],
)
def test_a_base_that_an_extension_lets_in_changes_nothing_that_was_decided(
    scheduler: dict[str, Any], tmp_path: Path
) -> None:
    """Trial 0, which was another one, was not spared, and is not spared in a replay."""
    study = searched(toy_study(trials=6, proposer="grid"), scheduler=scheduler)
    axes = {DEPTH: Axis(choice=(2, 3)), RATE: study.space.axes[RATE]}
    study = study.model_copy(update={"space": study.space.model_copy(update={"axes": axes})})
    folder = open_toy(tmp_path, study)
    before = told(run(folder))
    assert before[0][-1] == "stopped"
    record = run(folder, more(trials=3, model__stack__depth=(1,)))
    assert told(record)[:6] == before
    assert told(run(folder, more(trials=1))) == told(record)
    assert record.base is not None


def test_an_extension_that_cannot_be_replayed_is_not_written(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, finite("grid", trials=3))
    run_toy(folder)
    with Ledger(folder.ledger) as ledger:
        ledger.append(Promoted(time=2.0, trial=1))
    before = Ledger(folder.ledger).read()
    with Ledger(folder.ledger) as ledger, pytest.raises(UserError, match="says that it was promoted"):
        toy_driver(folder, ledger, first=[more(trials=1)])
    assert Ledger(folder.ledger).read() == before


def test_more_seeds_are_those_of_the_trials_to_come(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, finite("grid", trials=2))
    run(folder)
    record = run(folder, more(trials=2, seeds=3))
    assert [trial.seeds for trial in record.trials.values()] == [(0, 1), (0, 1), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4)]
    assert all(len(report.metrics["dev_accuracy"]) == 5 for report in record.trials[3].reports)


@pytest.mark.slow
@PROPOSERS
def test_a_study_that_is_extended_and_killed_goes_on_with_the_same_trials(proposer: str, tmp_path: Path) -> None:
    """Every prefix of an extended ledger, taken up again."""
    folder = open_toy(tmp_path / "study", finite(proposer, trials=3))
    run(folder)
    whole = run(folder, more(trials=2, model__stack__depth=(4, 5)), more(trials=1))
    last = max(folder.ledger.glob("*.jsonl"))
    lines = last.read_bytes().splitlines(keepends=True)
    for kept in range(2, len(lines), 3):
        copy = StudyFolder(tmp_path / f"kept-{kept}")
        shutil.copytree(folder.path, copy.path)
        (copy.ledger / last.name).write_bytes(b"".join(lines[:kept]))
        assert told(run(copy)) == told(whole)


def test_trials_that_waited_for_a_promotion_are_over_when_a_study_is_extended(tmp_path: Path) -> None:
    study = finite("random", trials=6)
    folder = open_toy(tmp_path, searched(study, scheduler=AshaConfig(reduction=2, variant="promotion")))
    before = told(run(folder))
    whole = run(folder, more(trials=3))
    assert told(whole)[:6] == before
    assert len(whole.trials) == 9
    assert told(run(folder)) == told(whole)
    assert told(read_study(folder.path)) == told(whole)


def test_the_extensions_of_a_ledger_are_found_without_reading_the_rest(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, finite("grid", trials=2))
    with Ledger(folder.ledger) as ledger:
        first, second = more(trials=1), more(seeds=1)
        ledger.append(first)
        # A point may hold what looks like an event.
        point: dict[str, Json] = {"model.stack": {"kind": "extended", "text": '"kind":"extended"'}}
        ledger.append(Proposed(time=1.0, trial=0, point=point, config_identity="", seeds=(0,)))
        ledger.append(second)
    assert list(Ledger(folder.ledger).extensions()) == [first, second]
    assert [event.kind for event in Ledger(folder.ledger).only("extended", "study_opened")] == [
        *("study_opened", "extended", "extended")
    ]


NAMED = finite("random", 2).model_copy(
    update={
        "space": finite("grid", 2).space.model_validate(
            {
                **finite("grid", 2).space.model_dump(mode="json"),
                "axes": {DEPTH: {"named": {"one": 1, "two": 2}}, RATE: {"log": [0.001, 0.1]}},
            }
        )
    }
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"nothing to extend the study by \(allowed: --trials N, .*--axis PATH=CHOICE, --point AXIS=VALUE\)"),
        ({"seeds": 2}, r"all 2 trials are proposed.*allowed: --trials N with them"),
        ({"trials": 1, "choices": {"model.stack.dept": [5]}}, r"unknown axis 'model.stack.dept' \(nearest"),
        ({"trials": 1, "choices": {DEPTH: [5]}}, r"got a value without a name \(allowed: '\{NAME: VALUE\}'"),
        ({"trials": 1, "choices": {DEPTH: [{"one": 5}]}}, r"got the name 'one' \(allowed: a new one"),
        ({"trials": 1, "choices": {DEPTH: [{"three": 2}]}}, r"value 2 occurs twice"),
        ({"trials": 1, "choices": {DEPTH: [{"three": "x"}]}}, r"got 'x' \(allowed: an integer"),
        ({"trials": 1, "choices": {RATE: [0.5]}}, r"the axis has numbers from .* \(allowed: an axis of choices\)"),
    ],
)
def test_what_extends_nothing_or_does_not_fit_is_told_in_one_line(arguments: dict[str, Any], message: str) -> None:
    asked = {"trials": 0, "seeds": 0, "choices": {}, "time": 1.0, **arguments}
    with pytest.raises(UserError, match=message) as refused:
        check_study(extended(NAMED, extension(NAMED, 2, **asked)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("proposer", "allowed"),
    [
        ("grid", "--trials N with --axis PATH=CHOICE, a value that the axis lacks"),
        ("tpe", "--trials N with --axis PATH=CHOICE, a value that the axis lacks"),
        ("one_at_a_time", "--trials N with --axis PATH=CHOICE, a value that the axis lacks; --point AXIS=VALUE"),
    ],
)
def test_where_every_config_is_tried_further_trials_are_refused(proposer: str, allowed: str, tmp_path: Path) -> None:
    record = run_toy(open_toy(tmp_path / "study", finite(proposer, 1_000)))
    tried = len(record.trials)
    assert tried == (1 + 2 + 2 if proposer == "one_at_a_time" else 3 * 3)  # three depths and three rates
    for asked in ({"trials": 1}, {"seeds": 1}, {"trials": 5, "seeds": 2}):
        with pytest.raises(UserError) as refused:
            extend_by(record, **asked)
        assert str(refused.value) == f"all {tried} configs of the study have been tried (allowed: {allowed})"
    extend_by(record, trials=1, choices={DEPTH: [4]})


def test_a_study_of_one_config_has_no_further_trial(tmp_path: Path) -> None:
    study = toy_study(trials=1, proposer="random")
    study = study.model_copy(update={"space": study.space.model_copy(update={"axes": {}})})
    record = run_toy(open_toy(tmp_path / "study", study))
    with pytest.raises(UserError) as refused:
        extend_by(record, trials=1)
    assert str(refused.value) == "the only config of the study has been tried (allowed: a study with axes)"


def test_while_a_config_is_left_a_study_is_extended(tmp_path: Path) -> None:
    for proposer, trials in (("grid", 8), ("random", 8), ("one_at_a_time", 4)):
        extend_by(run_toy(open_toy(tmp_path / proposer, finite(proposer, trials))), trials=3)
    extend_by(run_toy(open_toy(tmp_path / "numbers", toy_study(trials=3))), trials=3)


def test_a_named_choice_takes_another_name(tmp_path: Path) -> None:
    study = extended(NAMED, extension(NAMED, 2, trials=1, seeds=0, choices={DEPTH: [{"four": 4}]}, time=1.0))
    assert study.space.axes[DEPTH].named == {"one": 1, "two": 2, "four": 4}
    check_study(study)


def test_seeds_that_race_are_not_extended() -> None:
    study = toy_study(trials=4)
    racing = searched(study, seeds=4, scheduler=AshaConfig(resource="seeds"))
    with pytest.raises(UserError, match="race by their seeds"):
        extension(racing, 4, trials=2, seeds=1, choices={}, time=0.0)
