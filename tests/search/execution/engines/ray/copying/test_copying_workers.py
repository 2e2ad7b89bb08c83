"""Workers whose files are copied: they train as others do, and what they leave is where it belongs in time."""

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import pytest
import torch

from skipstack.data.basis import disk_errors
from skipstack.data.basis.errors import UserError
from skipstack.models.training.checkpoint import read_tensors
from skipstack.search.execution.driver.attempt import Attempt
from skipstack.search.execution.driver.faults import Fault, OutOfSpaceError, WeightsLostError
from skipstack.search.execution.driver.functions import source_of
from skipstack.search.execution.driver.measuring_on_test import Measurement, measured
from skipstack.search.execution.engines.ray.copying.copying_workers import PartedError, UnsentResult
from skipstack.search.execution.workers.attempts import ATTEMPT, SupersededError
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.study.record.folder import BEST, CHECKPOINT, GROUP
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from skipstack.spaces.function import FunctionConfig
from tests.search.execution.engines.ray.copying.machines import Cluster, left, machine
from tests.search.execution.workers.test_worker import CONFIG, corpus, task, told
from tests.search.toy import ToyWorker

__all__ = ["corpus"]

EPOCHS = 4


class LeavingWorker(ToyWorker):
    """Leaves its best weights and a checkpoint at each epoch; the best ones are those of the second."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if result.epoch <= 2:
            (self.task.folder / BEST).write_text(f"best {result.epoch}")
        (self.task.folder / CHECKPOINT).write_text(f"epoch {result.epoch}")
        return result


class FailingWorker(LeavingWorker):
    """Its third epoch leaves its files, and fails."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if result.epoch == 3:
            raise RuntimeError("out of luck")
        return result


