"""Takes the splits that a corpus lacks from its training split."""

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
    """The division of a corpus without dev: a random ``share`` of the training split becomes dev."""

    share: Annotated[float, Field(gt=0, lt=1)]


class Consecutive(Frozen):
    """The division of a single split. Its last ``test`` percent become test, the ``dev`` percent before them dev."""

    dev: PositiveInt
    test: PositiveInt


Division = HeldOut | Consecutive
Splits = dict[str, list[Sentence]]


def held_out(splits: Mapping[str, list[Sentence]], shares: Mapping[str, float], seed: int) -> Splits:
    """Take random parts of the training split as the splits that ``shares`` names. Each split keeps the text order.

    ``shares``: the share of the training split that each split gets. ``seed``: the random seed. If the files mark
    documents, whole documents are drawn, so shares are approximate but no document is in two splits. Otherwise
    sentences are drawn. Raises UserError if a split would be empty, or if the training split would.
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
    """Group the indices of sentences by document. A sentence without a known document is a group of its own."""
    found: dict[str | int, list[int]] = {}
    for place, each in enumerate(sentences):
        found.setdefault(place if each.document is None else each.document, []).append(place)
    return list(found.values())


def _drawn(documents: Sequence[Sequence[int]], order: Sequence[int], wanted: int) -> Sequence[int]:
    """Take one or more documents from the start of ``order``, with the number of sentences nearest to ``wanted``."""
    counts = np.cumsum([len(documents[each]) for each in order])
    return order[: int(np.argmin(np.abs(counts - wanted))) + 1]


def _counted(documents: Sequence[object], train: Sequence[Sentence]) -> str:
    if len(documents) == len(train):
        return f"{len(train)} sentences (allowed: at least one for each split)"
    return f"{len(train)} sentences in {counted(len(documents), 'document')} (allowed: at least one for each split)"


def consecutive(sentences: list[Sentence], dev: int, test: int) -> Splits:
    """Cut sentences into train, dev and test. ``dev``, ``test``: their percentages. Boundaries are rounded down."""
    ends = [len(sentences) * percent // 100 for percent in (100 - dev - test, 100 - test)]
    return {"train": sentences[: ends[0]], "dev": sentences[ends[0] : ends[1]], "test": sentences[ends[1] :]}
