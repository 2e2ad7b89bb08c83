"""Takes splits that a corpus lacks from its train split."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PositiveInt

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


def held_out(splits: Mapping[str, list[Sentence]], share: float, seed: int) -> Splits:
    """Train, test, and as dev a share of train, rounded, drawn by ``seed``; each in the order of the text.

    Raises UserError where dev or train would be empty.
    """
    train = splits["train"]
    size = round(share * len(train))
    if not 0 < size < len(train):
        raise UserError(
            f"data.corpus.held_out: got {share} of {len(train)} sentences (allowed: at least one for dev and for train)"
        )
    drawn = set(generator(seed, "held out").permutation(len(train))[:size].tolist())
    return {
        **splits,
        "train": [sentence for place, sentence in enumerate(train) if place not in drawn],
        "dev": [sentence for place, sentence in enumerate(train) if place in drawn],
    }


def consecutive(sentences: list[Sentence], dev: int, test: int) -> Splits:
    """Train, dev and test one after another, as percentages of the sentences; boundaries are rounded down."""
    ends = [len(sentences) * percent // 100 for percent in (100 - dev - test, 100 - test)]
    return {"train": sentences[: ends[0]], "dev": sentences[ends[0] : ends[1]], "test": sentences[ends[1] :]}