class DivergingWorker(LeavingWorker):
    """Its third epoch has no score."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        return replace(result, score=math.nan) if result.epoch == 3 else result


class SecondsWorker(LeavingWorker):
    """Each epoch takes a second, as it says."""

    def run_epoch(self) -> EpochResult:
        return replace(super().run_epoch(), seconds=1.0)


def on_driver(cluster: Cluster, corpus: Path, number: int = 0, **changes: Any) -> TrialTask:
    """The task as the driver gives it: its paths are those of its own machine."""
    store = cluster.study.corpora / corpus.name
    if not store.exists():
        shutil.copytree(corpus, store)
    return replace(task(store, cluster.study.trial(number)), number=number, **changes)


def toy_task(cluster: Cluster, **changes: Any) -> TrialTask:
    return replace(task(Path(), cluster.study.trial(0)), corpus=None, **changes)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def alike(one: Path, other: Path) -> bool:
    """Whether two trials have the same files; checkpoints also say how many seconds their epoch took."""
    assert files(one).keys() == files(other).keys()
    (first, _), (second, _) = (read_tensors(folder / CHECKPOINT) for folder in (one, other))
    assert all(torch.equal(first[name], second[name]) for name in first.keys() | second.keys())
    return (one / BEST).read_bytes() == (other / BEST).read_bytes()


def test_a_trial_is_trained_and_measured_elsewhere_bit_for_bit_as_where_its_folder_is(
    corpus: Path, tmp_path: Path
) -> None:
    cluster, here = Cluster(tmp_path), TrainingWorker(task(corpus, tmp_path / "plain"))
    with machine(tmp_path / "other") as other:
        copying = cluster.workers(TrainingWorker)
        given = on_driver(cluster, corpus)
        worker = copying(given)
        for _ in range(EPOCHS):
            assert told(worker.run_epoch()) == told(here.run_epoch())
        assert alike(given.folder, tmp_path / "plain")
        worker.close()
        assert not [name for name in left(other) if "trials" in name], "nothing of a trial stays there"
        assert copying.test(given) == TrainingWorker.test(task(corpus, tmp_path / "plain"))
        store = sum(path.stat().st_size for path in corpus.iterdir())
        assert cluster.server.given == store + (given.folder / BEST).stat().st_size, "the corpus came once"


def test_where_the_folder_is_seen_the_workers_are_the_plain_ones_and_nothing_is_copied(
    corpus: Path, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path)
    with machine(tmp_path / "same") as same:
        copying = cluster.workers(TrainingWorker, sees=True)
        copying.stay()
        given = on_driver(cluster, corpus)
        worker = copying(given)
        assert type(worker) is TrainingWorker
        for _ in range(EPOCHS):
            worker.run_epoch()
        copying.test(given)
        assert copying.reading(lambda each: each, given) is given
        assert not same.exists()
    assert cluster.server.moved() == 0


@pytest.mark.first(1)
@pytest.mark.parametrize("reported", [1, 2, 3])
def test_a_lost_machine_costs_what_it_had_not_sent_and_another_one_goes_on_to_the_same_end(
    reported: int, corpus: Path, tmp_path: Path
) -> None:
    cluster, here = Cluster(tmp_path, seconds=1.0), TrainingWorker(task(corpus, tmp_path / "plain"))
    whole = [told(here.run_epoch()) for _ in range(EPOCHS)]
    given = on_driver(cluster, corpus)
    with machine(tmp_path / "lost"):
        lost = cluster.workers(TrainingWorker)(given)
        for epoch in range(1, 4):
            result = lost.run_epoch()
            assert isinstance(result, UnsentResult) == (epoch > 1), "a second's sending is not repeated at once"
    with machine(tmp_path / "other") as other:
        again = cluster.workers(TrainingWorker)(replace(given, attempt=2, reported=reported))
        assert [told(again.run_epoch()) for _ in range(EPOCHS - reported)] == whole[reported:]
        with pytest.raises(SupersededError, match="attempt 1 was given up, 2 has begun"):
            lost.run_epoch()
        again.close()
        assert not [name for name in left(other) if "trials" in name]
    assert (given.folder / ATTEMPT).read_text() == "2\n"
    assert alike(given.folder, tmp_path / "plain")


@pytest.mark.slow
def test_best_weights_that_a_lost_machine_had_alone_are_trained_again_to_be_measured(
    corpus: Path, tmp_path: Path
) -> None:
    """The trial had ended by surprise, with weights on the driver's disk that are older than its best ones."""
    cluster, here = Cluster(tmp_path, seconds=1.0), TrainingWorker(task(corpus, tmp_path / "plain"))
    results = [here.run_epoch() for _ in range(3)]
    best = max(results, key=lambda result: result.score).epoch
    assert best > 1
    given = on_driver(cluster, corpus)
    with machine(tmp_path / "lost"):
        lost = cluster.workers(TrainingWorker)(given)
        for _ in range(3):
            lost.run_epoch()
    with machine(tmp_path / "other"):
        workers, ended = cluster.workers(TrainingWorker), replace(given, reported=3)
        cluster.server.over(0)
        fault = measured(workers, Measurement(replace(ended, best=best)))
        assert isinstance(fault, Fault)
        assert fault.weights_lost
        assert f"got the weights of epoch 1 (allowed: of its best, epoch {best})" in fault.message
        again = Measurement(ended, training=(replace(ended, reported=2),))
        assert measured(workers, again) == TrainingWorker.test(task(corpus, tmp_path / "plain"))


@pytest.mark.slow
def test_racing_seeds_go_on_elsewhere_and_join_their_weights_as_on_one_machine(corpus: Path, tmp_path: Path) -> None:
    cluster, weights = Cluster(tmp_path), []
    for place in ("plain", "copied"):
        workers, folder = TrainingWorker, tmp_path / place
        given = task(corpus, folder)
        if place == "copied":
            workers, given = cluster.workers(TrainingWorker), on_driver(cluster, corpus)
        groups = (replace(given, seeds=(0,)), replace(given, seeds=(1, 2), earlier=(0,), attempt=2))
        for number, group in enumerate(groups):
            with machine(tmp_path / f"machine-{number}"):
                worker = workers(group)
                for _ in range(EPOCHS):
                    worker.run_epoch()
                worker.close()
        weights.append((given.folder / BEST).read_bytes())
        assert (given.folder / GROUP.format(1) / BEST).exists()
    assert weights[0] == weights[1]


