"""Takes splits that a corpus lacks from its train split."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.seeding import generator
from skipstack.data.formats.sentences import Sentence


class HeldOut(Frozen):
    """Dev is missing: a random ``share`` of train becomes dev."""

    share: Annotated[float, Field(gt=0, lt=1)]


class Consecutive(Frozen):
    """Only train exists: the last ``test`` percent of its sentences become test, and the ``dev`` percent before them
    dev.
    """

    dev: PositiveInt
    test: PositiveInt


Division = HeldOut | Consecutive
Splits = dict[str, list[Sentence]]


def held_out(splits: Mapping[str, list[Sentence]], shares: Mapping[str, float], seed: int) -> Splits:
    """The splits, with those that ``shares`` names taken from train, each in the order of the text.

    ``shares``: by split, its share of train, rounded, which ``seed`` draws: sentences, or, where the files tell them
    apart, whole documents, so that no document is in two splits. Raises UserError where a split would be empty.
    """
    train = splits["train"]
    documents = _documents(train)
    order = generator(seed, "held out").permutation(len(documents)).tolist()
    taken: dict[int, str] = {}
    for split, share in shares.items():
        wanted = round(share * len(train))
        drawn = _drawn(documents, order, wanted) if wanted else []
        taken |= {place: split for document in drawn for place in documents[document]}
        order = order[len(drawn) :]
        if not drawn or not order:
            name = "held_out" if split == "dev" else f"held_out_{split}"
            raise UserError(f"data.corpus.{name}: got {share} of {_counted(documents, train)}")
    parts = {split: [each for place, each in enumerate(train) if taken.get(place) == split] for split in shares}
    return {**splits, "train": [each for place, each in enumerate(train) if place not in taken], **parts}


def _documents(sentences: Sequence[Sentence]) -> list[list[int]]:
    """The places of the sentences of each document; a sentence whose document is not known is one of its own."""
    found: dict[str | int, list[int]] = {}
    for place, each in enumerate(sentences):
        found.setdefault(place if each.document is None else each.document, []).append(place)
    return list(found.values())


def _drawn(documents: Sequence[Sequence[int]], order: Sequence[int], wanted: int) -> Sequence[int]:
    """The first of ``order``, one at least, whose sentences are as near to ``wanted`` in number as can be."""
    counts = np.cumsum([len(documents[each]) for each in order])
    return order[: int(np.argmin(np.abs(counts - wanted))) + 1]


def _counted(documents: Sequence[object], train: Sequence[Sentence]) -> str:
    if len(documents) == len(train):
        return f"{len(train)} sentences (allowed: at least one for each split)"
    return f"{len(train)} sentences in {counted(len(documents), 'document')} (allowed: at least one for each split)"


def consecutive(sentences: list[Sentence], dev: int, test: int) -> Splits:
    """Train, dev and test one after another, as percentages of the sentences; boundaries are rounded down."""
    ends = [len(sentences) * percent // 100 for percent in (100 - dev - test, 100 - test)]
    return {"train": sentences[: ends[0]], "dev": sentences[ends[0] : ends[1]], "test": sentences[ends[1] :]}
