"""Tokens a second on one thread, at the sizes and batch of a plain peer (NCRF++: Yang and Zhang, 2018).

Word vectors of 50, a character CNN of 30 and 50, one BiLSTM layer of 2 x 100, softmax; SGD 0.015, 10 sentences a step.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
import torch

from skipstack.data.corpora.config import DataConfig, NamedCorpus
from skipstack.data.store.batches import Batch, training_batches
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX, CharacterCnnConfig, EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Constant, Sgd, TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.evaluate import evaluated
from skipstack.models.training.loop import Training
from tests.benchmarks.page import record
from tests.benchmarks.rivals import ncrf

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

BATCH, STRETCHES = 10, 5
TRAINED, TAGGED = 8_000, 20_000
"""Tokens of a stretch."""
LANES = {1: "one lane", 4: "4 lanes", 8: "8 lanes"}
"""How many train side by side."""
MODEL = ModelConfig(
    embedder=EmbedderConfig(
        word_size=50, capital_size=0, affix_characters=0, spelling=CharacterCnnConfig(), window=0, dropout=0.5
    ),
    stack=StackConfig(depth=1, hidden=100, dropout=0.5),
)
TRAINING = TrainingConfig(batch_size=BATCH, optimiser=Sgd(learning_rate=0.015), schedule=Constant())


class Ours:
    """Our network, batch by batch, in so many lanes: as trials of a study train, whose seeds are one program."""

    def __init__(self, corpus: PreparedCorpus, lanes: int) -> None:
        self.seeds = [42 + lane for lane in range(lanes)]
        self.run = Training(
            model=MODEL,
            training=TRAINING,
            corpus=corpus,
            lanes=[Lane(seed=seed) for seed in self.seeds],
            order_seed=0,
            device=torch.device("cpu"),
        )

    def training(self) -> Iterator[int]:
        """An update a batch, as an epoch makes them, and its tokens."""
        self.run.model.train()
        train, rates_R = self.run.corpus.stored.splits["train"], self.run.rates()
        batches = training_batches(train, batch_size=BATCH, order_seed=0, lane_seeds=self.seeds, epoch=0)
        for batch, (tokens, gold) in self.run.loader(batches):
            self.run.update(tokens, gold, rates_R)
            yield self.tokens(batch)

    def tokens(self, batch: Batch) -> int:
        """Of all lanes, which may share the batch."""
        return int(batch.lengths_RB.sum()) * len(self.seeds) // len(batch.lengths_RB)

    @torch.no_grad()
    def tagging(self) -> Iterator[int]:
        """Dev, decided on batch by batch, as an evaluation does."""
        self.run.model.eval()
        for batch, (tokens, _) in self.run.loader(evaluated(self.run.corpus.stored, "dev", self.run.device)):
            self.run.model.decode(tokens, self.run.lexicon)
            yield self.tokens(batch)


class Theirs:
    """NCRF++'s network in plain torch."""

    def __init__(self, corpus: PreparedCorpus) -> None:
        self.train, self.dev = (ncrf.sentences(corpus, split) for split in ("train", "dev"))
        self.model = ncrf.tagger(corpus)
        self.update = torch.optim.SGD(self.model.parameters(), lr=ncrf.RATE)

    def training(self) -> Iterator[int]:
        """An update a batch, and its tokens."""
        for batch in ncrf.batches(self.train, random.Random(42)):
            ncrf.step(self.model, self.update, batch)
            yield int(batch.lengths_B.sum())

    def tagging(self) -> Iterator[int]:
        """Dev, decided on batch by batch."""
        for batch in ncrf.batches(self.dev):
            ncrf.tagged(self.model, batch)
            yield int(batch.lengths_B.sum())


def tokens_a_second(work: Iterator[int], tokens: int) -> float:
    """Of as many batches as have so many tokens, or of those that are left; the thread's own time."""
    started, done = time.thread_time(), 0
    for each in work:
        done += each
        if done >= tokens:
            break
    return done / (time.thread_time() - started)


@pytest.mark.parametrize("corpus", ["pmb-ccg-en", "ud-english-ewt"])
def test_one_layer_trains_half_again_as_fast_as_a_plain_peer(corpus: str, data_dir: Path, tmp_path: Path) -> None:
    """Stretches of both, one after the other."""
    torch.set_num_threads(1)
    stored = open_store(store(NamedCorpus(name=corpus), root=tmp_path, data_dir=data_dir, folder=tmp_path))
    prepared = prepare(stored, DataConfig(), LONGEST_AFFIX)
    ours, theirs = {lanes: Ours(prepared, lanes) for lanes in LANES}, Theirs(prepared)
    least = []
    for name, stretch in (("training", TRAINED), ("tagging", TAGGED)):
        rounds = [
            [tokens_a_second(getattr(each, name)(), stretch) for each in (*ours.values(), theirs)]
            for _ in range(STRETCHES + 1)
        ][1:]  # in the first there is what is done once
        rates = [median(each) for each in zip(*rounds, strict=True)]
        record(name, {corpus: dict(zip((*LANES.values(), "plain torch"), rates, strict=True))}, "tokens a second")
        ratios = [median(each[place] / each[-1] for each in rounds) for place in range(len(LANES))]
        record(name, {corpus: dict(zip(LANES.values(), ratios, strict=True))}, "times as fast as plain torch")
        least.append(min(ratios))
    assert min(least) >= 1.5