def test_files_are_sent_where_the_trial_may_end_and_otherwise_at_their_pace(tmp_path: Path) -> None:
    """Sending takes a second, an epoch three: the next is due twenty seconds later."""
    cluster, sent = Cluster(tmp_path, seconds=1.0), []
    long = CONFIG.model_copy(update={"training": CONFIG.training.model_copy(update={"epochs": 20})})
    with machine(tmp_path / "other"):
        worker = cluster.workers(LeavingWorker, halts=(3, 9))(toy_task(cluster, config=long))
        for epoch in range(1, 21):
            cluster.clock.now += 3.0
            if not isinstance(worker.run_epoch(), UnsentResult):
                sent.append(epoch)
        worker.close()
    assert sent == [1, 3, 9, 16, 20]
    assert len(cluster.server.sendings) == 5
    assert cluster.server.sendings[1] == [BEST, CHECKPOINT], "first the weights that the checkpoint speaks of"
    assert cluster.server.sendings[2] == [CHECKPOINT], "what has not changed stays at home"


@pytest.mark.parametrize(("worker", "limit"), [(DivergingWorker, None), (SecondsWorker, 3.0)])
def test_files_are_sent_before_an_epoch_is_told_that_ends_its_trial_by_itself(
    worker: type[LeavingWorker], limit: float | None, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other"):
        training = cluster.workers(worker)(toy_task(cluster, time_left=limit))
        results = [training.run_epoch() for _ in range(3)]
        assert [isinstance(result, UnsentResult) for result in results] == [False, True, False]
        training.close()
    assert (cluster.study.trial(0) / CHECKPOINT).read_text() == "epoch 3"


def test_files_are_sent_before_an_error_is_told(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other") as other:
        attempt = Attempt(cluster.workers(FailingWorker), toy_task(cluster))
        for _ in range(2):
            attempt.run_epoch()
        with pytest.raises(RuntimeError, match="out of luck"):
            attempt.run_epoch()
        assert (cluster.study.trial(0) / CHECKPOINT).read_text() == "epoch 3"
        assert left(other) == []


@final
@dataclass(frozen=True)
class NotingWorkers(Workers):
    """Note in a file what they do; a worker cannot be made, and no trial can be measured."""

    def __call__(self, task: TrialTask) -> Worker:
        self._note(task, "made")
        raise RuntimeError("out of luck")

    def test(self, task: TrialTask) -> Measured:
        self._note(task, "measured")
        raise RuntimeError("out of luck")

    def _note(self, task: TrialTask, line: str) -> None:
        with (task.folder / "log").open("a") as file:
            file.write(f"{line}\n")


def test_what_is_noted_of_a_trial_that_fails_at_once_or_is_measured_is_with_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    with machine(tmp_path / "other") as other:
        workers = cluster.workers(NotingWorkers())
        for call in (workers, workers.test):
            with pytest.raises(RuntimeError, match="out of luck"):
                call(toy_task(cluster))
        assert left(other) == []
    assert (cluster.study.trial(0) / "log").read_text() == "made\nmeasured\n"


def test_a_trial_that_was_stopped_by_surprise_sends_the_rest_and_trains_no_further(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other") as other:
        attempt = Attempt(cluster.workers(LeavingWorker), toy_task(cluster))
        assert not isinstance(attempt.run_epoch(), UnsentResult)
        assert isinstance(attempt.run_epoch(), UnsentResult)
        assert (cluster.study.trial(0) / BEST).read_text() == "best 1"
        cluster.server.over(0)
        cluster.server.part(0, 1)
        with pytest.raises(PartedError):
            attempt.run_epoch()
        assert left(other) == []
    assert (cluster.study.trial(0) / BEST).read_text() == "best 2"
    assert not (cluster.study.trial(0) / CHECKPOINT).exists()


def test_a_worker_that_is_closed_sends_what_it_has(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other") as other:
        worker = cluster.workers(LeavingWorker)(toy_task(cluster))
        for _ in range(3):
            worker.run_epoch()
        worker.close()
        assert left(other) == []
    assert (cluster.study.trial(0) / CHECKPOINT).read_text() == "epoch 3"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing disk is tried again without a pause."""
    monkeypatch.setattr(disk_errors, "PAUSES", (0.0, 0.0))


@pytest.mark.first(1)
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("before", [2, 3])
def test_a_trial_whose_files_others_clean_away_goes_on_from_what_was_sent(
    before: int, corpus: Path, tmp_path: Path
) -> None:
    cluster, here = Cluster(tmp_path, seconds=1.0), TrainingWorker(task(corpus, tmp_path / "plain"))
    given = on_driver(cluster, corpus)
    with machine(tmp_path / "other") as other:
        workers = cluster.workers(TrainingWorker)
        workers.stay()
        attempt = Attempt(workers, given)
        for epoch in range(1, EPOCHS + 1):
            if epoch == before:
                shutil.rmtree(other)
            assert told(attempt.run_epoch()) == told(here.run_epoch())
        assert alike(given.folder, tmp_path / "plain")
        attempt.close()
        assert not [name for name in left(other) if "trials" in name]


@pytest.mark.first(1)
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("file", ["manifest.json", "train.arrow"])
def test_a_corpus_of_which_others_clean_a_file_away_is_fetched_again(file: str, corpus: Path, tmp_path: Path) -> None:
    cluster, here, cleaned = Cluster(tmp_path), TrainingWorker(task(corpus, tmp_path / "plain")), [file]

    class WithoutFile(TrainingWorker):
        def __init__(self, task: TrialTask) -> None:
            assert task.corpus is not None
            while cleaned:
                (task.corpus / cleaned.pop()).unlink()
            super().__init__(task)

    with machine(tmp_path / "other"):
        attempt = Attempt(cluster.workers(WithoutFile), on_driver(cluster, corpus))
        assert told(attempt.run_epoch()) == told(here.run_epoch())
        attempt.close()
    assert not cleaned


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("change", ["cut off", "other"])
def test_a_damaged_corpus_of_the_study_itself_is_named_and_not_its_copy(
    change: str, corpus: Path, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path)
    given = on_driver(cluster, corpus)
    assert given.corpus is not None
    content = (given.corpus / "train.arrow").read_bytes()
    damaged = content[:-1] if change == "cut off" else content[:-1] + bytes([content[-1] ^ 1])
    (given.corpus / "train.arrow").write_bytes(damaged)
    with machine(tmp_path / "other") as other:
        attempt = Attempt(cluster.workers(TrainingWorker), given)
        with pytest.raises(UserError, match=re.escape(f"the stored corpus {given.corpus} is damaged")) as raised:
            attempt.run_epoch()
        attempt.close()
    assert str(other) not in str(raised.value)


@pytest.mark.usefixtures("at_once")
def test_of_a_trial_that_was_stopped_by_surprise_nothing_goes_with_what_others_clean_away(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other") as other:
        attempt = Attempt(cluster.workers(LeavingWorker), toy_task(cluster))
        for _ in range(2):
            attempt.run_epoch()
        cluster.server.over(0)
        cluster.server.part(0, 1)
        shutil.rmtree(other)
        with pytest.raises(PartedError):
            attempt.run_epoch()
    assert files(cluster.study.trial(0)) == {BEST: b"best 1", ATTEMPT: b"1\n"}


class CleanedWorker(LeavingWorker):
    """Where the trial was not removed before, it is while it is measured."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        assert (task.folder / BEST).read_text() == "best 2"
        if not (cleaned := task.folder.parents[2] / "cleaned").exists():
            shutil.rmtree(task.folder)
            cleaned.touch()
        return Measured(metrics={"left": (float(task.folder.exists()),)})


@pytest.mark.usefixtures("at_once")
def test_what_others_clean_away_while_a_trial_is_measured_is_still_with_the_driver(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    with machine(tmp_path / "other"):
        attempt = Attempt(cluster.workers(CleanedWorker), toy_task(cluster))
        for _ in range(EPOCHS):
            attempt.run_epoch()
        attempt.close()
        outcome = measured(cluster.workers(CleanedWorker), Measurement(toy_task(cluster)))
        assert outcome == Measured(metrics={"left": (1.0,)})
    assert (cluster.study.trial(0) / BEST).read_text() == "best 2"


def test_a_full_disk_of_the_driver_interrupts_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(tmp_path)

    def refuse(*_: object) -> None:
        raise OutOfSpaceError("the driver's disk is full")

    monkeypatch.setattr(cluster.server, "take", refuse)
    with machine(tmp_path / "other") as other:
        with pytest.raises(OutOfSpaceError):
            Attempt(cluster.workers(LeavingWorker), toy_task(cluster)).run_epoch()
        assert left(other) == []


def test_weights_that_the_driver_does_not_have_are_lost_to_a_test(corpus: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    with machine(tmp_path / "other"), pytest.raises(WeightsLostError, match="no such file"):
        cluster.workers(TrainingWorker).test(on_driver(cluster, corpus))


def test_a_store_that_the_driver_does_not_have_is_the_mistake_of_no_trial(corpus: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    given = replace(on_driver(cluster, corpus), corpus=cluster.study.corpora / "gone")
    with machine(tmp_path / "other"), pytest.raises((UserError, OSError), match="gone"):
        cluster.workers(TrainingWorker)(given)


def keeping(config: Mapping[str, Any], report: Report) -> None:
    """Goes on from what it saved; leaves a file for its last epoch, and another one at its end."""
    kept = report.folder / "state" / "epoch"
    kept.parent.mkdir(exist_ok=True)
    begun = int(kept.read_text()) if kept.exists() else 0
    for epoch in range(begun + 1, EPOCHS + 1):
        (report.folder / f"weights-{epoch}").write_text(f"{config['x']} {epoch}")
        (report.folder / f"weights-{epoch - 1}").unlink(missing_ok=True)
        report(score=epoch / EPOCHS, epoch=epoch, begun=float(begun))
        kept.write_text(str(epoch))
    (report.folder / "done").touch()


def function_task(cluster: Cluster, **changes: Any) -> TrialTask:
    source = source_of(keeping).model_copy(update={"epochs": 100})
    config = FunctionConfig.model_validate({"function": source.model_dump(), "x": 7})
    return replace(toy_task(cluster, config=config, seeds=(0, 1)), **changes)


def test_what_a_function_leaves_travels_as_it_is_and_another_machine_goes_on_from_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    with machine(tmp_path / "lost"):
        lost = cluster.workers(FunctionWorkers(keeping))(function_task(cluster))
        for _ in range(3):
            lost.run_epoch()
        assert files(cluster.study.trial(0)).keys() == {
            ATTEMPT,
            *(f"seed-{seed}/{name}" for seed in (0, 1) for name in ("weights-3", "state/epoch")),
        }
    with machine(tmp_path / "other") as other:
        again = cluster.workers(FunctionWorkers(keeping))(function_task(cluster, attempt=2, reported=3))
        result = again.run_epoch()
        assert result is not None
        assert (result.epoch, result.metrics["begun"]) == (4, (2.0, 2.0)), "what it saves after a report comes later"
        assert again.run_epoch() is None
        assert {name for name in files(cluster.study.trial(0)) if "done" in name} == {"seed-0/done", "seed-1/done"}
        again.close()
        assert left(other) == []
    for seed in (0, 1):
        assert {path.name for path in (cluster.study.trial(0) / f"seed-{seed}").iterdir()} == {
            "weights-4",
            "state",
            "done",
        }
    lost.close()
