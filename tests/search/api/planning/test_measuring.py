"""What is measured of a config, against the network that is built for it and against a clock that the test owns."""

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.store.batches import Batch
from skipstack.models.kernels.choice import in_a_line
from skipstack.models.training.evaluate import evaluated
from skipstack.models.training.loop import Training
from skipstack.search.api.opening import open_study
from skipstack.search.api.planning import measuring
from skipstack.search.api.planning.measuring import TrainingMeter, middles, room
from skipstack.search.api.planning.plan import Room
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.search.study.task import trial_task
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig

SMALL = [f"data.corpus.{split}={number}" for split, number in (("train", 60), ("dev", 20), ("test", 5))]
Made = Callable[..., tuple[StudyConfig, TrainingMeter]]


@pytest.fixture(scope="module")
def meter(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study on a small corpus, opened, and its meter."""

    def made(name: str, *overrides: str, seeds: int = 2) -> tuple[StudyConfig, TrainingMeter]:
        study, _ = load_study(name, overrides=[*SMALL, *overrides], seeds=seeds)
        folder = StudyFolder(tmp_path_factory.mktemp("plan"))
        open_study(study, folder, data_dir=None, corpus_folder=Path())
        return study, TrainingMeter(read_study(folder.path), folder, "cpu")

    return made


def trainings(meter: TrainingMeter, config: TrialConfig, seeds: tuple[int, ...]) -> list[Training]:
    task = trial_task(meter.record, meter.folder, config, number=1, seeds=seeds, device="cpu")
    return TrainingWorker(task).groups


def test_parameters_are_those_of_the_network_that_is_built(meter: Made) -> None:
    study, subject = meter("flagship")
    space, source = Space(study.space), np.random.default_rng(0)
    seen = set()
    for _ in range(8):
        config = space.config(space.sample(source))
        (training,) = trainings(subject, config, (0,))
        assert subject.parameters(config) == sum(each.numel() for each in training.model.parameters())
        seen.add(subject.parameters(config))
    assert len(seen) > 4


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
def test_networks_are_timed_at_the_niceness_of_trials_on_ray_and_the_process_keeps_its_own(
    meter: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, subject = meter("quickstart")
    before, seen, step = os.getpriority(os.PRIO_PROCESS, 0), [], Training.step

    def stepped(self: Training, batch: Batch) -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return step(self, batch)

    monkeypatch.setattr(Training, "step", stepped)
    monkeypatch.setenv("RAY_worker_niceness", "18")
    subject.measure(study.space.base)
    assert set(seen) == {18}
    monkeypatch.setenv("RAY_worker_niceness", "0")
    subject.measure(study.space.base)
    assert set(seen) == {18, before}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    assert room("cpu", "auto").niceness == before
    monkeypatch.setenv("RAY_worker_niceness", "low")
    with pytest.raises(UserError, match=r"RAY_worker_niceness: got 'low' \(allowed: an integer from 0 to 19\)"):
        room("cpu", "auto")


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("optimiser", "slots"),
    [
        ("{kind: sgd}", 0),
        ("{kind: sgd, momentum: 0.9}", 1),
        ("{kind: adagrad}", 1),
        ("{kind: adam}", 2),
        ("{kind: lazy_adam}", 2),
    ],
)
def test_state_is_weights_gradients_and_the_slots_of_the_optimiser(optimiser: str, slots: int, meter: Made) -> None:
    study, subject = meter("quickstart", f"training.optimiser={optimiser}")
    base = study.space.base
    made = subject.measure(base)
    assert made.lanes == 2
    assert made.weights == made.gradients == 2 * 4 * subject.parameters(base)
    assert made.optimiser == slots * made.weights
    assert made.memory == made.weights + made.gradients + made.optimiser + made.activations
    assert not list(subject.folder.trials.glob("*/*")), "nothing of a trial is kept"


@pytest.mark.slow
def test_double_precision_takes_twice_the_bytes_and_more_sentences_more_activations(meter: Made) -> None:
    study, subject = meter("quickstart")
    _, double = meter("quickstart", "training.precision=float64")
    one, two = subject.measure(study.space.base), double.measure(double.record.study.space.base)
    assert (two.weights, two.optimiser) == (2 * one.weights, 2 * one.optimiser)
    assert two.activations == pytest.approx(2 * one.activations, rel=0.1)
    training = study.space.base.training.model_copy(update={"batch_size": 1})
    alone = subject.measure(study.space.base.model_copy(update={"training": training}))
    assert alone.activations < one.activations / 4  # batches of 16 have 6 sentences or more of the widest bucket


def test_activations_are_at_least_what_the_layers_put_out(meter: Made) -> None:
    study, subject = meter("quickstart")
    base = study.space.base
    (training,) = trainings(subject, base, (0, 1))
    largest = max(batch.forms_RTB.size for batch in training.batches())
    gates, directions = 4, 2
    least = largest * base.model.stack.depth * base.model.stack.hidden * gates * directions * 4
    assert least < subject.measure(base).activations < 10 * least


class Clock:
    """Time passes only while batches are trained on (3 seconds a position) or read (1 second)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(measuring, "clock", lambda device: self.now)
        step, read = Training.step, measuring._read

        def slow_step(training: Training, batch: Batch, *rest: Any) -> Any:
            self.now += 3 * batch.forms_RTB.size
            return step(training, batch, *rest)

        def slow_read(training: Training, batch: Batch) -> None:
            self.now += batch.forms_RTB.size
            read(training, batch)

        monkeypatch.setattr(Training, "step", slow_step)
        monkeypatch.setattr(measuring, "_read", slow_read)


def positions(training: Training) -> tuple[int, int]:
    dev = evaluated(training.corpus.stored, "dev", training.device)
    return sum(batch.forms_RTB.size for batch in training.batches()), sum(batch.forms_RTB.size for batch in dev)


def test_an_epoch_of_few_batches_is_timed_exactly(meter: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    study, subject = meter("quickstart", "training.batch_size=32")
    (training,) = trainings(subject, study.space.base, (0, 1))
    trained, read = positions(training)
    batches = len(list(training.batches()))
    assert batches <= measuring.UPDATES
    Clock(monkeypatch)
    made = subject.measure(study.space.base)
    assert made.epoch_seconds == 3 * trained + read
    assert made.step_seconds == 3 * trained / batches


def test_an_epoch_of_many_batches_is_estimated_from_a_few_of_every_size(
    meter: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, subject = meter("quickstart", "training.batch_size=1", "data.corpus.train=300")
    (training,) = trainings(subject, study.space.base, (0, 1))
    trained, read = positions(training)
    Clock(monkeypatch)
    assert subject.measure(study.space.base).epoch_seconds == pytest.approx(3 * trained + read, rel=0.05)


def test_seeds_that_train_one_after_another_add_up(meter: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    study, subject = meter("quickstart", "training.batch_size=32", "search.lanes=1", seeds=3)
    (training, _, _) = trainings(subject, study.space.base, (0, 1, 2))
    trained, read = positions(training)
    Clock(monkeypatch)
    made = subject.measure(study.space.base)
    assert (made.lanes, made.weights) == (1, 4 * subject.parameters(study.space.base))
    assert made.epoch_seconds == 3 * (3 * trained + read)


def test_trials_that_share_a_program_have_their_part_of_its_seconds(
    meter: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, alone = meter("quickstart", "training.batch_size=32")
    shared = TrainingMeter(alone.record, alone.folder, "cpu", trials=3)
    Clock(monkeypatch)
    one, each = (subject.measure(study.space.base) for subject in (alone, shared))
    assert (each.lanes, each.weights) == (3 * one.lanes, 3 * one.weights)
    assert each.epoch_seconds == pytest.approx(one.epoch_seconds, rel=0.05), "this clock counts positions"


def test_what_stands_amid_each_run_is_chosen() -> None:
    assert middles(range(10), 5) == [1, 3, 5, 7, 9]
    assert middles(range(9), 3) == [1, 4, 7]
    assert middles([7, 5], 5) == [7, 5]


def test_a_machine_without_a_gpu_has_room_for_a_trial_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(os, "getloadavg", _uncounted)
    here = Room(slots=3, device="cpu", kernels=in_a_line(torch.device("cpu")), cpus=3, load_average=None, niceness=15)
    assert room("cpu", 0.5) == replace(here, gpus_per_trial=0.5)
    assert room("cpu", "auto") == here


@pytest.mark.parametrize(
    ("cpus_per_trial", "concurrent", "slots"), [(1, None, 7), (2, None, 3), (7, None, 1), (1, 4, 4), (2, 4, 3)]
)
def test_room_is_for_trials_of_several_cpus_and_no_more_than_may_run_at_a_time(
    cpus_per_trial: int, concurrent: int | None, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)))
    here = room("cpu", "auto", cpus_per_trial=cpus_per_trial, concurrent=concurrent)
    assert (here.slots, here.cpus) == (slots, 7)
    with pytest.raises(UserError, match=r"--cpus-per-trial: got 8 \(allowed: at most the 7 CPUs of this machine\)"):
        room("cpu", "auto", cpus_per_trial=8)


def _uncounted() -> None:
    raise OSError("this system counts no load")


@pytest.mark.parametrize(
    ("share", "slots", "counted"), [("auto", 4, 1.0), (0.34, 8, 0.34), (2.0, 2, 2.0), (3.0, 1, 3.0), (0.0, 16, 0.0)]
)
def test_room_is_counted_gpu_by_gpu_and_without_a_share_trials_compute_on_a_cpu(
    share: Any, slots: int, counted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 3.0, 4.0))
    monkeypatch.setenv("RAY_worker_niceness", "15")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    device = "cuda" if counted else "cpu"
    kernels = in_a_line(torch.device(device))
    assert room("auto", share) == Room(
        slots=slots, device=device, gpus_per_trial=counted, kernels=kernels, cpus=16, load_average=1.5, niceness=15
    )
    with pytest.raises(UserError, match="--gpus-per-trial 5: got 4 GPUs here"):
        room("auto", 5.0)
    with pytest.raises(UserError, match="--gpus-per-trial 0: got 4 GPUs here"):
        room("cuda", 0.0)


@pytest.mark.gpu
def test_the_estimate_of_memory_is_near_what_a_gpu_gives_out(meter: Made) -> None:
    study, cpu = meter("flagship", "model.stack.hidden=300", "model.stack.depth=3")
    subject = TrainingMeter(cpu.record, cpu.folder, "cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    made = subject.measure(study.space.base)
    given = torch.cuda.max_memory_allocated() - before
    assert 0.5 * given < made.memory <= 1.2 * given
    assert room("cuda", 0.25).slots >= 1
