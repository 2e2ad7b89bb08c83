"""The driver under every scheduler: trials that pause and go on, kills at any append, and books that are kept."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.retention import Retention
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Decided, Ended, Promoted, Proposed, Reported, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.checks import check_study
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import CHECKPOINT, GROUP, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, TrialTask, trial_task
from tests.search.changed import scheduler_of, searched
from tests.search.killing import killed_and_resumed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

PROMOTION = {"kind": "asha", "variant": "promotion", "reduction": 2}
SCHEDULERS: dict[str, dict[str, Any]] = {
    "stopping": {"scheduler": {"kind": "asha", "reduction": 2}},
    "promotion": {"scheduler": PROMOTION},
    "brackets": {"scheduler": {**PROMOTION, "brackets": 3}},
    "seconds": {"scheduler": {**PROMOTION, "resource": "seconds", "maximum": 9}},
    "race": {"scheduler": {"kind": "asha", "reduction": 2, "resource": "seeds"}, "seeds": 5},
    "race, promotion": {"scheduler": {**PROMOTION, "resource": "seeds"}, "seeds": 5},
    "hyperband": {"scheduler": {"kind": "hyperband", "reduction": 2}},
    "median": {"scheduler": {"kind": "median"}},
    "keep best": {"scheduler": {"kind": "keep_best"}},
}
schedulers = pytest.mark.parametrize("own", SCHEDULERS.values(), ids=SCHEDULERS.keys())


class TimedWorker(ToyWorker):
    """Deeper networks take longer. It leaves a checkpoint, as workers do, and goes on from none but its own."""

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        self.folder = task.folder / GROUP.format(len(task.earlier)) if task.earlier else task.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        if task.reported:
            # A killed driver may not have told of the last epoch.
            assert int((self.folder / CHECKPOINT).read_text()) - task.reported in (0, 1)

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        (self.folder / CHECKPOINT).write_text(str(result.epoch))
        seconds = self.task.config.model.stack.depth + 0.25
        return EpochResult(epoch=result.epoch, score=result.score, metrics=result.metrics, seconds=seconds)


def study(own: dict[str, Any], proposer: str = "tpe", trials: int = 9) -> StudyConfig:
    return searched(toy_study(trials=trials, proposer=proposer), **own)


def run(folder: StudyFolder, ledger: Ledger | None = None) -> StudyRecord:
    with ledger or Ledger(folder.ledger) as opened:
        driver = toy_driver(folder, opened, readers=[Retention(folder, lambda: driver.record)])
        run_study(driver, SerialEngine(TimedWorker))
        return driver.record


@pytest.mark.slow
@schedulers
@pytest.mark.parametrize("proposer", ["grid", "tpe"])
def test_a_driver_killed_at_any_append_and_resumed_writes_what_an_uninterrupted_one_writes(
    proposer: str, own: dict[str, Any], tmp_path: Path
) -> None:
    config = study(own, proposer)
    first = 2 if proposer == "grid" else 5
    killed_and_resumed(tmp_path, lambda path: open_toy(path, config), run, moments=5, first=first)


@pytest.mark.first(3)
@schedulers
def test_every_trial_ends_once_the_base_whole_and_paused_ones_as_stopped(own: dict[str, Any], tmp_path: Path) -> None:
    folder = open_toy(tmp_path, study(own, trials=12))
    record = run(folder)
    ends = [event.trial for event in Ledger(folder.ledger).read() if isinstance(event, Ended)]
    assert sorted(ends) == list(range(12))
    assert record.trials[0].reason == "completed"
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    assert not record.paused()
    assert not list(folder.trials.rglob(CHECKPOINT)), "nobody goes on from them"


@pytest.mark.first(2)
@schedulers
def test_decisions_and_promotions_are_those_of_the_scheduler_on_what_the_ledger_tells(
    own: dict[str, Any], tmp_path: Path
) -> None:
    folder = open_toy(tmp_path, study(own, trials=12))
    record = run(folder)
    judge = scheduler_of(record.study.search, 4, frozenset({0}))
    lived = StudyRecord()
    promotions, paused, beaten, started = 0, set(), False, 0
    for event in Ledger(folder.ledger).read():
        lived.apply(event)
        match event:
            case Reported():
                score = event.score
                if event.seeds and event.epoch == 4:  # of a race only whole seeds count, all of them
                    score = fmean(lived.trials[event.trial].dev.values())
                decision = judge.report(event.trial, event.epoch, score, event.seconds)
            case Decided():
                assert (event.decision, event.rung) == (decision.action, decision.rung)
                if event.decision == "pause":
                    paused.add(event.trial)
            case Promoted():
                assert event.trial in (judge.promotable(), judge.promotable(12))
                judge.promoted(event.trial)
                paused.remove(event.trial)
                promotions += 1
            case Proposed() if paused:
                assert judge.promotable() is None, "a new trial begins only where none can be promoted"
            case Started():
                assert event.trial not in paused
                assert not judge.beaten(), "who waits in vain has ended by now"
                started = event.trial
            case Ended():
                beaten |= event.trial in judge.beaten() and started < 11
                judge.ended(event.trial)
            case _:
                pass
    asked = own["scheduler"]
    assert beaten == (asked["kind"] == "hyperband"), "of others, any may still be promoted"
    pauses = asked["kind"] == "hyperband" or asked.get("variant") == "promotion"
    assert bool(promotions) == bool(paused) == pauses


def test_what_is_promoted_goes_on_after_the_epochs_that_it_reported(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, study(SCHEDULERS["promotion"], "grid"))
    record = run(folder)
    for trial in record.trials.values():
        assert [report.epoch for report in trial.reports] == list(range(1, len(trial.reports) + 1))
    by_rung = {1: 0, 2: 0, 4: 0}
    for trial in record.trials.values():
        for epochs in by_rung:
            by_rung[epochs] += len(trial.reports) >= epochs
    assert by_rung[1] == 9
    assert by_rung[1] // 2 <= by_rung[2] <= by_rung[1] // 2 + 1  # the base may go on beside them
    assert by_rung[4] < by_rung[2]


@pytest.mark.parametrize("name", ["race", "race, promotion"])
def test_in_a_race_a_trial_trains_further_seeds_only_while_it_is_good_and_is_scored_by_all_it_has(
    name: str, tmp_path: Path
) -> None:
    record = run(open_toy(tmp_path, study(SCHEDULERS[name], "grid")))
    trials = record.trials.values()
    assert {len(trial.seeds) for trial in trials} > {1, 5}
    for trial in trials:
        assert trial.seeds == tuple(range(len(trial.seeds)))
        assert (len(trial.seeds) == 5) == (trial.reason == "completed")
        curves: dict[int, list[float]] = {}
        for report in trial.reports:
            for seed, score in zip(report.seeds, report.metrics["dev_accuracy"], strict=True):
                curves.setdefault(seed, []).append(score)
        solo = ToyWorker(record_task(record, trial.number, tmp_path))
        for epoch in range(4):
            assert solo.run_epoch().metrics["dev_accuracy"] == tuple(curves[seed][epoch] for seed in trial.seeds)
        assert trial.score == pytest.approx(fmean(trial.dev.values()))
        assert all(trial.dev[seed] in curves[seed] for seed in trial.seeds)
    ranked = [len(trial.seeds) for trial in record.ranked()]
    assert ranked == sorted(ranked, reverse=True)
    assert all(set(trial.test) == set(trial.seeds) for trial in trials if trial.test)


def record_task(record: StudyRecord, number: int, path: Path) -> TrialTask:
    trial = record.trials[number]
    return trial_task(record, StudyFolder(path), trial.config, number=number, seeds=trial.seeds, device="cpu")


def test_a_bracket_goes_on_without_its_failed_trials_and_one_cut_short_by_the_end_of_the_study_is_judged(
    tmp_path: Path,
) -> None:
    """Over 4 epochs, reduction 2: brackets of 4 (rungs 1 and 2), 3 (rung 2) and 3 (none), then 2 of 4 again."""

    class Failing(TimedWorker):
        def run_epoch(self) -> EpochResult:
            if self.task.number in (2, 5, 10):
                raise RuntimeError("out of luck")
            return super().run_epoch()

    config = study(SCHEDULERS["hyperband"], "random", trials=12)
    folder = open_toy(tmp_path, config)
    trials = run_toy(folder, worker=Failing).trials
    assert sum(len(trials[number].reports) > 1 for number in (1, 3)) in (1, 2), "one goes on beside the base, or both"
    completed = {number for number, trial in trials.items() if trial.reason == "completed"}
    assert len(completed & {4, 6}) == 1
    assert {7, 8, 9, 11} <= completed


def test_a_ledger_that_promotes_another_trial_is_refused(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, study(SCHEDULERS["promotion"], "grid"))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        for _ in range(3):  # the base, which runs on, and two that pause
            task = driver.next()
            assert task is not None
            driver.report(task.number, ToyWorker(task).run_epoch())
        scores = {number: driver.record.trials[number].reports[0].score for number in (1, 2)}
        ledger.append(Promoted(time=1.0, trial=min(scores, key=lambda number: scores[number])))
    with (
        Ledger(folder.ledger) as ledger,
        pytest.raises(UserError, match=r"says that it was promoted.*allowed"),
    ):
        toy_driver(folder, ledger)


def test_too_many_brackets_are_refused_before_anything_is_written() -> None:
    with pytest.raises(UserError, match=r"brackets: got 4 \(allowed: up to 3"):
        check_study(study({"scheduler": {**PROMOTION, "brackets": 4}}))
