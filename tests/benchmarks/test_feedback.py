"""What it costs to tag with label-feedback networks, each decision after those before it, and to train them.

The corpus is drawn at random with the sizes of ATIS: 893 sentences of 10.3 tokens in test, 900 words, 127 labels.
"""

import time
from itertools import islice

import numpy as np
import pytest
import torch

from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.batches import training_batches
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.inputs import LONGEST_AFFIX, EmbedderConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import Constant, Sgd, TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

SENTENCES, WORDS, LABELS, BATCH, WARM, STEPS, LIMIT_SECONDS = 893, 900, 127, 8, 5, 50, 2


def corpus() -> PreparedCorpus:
    rng = np.random.default_rng(0)
    splits = {name: _split(rng) for name in ("train", "dev", "test")}
    forms = ("", *(f"word{''.join(chr(97 + int(digit)) for digit in str(number))}" for number in range(WORDS)))
    counts = np.bincount(splits["train"].forms_N, minlength=len(forms)).astype(np.int64)
    tags = tuple(f"B-{number:03}" for number in range(LABELS))
    return prepare(StoredCorpus("0" * 16, forms, counts, tags, splits), DataConfig(), LONGEST_AFFIX)


def _split(rng: np.random.Generator) -> Split:
    lengths = (1 + rng.poisson(9.3, size=SENTENCES)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    forms, tags = (
        rng.integers(low, high, size=offsets[-1]).astype(np.int32) for low, high in ((1, WORDS + 1), (0, LABELS))
    )
    return Split(forms, tags, lengths, offsets, offsets)


@pytest.mark.parametrize("variant", ["e", "j", "i", "i_and_e"])
def test_all_of_a_test_set_as_large_as_that_of_atis_is_tagged_in_two_seconds(variant: str) -> None:
    """Seconds of one thread's own time, so that other processes do not count."""
    torch.set_num_threads(1)
    embedder = EmbedderConfig(word_size=200, capital_size=0, affix_characters=0, window=7, dropout=0)
    run = Training(
        model=ModelConfig(embedder=embedder, stack=FeedbackConfig.model_validate({"variant": variant})),
        training=TrainingConfig(batch_size=BATCH, optimiser=Sgd(momentum=0.9), schedule=Constant(), l2=1e-5),
        corpus=corpus(),
        lanes=[Lane(seed=0)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    run.evaluate("dev")
    started = time.thread_time()
    run.evaluate("test")
    seconds = time.thread_time() - started
    run.model.train()
    train = run.corpus.stored.splits["train"]
    batches = training_batches(train, batch_size=BATCH, order_seed=0, lane_seeds=[0], epoch=0)
    for batch in islice(batches, WARM):
        run.step(batch)
    started, learnt = time.thread_time(), 0
    for batch in islice(batches, STEPS):
        run.step(batch)
        learnt += int(batch.lengths_RB.sum())
    rate = learnt / (time.thread_time() - started)
    record("feedback", {f"`{variant}`": {"seconds to tag": seconds, "training tokens a second": rate}})
    assert seconds < LIMIT_SECONDS
