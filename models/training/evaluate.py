"""Evaluates a network on a split of a corpus, all lanes at once (a lane is one seed's copy of the network).

Axes: R lanes, B sentences and U tags of a batch; L tags, N tokens and S sentences of the split; C counts of a measure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.arrays import Numbers
from skipstack.data.basis.errors import UserError
from skipstack.data.store.batches import Batch, evaluation_batches, put_back
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.streams import stream_batches
from skipstack.data.tasks.accuracy import accuracy, correct_tags
from skipstack.data.tasks.measure import Counts, Measure, Predicted
from skipstack.data.tasks.task import Task
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.ground.subnormals import subnormals_are_zero
from skipstack.models.layers.lanes import lane_by_lane
from skipstack.models.networks.model import Network
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.base import Decoded
from skipstack.models.parts.heads.doubts import settled
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.loading import Loader, returned

SENTENCES_AT_ONCE, POSITIONS_AT_ONCE, POSITIONS_ON_DEVICE = 64, 1024, 4096
"""Sizes of batches, which affect speed only. A batch has ``SENTENCES_AT_ONCE`` sentences, or more if their positions,
padding included, are at most ``POSITIONS_AT_ONCE``. On a GPU, where a launch costs about the same for any size,
``POSITIONS_ON_DEVICE`` is the limit instead."""

STREAMS, STREAM_WINDOW = 10, 50
"""The number of parallel streams in which running text is read, and the tokens that a batch takes from each stream. All
streams but the first start in the middle of the text, without left context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The results of all lanes on a split; each tuple has one value per lane.

    ``measure``: the measure that ranks trials. ``correct``: the number of right tags. ``total``: the number of tags.
    ``loss``: the mean loss per tag. ``counts``: the counts from which ``measure`` is computed. ``sentences_RSC``: the
    counts of each sentence (``data.tasks.measure.Measure.sentences``).
    """

    measure: Measure
    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    counts: tuple[Counts, ...]
    sentences_RSC: Numbers

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tags, in [0, 1]."""
        return tuple(accuracy(correct, self.total) for correct in self.correct)

    @property
    def score(self) -> tuple[float, ...]:
        """The score by which trials are ranked; larger is better."""
        return tuple(self.measure.score(counts.value) for counts in self.counts)

    @property
    def error(self) -> tuple[float, ...]:
        """The error that schedules compare; smaller is better (``data.tasks.measure.Measure.error``)."""
        return tuple(self.measure.error(counts.value) for counts in self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The losses of the gold tags of a batch, and the network's decisions; tensors may be on any device."""

    batch: Batch
    losses_RUB: Tensor
    decoded: Decoded


@torch.no_grad()
@subnormals_are_zero()
def evaluate(model: Network, corpus: StoredCorpus, split: str, lexicon: LexiconTensors, lanes: int) -> Evaluation:
    """Evaluate every lane on a split, in evaluation mode. Gold tags that the training split lacks count as errors.

    Raises UserError if the head of a language model has no losses of each tag.
    """
    model.eval()
    task = TASKS[corpus.task]
    chosen = corpus.splits[split]
    read = settled(model.head, lexicon.word_F.device, lambda: list(_read(model, corpus, split, lexicon, lanes)))
    correct_R = np.zeros(lanes, dtype=np.int64)
    predicted_RL = np.empty((lanes, len(chosen.tags_L)), dtype=np.int64)
    heads_RL = None if chosen.heads_N is None else np.empty_like(predicted_RL)
    nats_RL = np.empty_like(predicted_RL, dtype=np.float64) if task.continues else None
    for each, tags_RUB in zip(read, returned(each.decoded.tags_RUB for each in read), strict=True):
        correct_R += correct_tags(tags_RUB, each.batch.tags_RUB, each.batch.tag_counts_RB)
        put_back(tags_RUB, each.batch, predicted_RL)
    if heads_RL is not None:
        for each, heads_RTB in zip(read, returned(_heads(each.decoded) for each in read), strict=True):
            put_back(heads_RTB, each.batch, heads_RL)
    if nats_RL is not None:
        for each, losses_RUB in zip(read, returned(each.losses_RUB for each in read), strict=True):
            if losses_RUB.shape[1] != each.batch.tags_RUB.shape[1]:
                raise UserError(needs_losses_of_tags(type(model.head).__name__, task))
            put_back(losses_RUB, each.batch, nats_RL)
    total = sum(int(each.batch.tag_counts_RB.sum()) for each in read)
    loss_R = torch.zeros(lanes, dtype=torch.float64, device=lexicon.word_F.device)
    for each in read:
        loss_R += lane_by_lane(lambda losses_RUB: losses_RUB.sum(dim=1).sum(dim=1), each.losses_RUB)
    loss = tuple((loss_R / total).cpu().tolist())
    predicted = Predicted(tags_RL=predicted_RL, loss=loss, heads_RN=heads_RL, nats_RL=nats_RL)
    measure = task.measure(corpus.scheme)
    sentences_RSC = measure.sentences(predicted, corpus, split)
    return Evaluation(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=loss,
        measure=measure,
        counts=measure.counts(predicted, sentences_RSC.sum(axis=1)),
        sentences_RSC=sentences_RSC,
    )


def _read(model: Network, corpus: StoredCorpus, split: str, lexicon: LexiconTensors, lanes: int) -> Iterator[_Read]:
    loader = Loader(embedder=model.embedder, lexicon=lexicon, lanes=lanes, device=lexicon.word_F.device)
    memory = Memory() if TASKS[corpus.task].continues else None
    for batch, (tokens, gold) in loader(evaluated(corpus, split, loader.device), memory):
        yield _Read(batch, *model.measure(tokens, gold, lexicon))


def needs_losses_of_tags(head: str, task: Task) -> str:
    """Return the refusal of a head whose losses are one a sentence, for a task that counts the loss of each tag."""
    return (
        f"model.head.kind: got {head}, which has one loss a sentence, for {task.corpus} "
        "(allowed: softmax, or a head whose method losses returns one of each tag)"
    )


def _heads(decoded: Decoded) -> Tensor:
    assert decoded.heads_RTB is not None, "only a parser is built for a corpus of trees"
    return decoded.heads_RTB


def evaluated(corpus: StoredCorpus, split: str, device: torch.device) -> Iterator[Batch]:
    """Return the batches of a split: sentences, or running text for a language model. ``device`` affects their size."""
    chosen = corpus.splits[split]
    if TASKS[corpus.task].continues:
        return stream_batches(chosen, streams=STREAMS, window=STREAM_WINDOW)
    positions = POSITIONS_AT_ONCE if device.type == "cpu" else POSITIONS_ON_DEVICE
    return evaluation_batches(chosen, batch_size=SENTENCES_AT_ONCE, positions=positions)
