"""NCRF++'s tagger (Yang and Zhang, 2018) in plain torch: its network, its sizes, and its way of making batches.

B sentences, T tokens of the longest, C characters of the longest word, K tags.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.vocabulary import BOUNDARY, FIRST_KNOWN

WORD, CHARACTER, FILTERS, HIDDEN, DROPOUT, RATE, BATCH = 50, 30, 50, 100, 0.5, 0.015, 10
PADDED = -1


@dataclass(frozen=True, slots=True)
class Sentence:
    """Ids of its words, of the characters of each, and of its tags."""

    words: list[int]
    characters: list[list[int]]
    tags: list[int]


@dataclass(frozen=True, slots=True)
class Padded:
    """A batch, longest sentence first."""

    words_BT: Tensor
    characters_BTC: Tensor
    tags_BT: Tensor
    lengths_B: Tensor


class Tagger(nn.Module):
    """Vectors of words and a convolution over their characters, an LSTM in both directions, a softmax."""

    def __init__(self, *, words: int, characters: int, tags: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WORD)
        self.characters = nn.Embedding(characters, CHARACTER)
        self.convolution = nn.Conv1d(CHARACTER, FILTERS, kernel_size=3, padding=1)
        self.lstm = nn.LSTM(WORD + FILTERS, HIDDEN, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * HIDDEN, tags)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, batch: Padded) -> Tensor:
        """scores_BTK."""
        sentences, longest = batch.words_BT.shape
        characters = self.dropout(self.characters(batch.characters_BTC.flatten(0, 1))).transpose(1, 2)
        spelling = functional.max_pool1d(self.convolution(characters), characters.shape[-1])
        token = torch.cat([self.words(batch.words_BT), spelling.view(sentences, longest, FILTERS)], dim=-1)
        packed = pack_padded_sequence(self.dropout(token), batch.lengths_B, batch_first=True)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores: Tensor = self.output(self.dropout(hidden))
        return scores


def sentences(corpus: PreparedCorpus, split: str) -> list[Sentence]:
    """Those of a split, as lists."""
    chosen, lexicon = corpus.stored.splits[split], corpus.lexicon
    words_F = lexicon.word_F.tolist()
    spelling_F = [[each for each in row if each != BOUNDARY] or [BOUNDARY] for row in lexicon.spelling_FC.tolist()]
    found = []
    for start, stop in zip(chosen.offsets_S1[:-1], chosen.offsets_S1[1:], strict=True):
        forms = chosen.forms_N[start:stop].tolist()
        tags = chosen.tags_L[start:stop].tolist()
        found.append(Sentence([words_F[form] for form in forms], [spelling_F[form] for form in forms], tags))
    return found


def tagger(corpus: PreparedCorpus) -> Tagger:
    """The network for a corpus."""
    vocabulary = corpus.vocabulary
    return Tagger(
        words=FIRST_KNOWN + len(vocabulary.words),
        characters=FIRST_KNOWN + len(vocabulary.characters),
        tags=len(corpus.stored.tags),
    )


def batches(chosen: Sequence[Sentence], source: random.Random | None = None) -> Iterator[Padded]:
    """All sentences once, in batches of neighbours, in a new order where there is a ``source``."""
    order = list(chosen)
    if source is not None:
        source.shuffle(order)
    for start in range(0, len(order), BATCH):
        yield padded(order[start : start + BATCH])


def padded(chosen: Sequence[Sentence]) -> Padded:
    """Some sentences side by side."""
    ordered = sorted(chosen, key=lambda each: len(each.words), reverse=True)
    longest = len(ordered[0].words)
    letters = max(len(word) for each in ordered for word in each.characters)
    words_BT = torch.zeros(len(ordered), longest, dtype=torch.long)
    tags_BT = torch.full_like(words_BT, PADDED)
    characters_BTC = torch.zeros(len(ordered), longest, letters, dtype=torch.long)
    for place, each in enumerate(ordered):
        words_BT[place, : len(each.words)] = torch.tensor(each.words)
        tags_BT[place, : len(each.tags)] = torch.tensor(each.tags)
        for token, word in enumerate(each.characters):
            characters_BTC[place, token, : len(word)] = torch.tensor(word)
    return Padded(words_BT, characters_BTC, tags_BT, torch.tensor([len(each.words) for each in ordered]))


def step(model: Tagger, update: torch.optim.Optimizer, batch: Padded) -> float:
    """One update; the loss before it, summed over the tags."""
    model.train()
    model.zero_grad()
    loss = functional.cross_entropy(
        model(batch).flatten(0, 1), batch.tags_BT.flatten(), ignore_index=PADDED, reduction="sum"
    )
    loss.backward()
    update.step()
    return loss.item()


@torch.no_grad()
def tagged(model: Tagger, batch: Padded) -> Tensor:
    """The likeliest tags, tags_BT."""
    model.eval()
    best_BT: Tensor = model(batch).argmax(dim=-1)
    return best_BT
