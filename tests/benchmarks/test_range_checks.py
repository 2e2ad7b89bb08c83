"""What it costs to check the ranges of a stored corpus, beside an epoch of training on it.

The checks are made once, when a process opens the store; the epoch is of one lane of a small network, its evaluation on
dev included, so the share of any larger network or any longer training is less.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
import torch

from skipstack.data.corpora.config import DataConfig, NamedCorpus
from skipstack.data.store.layout import FORMS, Notes
from skipstack.data.store.prepared import prepare
from skipstack.data.store.ranges import check_ranges
from skipstack.data.store.stored import open_store
from skipstack.data.store.tables import check_columns, check_whole, read_tables
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from tests.benchmarks.page import record
from tests.benchmarks.test_training_speed import MODEL, TRAINING

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

ROUNDS = 5


def seconds(work: Callable[[], object]) -> float:
    """The thread's own time."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


@pytest.mark.parametrize("corpus", ["pmb-ccg-en"])
def test_ranges_are_checked_in_a_hundredth_of_an_epoch(corpus: str, data_dir: Path, tmp_path: Path) -> None:
    """In turns; the first round, in which there is what is done once, does not count."""
    torch.set_num_threads(1)
    folder = store(NamedCorpus(name=corpus), root=tmp_path, data_dir=data_dir, folder=tmp_path)
    tables, manifest = read_tables(folder)

    def checks() -> None:
        """All that opening did not do before ranges were checked."""
        for name, table in tables.items():
            check_whole(name, table)
        notes = Notes.model_validate(manifest)
        check_columns(tables, notes.columns)
        check_ranges(tables, tuple(tables[FORMS]["form"].to_pylist()), notes)

    run = Training(
        model=MODEL,
        training=TRAINING,
        corpus=prepare(open_store(folder), DataConfig(), LONGEST_AFFIX),
        lanes=[Lane(seed=42)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    rounds = [
        (seconds(checks), seconds(lambda: open_store(folder)), seconds(run.run_epoch)) for _ in range(ROUNDS + 1)
    ][1:]
    checking, opening, epoch = (median(each) for each in zip(*rounds, strict=True))
    share = median(check / trained for check, _, trained in rounds)
    took = {"the checks": checking, "opening the store, digests and checks included": opening, "an epoch": epoch}
    record("checks", {name: {"ms": 1000 * each} for name, each in took.items()})
    assert share <= 0.01
