"""Shares of GPUs, against sums by hand; what a config holds, against the tensors that are there."""

import gc
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT
from skipstack.data.store.writing import store
from skipstack.models.conformance.accelerator import trial_memory
from skipstack.models.ground.device_memory import device_memory, limit_memory, room_of
from skipstack.search.api.planning.memory import memory_of
from skipstack.search.execution.engines.capacity import MARGIN, GpuShares
from skipstack.search.execution.workers import worker
from skipstack.search.study.task import TrialTask
from skipstack.spaces.trial import TrialConfig
from tests.search.counted_apart import counted_apart
from tests.search.execution.engines.test_capacity import Counted
from tests.search.execution.workers.test_worker import CONFIG, task

GIB = 2**30


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpora")
    return store(CONFIG.data.corpus, root=root, data_dir=None, folder=root)


@pytest.fixture
def small(corpus: Path, tmp_path: Path) -> TrialTask:
    return task(corpus, tmp_path)


def fixed(needed: int, device: int) -> GpuShares:
    return GpuShares(device, lambda _: Counted(needed))


@pytest.mark.parametrize(
    ("needed", "device", "share"),
    [(0, 80 * GIB, 0.01), (10 * GIB, 80 * GIB, 0.17), (GIB, 16 * GIB, 0.13), (100 * GIB, 80 * GIB, 1.0)],
)
def test_a_share_is_the_context_and_what_is_counted_with_a_margin_in_whole_hundredths(
    needed: int, device: int, share: float, small: TrialTask
) -> None:
    assert fixed(needed, device).share(small) == share
    assert share == 1 or needed * MARGIN <= room_of(share, device) <= share * device - GPU_CONTEXT


def test_trials_that_fill_a_gpu_by_their_shares_hold_no_more_than_it_has(small: TrialTask) -> None:
    share = fixed(3 * GIB, 24 * GIB).share(small)
    assert int(1 / share) * (room_of(share, 24 * GIB) + GPU_CONTEXT) <= 24 * GIB


def test_a_config_is_counted_once_for_as_many_seeds_and_while_it_is_nobody_waits(small: TrialTask) -> None:
    counts: list[Counted] = []

    def count(_: TrialTask) -> Counted:
        counts.append(Counted(GIB, asks=2))
        return counts[-1]

    shares = GpuShares(16 * GIB, count)
    assert [shares.is_known(small) for _ in range(3)] == [False, False, True]
    assert shares.is_known(replace(small, number=5))
    assert not shares.is_known(replace(small, seeds=(1,)))
    assert len(counts) == 2


def test_a_count_is_let_go_once_it_is_answered_however_many_configs_there_are(small: TrialTask) -> None:
    """The cluster keeps the answer of a count for as long as somebody holds it."""
    held: weakref.WeakSet[Counted] = weakref.WeakSet()

    def count(_: TrialTask) -> Counted:
        held.add(counted := Counted(GIB, asks=1))
        return counted

    shares, most = GpuShares(16 * GIB, count), 0
    gc.collect()
    gc.freeze()  # what other tests have loaded is not looked through forty times
    for seeds in range(1, 41):  # another number of seeds is another config to it
        trial = replace(small, seeds=tuple(range(seeds)))
        assert not shares.is_known(trial)
        assert shares.is_known(trial)
        assert shares.share(trial) == shares.share(trial) == 0.13
        gc.collect()
        most = max(most, len(held))
    assert most <= 1
    assert shares.is_known(small), "and is counted no second time"


def test_trials_that_differ_only_in_their_folder_and_rate_are_counted_once(
    small: TrialTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[object] = []

    def counted(*given: object, **options: object) -> SimpleNamespace:
        counts.append(given)
        return SimpleNamespace(together=GIB)

    monkeypatch.setattr(trial_memory, "trial_memory", counted)
    rate = CONFIG.training.optimiser.model_copy(update={"learning_rate": 0.5})
    other = CONFIG.model_copy(update={"training": CONFIG.training.model_copy(update={"optimiser": rate})})
    many = replace(small, seeds=tuple(range(97)))  # no other test counts so many
    tasks = [many, replace(many, number=1, folder=tmp_path / "1"), replace(many, config=other)]
    assert [memory_of(each) for each in tasks] == 3 * [GIB]
    assert len(counts) == 1


@pytest.mark.slow
def test_what_a_config_holds_grows_with_lanes_width_and_batch_and_not_with_the_rate(
    small: TrialTask, tmp_path: Path
) -> None:
    def changed(**update: object) -> TrialConfig:
        return CONFIG.model_copy(update=update)

    def trained(**update: object) -> TrialConfig:
        return changed(training=CONFIG.training.model_copy(update=update))

    stack = CONFIG.model.stack.model_copy(update={"hidden": 24})
    rate = CONFIG.training.optimiser.model_copy(update={"learning_rate": 0.5})
    tasks = {
        "base": small,
        "others": replace(small, seeds=(4, 5, 6), number=9),
        "narrow": replace(small, seeds=(0,)),
        "rate": replace(small, config=trained(optimiser=rate)),
        "batch": replace(small, config=trained(batch_size=16)),
        "wide": replace(small, config=changed(model=CONFIG.model.model_copy(update={"stack": stack}))),
        "captured": replace(small, device="cuda-graphs"),
    }
    counted = dict(zip(tasks, counted_apart(list(tasks.values())), strict=True))
    base = counted.pop("base")
    assert counted.pop("others") == counted.pop("rate") == base
    assert 0 < counted.pop("narrow") < base
    assert min(counted.values()) > base
    assert not list(small.folder.iterdir()), "and nothing is trained or written"


LIMITS = [(None, 1.0), (1.0, 1.0), (2.0, 1.0), (0.5, 0.5 - GPU_CONTEXT / (10 * GIB))]


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
@pytest.mark.parametrize(("share", "part"), LIMITS)
def test_a_process_is_confined_to_its_share_of_its_gpu_beside_its_context(
    share: float | None, part: float, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told_of(device, share, monkeypatch) == [(pytest.approx(part), int(device == "cuda:1"))]


def test_a_share_that_leaves_no_room_beside_the_context_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    told = r"--gpus-per-trial: 0\.05 of a GPU with 10\.7 GB is less [^\n]* \(allowed here: above 0\.068\)$"
    with pytest.raises(UserError, match=told):
        told_of("cuda", 0.05, monkeypatch)


def told_of(device: str, share: float | None, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """What torch is told of the memory of a GPU of 10 GiB, by part and number."""
    told: list[tuple[float, int]] = []
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=10 * GIB))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda *given: told.append(given))
    limit_memory(torch.device(device), share)
    return told


def test_whoever_trains_and_whoever_measures_on_test_is_confined(
    small: TrialTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the process had another limit before, or none."""
    told: list[float | None] = []
    monkeypatch.setattr(worker, "limit_memory", lambda _, share: told.append(share))
    trainer = worker.TrainingWorker(small)
    for _ in range(CONFIG.epochs):
        trainer.run_epoch()
    for share in (0.25, None):
        worker.TrainingWorker.test(replace(small, gpu_share=share))
        worker.TrainingWorker(replace(small, gpu_share=share))
    assert told == [None, 0.25, 0.25, None, None]


@pytest.mark.gpu
def test_a_process_that_holds_more_than_its_limit_runs_out_of_memory(small: TrialTask) -> None:
    device = torch.device("cuda")
    limit_memory(device, (GPU_CONTEXT + 64 * 2**20) / device_memory(device))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(GIB, device=device)
    limit_memory(device, None)
