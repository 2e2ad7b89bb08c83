"""Shares of GPUs, against sums by hand; what a config holds, against the tensors that are there."""

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from skipstack.data.store.writing import store
from skipstack.search.driver.task import TrialTask
from skipstack.search.engines.room import CONTEXT, GpuShares
from skipstack.search.planning.measuring import memory_of
from tests.search.engines.test_room import Counted
from tests.search.workers.test_worker import CONFIG, task

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
    [(0, 80 * GIB, 0.01), (10 * GIB, 80 * GIB, 0.20), (GIB, 16 * GIB, 0.14), (100 * GIB, 80 * GIB, 1.0)],
)
def test_a_share_is_the_context_and_what_is_counted_with_a_margin_in_whole_hundredths(
    needed: int, device: int, share: float, small: TrialTask
) -> None:
    shares = fixed(needed, device)
    assert shares.share(small) == share
    limit = shares.limit(share)
    assert (limit is None) == (share == 1.0)
    assert limit is None or limit >= 1.49 * needed
    assert limit is None or limit + CONTEXT <= share * device


def test_trials_that_fill_a_gpu_by_their_shares_hold_no_more_than_it_has(small: TrialTask) -> None:
    shares = fixed(3 * GIB, 24 * GIB)
    share = shares.share(small)
    limit = shares.limit(share)
    assert limit is not None
    assert int(1 / share) * (limit + CONTEXT) <= 24 * GIB


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
        assert shares.share(trial) == shares.share(trial) == 0.14
        gc.collect()
        most = max(most, len(held))
    assert most <= 1
    assert shares.is_known(small), "and is counted no second time"


def test_what_a_config_holds_grows_with_lanes_width_and_batch_and_not_with_the_rate(small: TrialTask) -> None:
    base = memory_of(small)
    assert base > 0
    assert memory_of(replace(small, seeds=(4, 5, 6), number=9)) == base
    assert memory_of(replace(small, seeds=(0,))) < base
    rate = CONFIG.model_copy(
        update={
            "training": CONFIG.training.model_copy(
                update={"optimiser": CONFIG.training.optimiser.model_copy(update={"learning_rate": 0.5})}
            )
        }
    )
    assert memory_of(replace(small, config=rate)) == base
    batch = CONFIG.model_copy(update={"training": CONFIG.training.model_copy(update={"batch_size": 16})})
    assert memory_of(replace(small, config=batch)) > base
    stack = CONFIG.model.stack.model_copy(update={"hidden": 24})
    wide = CONFIG.model_copy(update={"model": CONFIG.model.model_copy(update={"stack": stack})})
    assert memory_of(replace(small, config=wide)) > base


def test_counting_trains_nothing_and_writes_nothing(small: TrialTask) -> None:
    memory_of(replace(small, seeds=(0, 1)))
    assert not list(small.folder.iterdir())


@pytest.mark.gpu
def test_a_process_that_holds_more_than_its_limit_runs_out_of_memory(small: TrialTask) -> None:
    from skipstack.models.ground.device import limit_memory

    device = torch.device("cuda")
    limit_memory(device, 64 * 2**20)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(GIB, device=device)
    limit_memory(device, None)
