"""Builds the inputs of the checks of a user's component: a small network with the component, the same network with a
built-in component instead, and a corpus.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from skipstack.data.basis.seeding import generator
from skipstack.data.basis.user_code.configs import OwnConfig, Part
from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.batches import Batch, evaluation_batches, training_batches
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import Split, StoredCorpus, offsets_of
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.model import ModelConfig
from skipstack.models.conformance.parts import TAGS
from skipstack.models.ground.initialise import initialise
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, unfilled
from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.loading import Loader

WORDS, LONGEST, BATCH = 12, 6, 4
"""Sizes of the corpus. ``WORDS``: word ids, including 0 for padding. ``LONGEST``: the maximum number of tokens of a
sentence. ``BATCH``: sentences in a batch."""

LANES = (Lane(seed=3), Lane(seed=8))

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Specimen:
    """A small network with a user's component to check (``piece``: its config); all other components are built-in."""

    piece: OwnConfig

    @cached_property
    def model(self) -> ModelConfig:
        """The config of the network with the component to check."""
        return _around(self.piece.part, self.piece)

    @cached_property
    def ours(self) -> ModelConfig:
        """The config of the network with the built-in default instead of the component to check."""
        return _around(self.piece.part, None)

    @cached_property
    def corpus(self) -> PreparedCorpus:
        """A corpus with sentences of all lengths up to ``LONGEST``; tags are a function of the words."""
        splits = {split: _split(split) for split in ("train", "dev", "test")}
        words = ("", *(f"word{number}" for number in range(1, WORDS)))
        counts_F = np.bincount(splits["train"].forms_N, minlength=WORDS).astype(np.int64)
        tags = tuple("ABC"[:TAGS])
        return prepare(StoredCorpus("0" * 16, words, counts_F, tags, splits), DataConfig(), LONGEST_AFFIX)

    @cached_property
    def lexicon(self) -> LexiconTensors:
        """The features of the corpus's words."""
        return LexiconTensors.on(CPU, self.corpus.lexicon)

    def network(self, model: ModelConfig | None = None, device: torch.device = CPU) -> Network:
        """Build the network for ``model``; None means ``self.model``.

        On the CPU, weights are in float64 and initialised. On other devices, weights are in float32 and uninitialised.
        """
        sizes, dtype = Sizes.of_corpus(self.corpus), torch.float64 if device == CPU else torch.float32
        made, _ = unfilled(model or self.model, sizes=sizes, lanes=LANES, dtype=dtype, device=device)
        if device == CPU:
            initialise(made, [lane.seed for lane in LANES], scale=1.0)
        return made

    def batch(self, number: int) -> Batch:
        """Return training batch ``number`` (counted from 0) of the first epoch."""
        train, seeds = self.corpus.stored.splits["train"], [lane.seed for lane in LANES]
        return list(training_batches(train, batch_size=BATCH, order_seed=0, lane_seeds=seeds, epoch=0))[number]

    @cached_property
    def everything(self) -> Batch:
        """A batch of all training sentences, the same for all lanes."""
        (batch,) = evaluation_batches(self.corpus.stored.splits["train"], batch_size=1000)
        return batch

    def read(self, batch: Batch, network: Network) -> tuple[Tokens, Gold]:
        """Return the tokens and gold tags of a batch as tensors."""
        return Loader(embedder=network.embedder, lexicon=self.lexicon, lanes=len(LANES), device=CPU).load(batch)


def _around(part: Part, piece: OwnConfig | None) -> ModelConfig:
    stack: dict[str, Any] = {"depth": 3, "hidden": 4, "composition": 2, "dropout": 0.3, "join": "each_layer"}
    model: dict[str, Any] = {
        "embedder": {"word_size": 5, "capital_size": 0, "affix_characters": 0, "window": 0, "dropout": 0.2},
        "stack": stack,
        "initial_scale": 1.0,
    }
    own: dict[str, dict[str, Any]] = {
        "gate": {"stack": {**stack, "shortcut": {"gate": piece}}},
        "cell": {"stack": {**stack, "composition": 0, "cell": piece}},
        "head": {"head": piece},
        "embedder": {"embedder": piece},
    }
    return ModelConfig.model_validate(model if piece is None else {**model, **own[part]})


def _split(name: str) -> Split:
    draws = generator(0, "conformance", name)
    lengths_S = np.array([*range(1, LONGEST + 1)] * 3, dtype=np.int32)
    offsets_S1 = offsets_of(lengths_S)
    forms_N = draws.integers(1, WORDS, size=offsets_S1[-1]).astype(np.int32)
    before_N = np.concatenate([[0], forms_N[:-1]])
    return Split(forms_N, ((forms_N + before_N) % TAGS).astype(np.int32), lengths_S, offsets_S1, offsets_S1)
