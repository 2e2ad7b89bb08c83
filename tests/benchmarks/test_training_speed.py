"""Training tokens a second on one thread, at the sizes and batch of a plain peer (NCRF++: Yang and Zhang, 2018).

Word vectors of 50, a character CNN of 30 and 50, one BiLSTM layer of 2 x 100, softmax; SGD 0.015, 10 sentences a step.
"""

import os
import time
from itertools import islice
from pathlib import Path
from statistics import median

import pytest
import torch

from skipstack.data.corpora.config import DataConfig, NamedCorpus
from skipstack.data.store.batches import training_batches
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.config import ModelConfig, StackConfig
from skipstack.models.inputs.config import LONGEST_AFFIX, CharacterCnnConfig, EmbedderConfig
from skipstack.models.lanes import Lane
from skipstack.models.training.config import Constant, Sgd, TrainingConfig
from skipstack.models.training.loop import Training

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

BATCH, WARM, STEPS, STRETCHES = 10, 20, 100, 5
MODEL = ModelConfig(
    embedder=EmbedderConfig(
        word_size=50, capital_size=0, affix_characters=0, spelling=CharacterCnnConfig(), window=0, dropout=0.5
    ),
    stack=StackConfig(depth=1, hidden=100, dropout=0.5),
)
TRAINING = TrainingConfig(batch_size=BATCH, optimiser=Sgd(learning_rate=0.015), schedule=Constant())


@pytest.mark.parametrize(("corpus", "least"), [("pmb-ccg-en", 6704), ("ud-english-ewt", 5232)])
def test_one_layer_trains_half_again_as_fast_as_a_plain_peer(
    corpus: str, least: float, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``least`` is 1.5 times the peer's figure on the same split, measured on such a machine."""
    stored = open_store(store(NamedCorpus(name=corpus), root=tmp_path, data_dir=data_dir, folder=tmp_path))
    run = Training(
        model=MODEL,
        training=TRAINING,
        corpus=prepare(stored, DataConfig(), LONGEST_AFFIX),
        lanes=[Lane(seed=42)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    run.model.train()
    batches = training_batches(stored.splits["train"], batch_size=BATCH, order_seed=0, lane_seeds=[42], epoch=0)
    for batch in islice(batches, WARM):
        run.step(batch)
    figures = []
    for _ in range(STRETCHES):
        started, tokens = time.perf_counter(), 0
        for batch in islice(batches, STEPS):
            run.step(batch)
            tokens += int(batch.lengths_RB.sum())
        figures.append(tokens / (time.perf_counter() - started))
    with capsys.disabled():
        spread = f"{min(figures):,.0f} to {max(figures):,.0f}"
        print(f"\n{corpus}: {median(figures):,.0f} training tokens/s, {spread}; {torch.get_num_threads()} thread")
        print(f"{os.cpu_count()} cores, torch {torch.__version__}")
    assert median(figures) >= least
