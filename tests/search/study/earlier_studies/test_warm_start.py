"""Earlier studies as a beginning: what is learnt from them, what is taken over, what is refused; and reuse."""

import math
import shutil
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.api.study import exploration_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Event, Proposed, Reported, Reused, Started, WarmStarted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.warm_start import summary
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult
from skipstack.spaces.config import Axis
from skipstack.spaces.space import Space
from tests.search.changed import searched, warm
from tests.search.killing import killed_and_resumed
from tests.search.toy import FailingWorker, KeepingWorker, open_toy, run_toy, toy_driver, toy_study

DEPTH, RATE, HIDDEN = "model.stack.depth", "training.optimiser.learning_rate", "model.stack.hidden"


def changed(study: StudyConfig, axes: dict[str, Axis] | None = None, **search: Any) -> StudyConfig:
    space = study.space if axes is None else study.space.model_copy(update={"axes": axes})
    return study.model_copy(update={"space": space, "search": searched(study, **search).search})


run = partial(run_toy, worker=KeepingWorker)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A grid of nine that was trained to its end."""
    folder = open_toy(tmp_path / "earlier", changed(toy_study(trials=9, proposer="grid"), scheduler="none"))
    run(folder)
    return folder.path


def started(folder: StudyFolder) -> WarmStarted:
    return next(event for event in Ledger(folder.ledger).read() if isinstance(event, WarmStarted))


def test_a_study_that_was_run_before_trains_nothing_and_ends_in_the_same_table(earlier: Path, tmp_path: Path) -> None:
    study = warm(changed(toy_study(trials=9, proposer="grid"), scheduler="none"), earlier)
    record = run(open_toy(tmp_path / "again", study), worker=FailingWorker)
    before = read_study(earlier)
    assert not [event for event in Ledger(tmp_path / "again" / "ledger").read() if isinstance(event, Started)]
    assert all(trial.reused is not None and not trial.epochs for trial in record.trials.values())
    assert [trial.packed for trial in record.trials.values()] == [
        trial.packed for trial in read_study(earlier).trials.values()
    ]
    assert record.trials[0].sentences is not None
    for number, trial in record.trials.items():
        source = before.trials[number]
        assert (trial.score, trial.dev, trial.test, trial.reason) == (
            source.score,
            source.dev,
            source.test,
            "completed",
        )
        weights = StudyFolder(tmp_path / "again").trial(number) / BEST
        assert weights.read_text() == f"{trial.config.identity} 4"
    table, old = exploration_of(record), exploration_of(before)
    assert (table.reused, table.epochs, table.seconds) == (9, 0, 0.0)
    spent = {"epochs": 0, "seconds": 0.0}
    assert [replace(row, reused=False) for row in table.rows] == [replace(row, **spent) for row in old.rows]


def test_a_reused_trial_is_never_stopped_and_the_others_are_measured_against_it(earlier: Path, tmp_path: Path) -> None:
    study = warm(toy_study(trials=9, proposer="grid"), earlier)
    study = study.model_copy(
        update={"space": study.space.model_copy(update={"axes": {**study.space.axes, HIDDEN: Axis(choice=(8, 9))}})}
    )
    folder = open_toy(tmp_path / "more", study)
    record = run(folder)
    reused = {number for number, trial in record.trials.items() if trial.reused is not None}
    assert reused
    assert reused == {n for n, trial in record.trials.items() if trial.config.model.stack.hidden == 8}
    assert all(record.trials[number].reason == "completed" for number in reused)
    assert "stopped" in {trial.reason for number, trial in record.trials.items() if number not in reused}
    assert run(folder).trials == record.trials, "read back, the ledger gives the same decisions"


@pytest.mark.slow
def test_seeds_that_differ_and_weights_that_are_gone_are_learnt_from_and_trained_anew(
    earlier: Path, tmp_path: Path
) -> None:
    grid = changed(toy_study(trials=9, proposer="grid"), scheduler="none")
    shutil.rmtree(earlier / "trials" / "000003")
    (earlier / "trials" / "000004" / BEST).unlink()
    folder = open_toy(tmp_path / "a", warm(grid, earlier))
    line = summary(started(folder))
    assert line == f"warm start: 9 trials of {earlier}, 7 of them reusable as they are"
    (earlier / "trials" / "000005" / BEST).unlink()  # after the study was opened
    record = run(folder)
    assert {number for number, trial in record.trials.items() if trial.reused is None} == {3, 4, 5}
    for name, search in {"seeds": {"seeds": 3}, "seed": {"seed": 1}}.items():
        record = run(open_toy(tmp_path / name, changed(warm(grid, earlier), **search)))
        assert all(trial.reused is None for trial in record.trials.values())


def test_tpe_knows_what_the_earlier_study_reported_before_its_first_ask(earlier: Path, tmp_path: Path) -> None:
    """Its next answer is that of a TPE which was told the earlier trials by hand."""
    study = warm(toy_study(trials=4), earlier)
    folder = open_toy(tmp_path / "tpe", study)
    assert [each.reason for each in started(folder).observed] == ["completed"] * 9
    events = run(folder) and Ledger(folder.ledger).read()
    by_hand = Tpe(Space(study.space), study.search.seed)
    for trial in read_study(earlier).trials.values():
        by_hand.observed(trial.point, "completed", [(report.epoch, report.score) for report in trial.reports])
    first, second = [event for event in events if isinstance(event, Proposed)][:2]
    by_hand.proposed(0, dict(first.point))
    by_hand.ended(0, "completed", [(e.epoch, e.score) for e in events if isinstance(e, Reported) and e.trial == 0])
    assert canonical_json(by_hand.ask(1)) == canonical_json(dict(second.point))
    cold = run(open_toy(tmp_path / "cold", toy_study(trials=4)))
    assert cold.trials[1].point != second.point


def test_an_axis_that_the_earlier_study_had_not_stands_at_its_base(earlier: Path, tmp_path: Path) -> None:
    study = warm(toy_study(trials=2), earlier)
    axes = {**study.space.axes, HIDDEN: Axis(choice=(4, 8))}
    observed = started(open_toy(tmp_path / "wider", changed(study, axes))).observed
    assert {each.point[HIDDEN] for each in observed} == {8}
    without = {**axes, HIDDEN: Axis(choice=(4, 16))}
    with pytest.raises(UserError, match=r"none of its 9 trials can be used; trial 0: model.stack.hidden: got 8"):
        open_toy(tmp_path / "not", changed(study, without))


def test_trials_outside_of_the_space_are_left_out_and_counted(earlier: Path, tmp_path: Path) -> None:
    study = warm(toy_study(trials=2), earlier)
    axes = {**study.space.axes, DEPTH: Axis(choice=(1, 3))}
    event = started(open_toy(tmp_path / "narrow", changed(study, axes)))
    assert len(event.observed) == 6
    assert summary(event).endswith(", 3 outside of this space or its corpora left out")


@pytest.mark.slow
def test_another_number_of_epochs_makes_a_stopped_trial_of_a_completed_one(earlier: Path, tmp_path: Path) -> None:
    longer = started(open_toy(tmp_path / "longer", warm(toy_study(trials=2, epochs=6), earlier))).observed
    assert {(each.reason, len(each.curve)) for each in longer} == {("stopped", 4)}
    shorter = started(open_toy(tmp_path / "shorter", warm(toy_study(trials=2, epochs=3), earlier))).observed
    assert {(each.reason, len(each.curve)) for each in shorter} == {("stopped", 3)}
    assert not [each for each in (*longer, *shorter) if each.recording]


class Timed(KeepingWorker):
    """An epoch takes half a second."""

    def run_epoch(self) -> EpochResult:
        return replace(super().run_epoch(), seconds=0.5)


SECONDS = {"kind": "asha", "grace": 1, "resource": "seconds", "maximum": 1}
RACE = {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seeds"}


@pytest.mark.slow
def test_what_counts_as_a_whole_trial_is_what_it_reported_in_the_resource_of_the_new_study(tmp_path: Path) -> None:
    """Two epochs of four make a second: whole where a trial has a second, a beginning where it has four epochs."""
    grid = toy_study(trials=9, proposer="grid")
    run(open_toy(tmp_path / "second", changed(grid, scheduler=SECONDS)), worker=Timed)
    run(open_toy(tmp_path / "race", changed(grid, scheduler=RACE)), worker=Timed)
    run(open_toy(tmp_path / "whole", changed(grid, scheduler="none")), worker=Timed)
    completed = {name: {"completed": len(read_study(tmp_path / name).trials)} for name in ("second", "whole")}
    assert completed == {"second": {"completed": 9}, "whole": {"completed": 9}}

    def ends(name: str, scheduler: Any, **search: Any) -> Counter[tuple[str, int]]:
        new = warm(changed(grid, scheduler=scheduler, **search), tmp_path / name)
        observed = started(open_toy(tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}", new)).observed
        assert (scheduler == "none" and name == "whole") or not [each for each in observed if each.recording]
        return Counter((each.reason, each.curve[-1][0]) for each in observed)

    assert ends("second", "none") == {("stopped", 2): 9}
    assert ends("second", SECONDS) == {("completed", 2): 9}
    assert ends("second", SECONDS | {"maximum": 2}) == {("stopped", 2): 9}
    assert ends("second", RACE) == {("stopped", 1): 9}
    assert ends("whole", "none") == {("completed", 4): 9}
    assert ends("whole", SECONDS) == {("completed", 2): 9}
    assert ends("whole", RACE) == {("completed", 2): 9}
    assert ends("whole", RACE, seeds=3) == {("stopped", 2): 9}
    raced = Counter(len(trial.seeds) for trial in read_study(tmp_path / "race").trials.values())
    assert 0 < raced[2] < 9
    assert ends("race", RACE) == {("completed", 2): raced[2], ("stopped", 1): raced[1]}
    assert ends("race", "none") == {("completed", 4): raced[2], ("stopped", 4): raced[1]}


def test_another_corpus_and_another_folder_are_refused_in_one_line(earlier: Path, tmp_path: Path) -> None:
    study = warm(toy_study(trials=2), earlier)
    with pytest.raises(UserError, match=r"trial 0: got corpus ffffffffffffffff \(allowed: 0123, by the fingerprint"):
        open_toy(tmp_path / "other", study, fingerprint="0123")
    with pytest.raises(UserError, match="no study here"):
        open_toy(tmp_path / "none", warm(toy_study(), tmp_path / "nowhere"))
    with pytest.raises(UserError, match="named 2 times"):
        open_toy(tmp_path / "twice", warm(toy_study(), earlier, earlier))
    with pytest.raises(UserError, match=r"got no parameters \(allowed"):
        open_toy(tmp_path / "sized", changed(study, objectives=("score", "parameters")))


@pytest.mark.slow
def test_a_trial_that_two_studies_have_is_told_once(earlier: Path, tmp_path: Path) -> None:
    """The second study took it over from the first."""
    second = warm(changed(toy_study(trials=9, proposer="grid"), scheduler="none"), earlier)
    second = changed(second, {**second.space.axes, HIDDEN: Axis(choice=(8, 9))}, trials=12)
    record = run(open_toy(tmp_path / "second", second))
    own = sum(trial.reused is None for trial in record.trials.values())
    assert 0 < own < 12
    third = open_toy(tmp_path / "third", changed(warm(second, earlier, tmp_path / "second")))
    first, rest = (event for event in Ledger(third.ledger).read() if isinstance(event, WarmStarted))
    assert (len(first.observed), len(rest.observed)) == (9, own)
    assert summary(rest).endswith(f", {12 - own} known from another study left out")
    sources = {trial.reused.study for trial in run(third).trials.values() if trial.reused}
    assert sources == {str(earlier), str(tmp_path / "second")}


@pytest.mark.slow
def test_a_study_whose_trials_are_all_known_adds_nothing_but_weights_that_the_other_has_lost(
    earlier: Path, tmp_path: Path
) -> None:
    grid = changed(toy_study(trials=9, proposer="grid"), scheduler="none")
    copy = open_toy(tmp_path / "copy", warm(grid, earlier)).path
    run(StudyFolder(copy))

    def lines(name: str, *paths: Path) -> list[str]:
        folder = open_toy(tmp_path / name, warm(grid, *paths))
        return [summary(event) for event in Ledger(folder.ledger).read() if isinstance(event, WarmStarted)]

    for number, (first, second) in enumerate([(earlier, copy), (copy, earlier)]):
        assert lines(f"both-{number}", first, second) == [
            f"warm start: 9 trials of {first}, 9 of them reusable as they are",
            f"warm start: 0 trials of {second}, 0 of them reusable as they are, 9 known from another study left out",
        ]
    shutil.rmtree(earlier / "trials" / "000003")
    assert lines("new", earlier, copy) == [
        f"warm start: 8 trials of {earlier}, 8 of them reusable as they are, 1 known from another study left out",
        f"warm start: 1 trial of {copy}, 1 of them reusable as they are, 8 known from another study left out",
    ]
    folder = StudyFolder(tmp_path / "new")
    assert all(trial.reused is not None for trial in run(folder, worker=FailingWorker).trials.values())


class Diverging(KeepingWorker):
    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        return replace(result, score=math.nan) if self.task.config.model.stack.depth == 2 else result


def test_a_trial_that_diverged_does_so_again_without_being_trained(tmp_path: Path) -> None:
    grid = toy_study(trials=9, proposer="grid")
    run(open_toy(tmp_path / "earlier", grid), worker=Diverging)
    record = run(open_toy(tmp_path / "again", warm(grid, tmp_path / "earlier")))
    diverged = [trial for trial in record.trials.values() if trial.reason == "diverged"]
    assert len(diverged) == 3
    assert all(trial.reused is not None and trial.score is None for trial in diverged)


@pytest.mark.slow
@pytest.mark.parametrize("proposer", ["grid", "tpe", "evolution"])
def test_a_driver_killed_at_any_append_needs_nothing_but_its_ledger_and_the_weights(
    proposer: str, earlier: Path, tmp_path: Path
) -> None:
    study = warm(toy_study(trials=5, proposer=proposer), earlier)
    if proposer != "grid":
        study = changed(study, {**study.space.axes, RATE: Axis(choice=(0.001, 0.02, 0.1))})
    written = killed_and_resumed(tmp_path, lambda path: open_toy(path, study), run)
    assert any(isinstance(event, Reused) for event in written)


def test_two_points_that_give_the_same_config_are_trained_once(tmp_path: Path) -> None:
    """A space has no such points; a proposer that repeats itself stands for whatever may."""
    folder = open_toy(tmp_path / "study", toy_study(trials=3))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        driver._state.proposer.ask = lambda number: dict(driver.record.trials[0].point)  # type: ignore[method-assign]
        SerialEngine(KeepingWorker).run(driver)
    events: list[Event] = Ledger(folder.ledger).read()
    assert [event.trial for event in events if isinstance(event, Started)] == [0]
    assert [(e.trial, e.study, e.source) for e in events if isinstance(e, Reused)] == [(1, "", 0), (2, "", 0)]
    record = read_study(folder.path)
    assert len({trial.score for trial in record.trials.values()}) == 1
    assert exploration_of(record).epochs == 4
