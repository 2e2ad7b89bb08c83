"""Groups sentences of similar length into batches, for several lanes at once. A lane is one seed's copy of the network.

Array legend: R lanes, T time, U tags of a sentence (T, or 1 where texts are classified), B sentence in the batch, S
sentence in the split, W distinct lengths, L tags of the split, N tokens of the split, E numbers of a vector.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers
from skipstack.data.basis.seeding import generator
from skipstack.data.store.stored import Split

STEP_COST = 16
"""The fixed cost of a time step of a batch, in positions. A position is one time step of one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A batch of sentences. The lanes have different sentences, but arrays of the same shape.

    ``lengths_RB``: the number of tokens of each sentence. ``tag_counts_RB``: the number of tags of each sentence.
    """

    forms_RTB: Ids
    """The form of each token, as a row of the lexicon. It is 0, the boundary, at padding."""
    tags_RUB: Ids
    """The gold tags, -1 at padding. A tag that the training split lacks is -1, too."""
    lengths_RB: Ids
    tag_counts_RB: Ids
    sentences_RB: Ids
    """The index of each sentence in the split."""
    tag_places_RB: Ids
    """The index of each sentence's first tag in the split."""
    heads_RTB: Ids | None = None
    """The head of each token, -1 at padding. None if the task is not parsing."""
    vectors_RTBE: NDArray[np.float32] | None = None
    """The vector of each token, 0 at padding. None if tokens have no vectors."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Sentences ``start`` to ``stop`` - 1 of a split sorted by length. ``width``: the length of the longest one."""

    start: int
    stop: int
    width: int


def training_batches(
    split: Split, *, batch_size: int, order_seed: int, lane_seeds: Sequence[int], epoch: int
) -> Iterator[Batch]:
    """Yield the batches of an epoch. Every lane sees every sentence once.

    ``batch_size``: the maximum number of sentences in a batch. All sentences of a batch are from one bucket.
    ``order_seed``: determines, with the epoch, the order of the batches, which is the same in all lanes.
    ``lane_seeds``: a lane's seed determines, with the epoch, how a bucket's sentences are assigned to its batches.

    T is the bucket's width, even if all sentences drawn are shorter. So a lane's batches, shapes included, do not
    depend on other lanes.
    """
    assert lane_seeds, "one lane at least"
    sorted_S = np.argsort(split.lengths_S, kind="stable")
    layout = buckets(split.lengths_S, batch_size)
    drawn_RS = np.stack([_drawn(sorted_S, layout, seed, epoch) for seed in lane_seeds])
    chunks = _chunks(layout, batch_size)
    for place in generator(order_seed, "buckets", epoch).permutation(len(chunks)):
        start, stop, width = chunks[place]
        yield _gather(split, drawn_RS[:, start:stop], width)


def training_batch_count(split: Split, batch_size: int) -> int:
    """The number of batches that ``training_batches`` yields for an epoch."""
    return len(_chunks(buckets(split.lengths_S, batch_size), batch_size))


def _chunks(layout: Sequence[Bucket], batch_size: int) -> list[tuple[int, int, int]]:
    """The start, the stop and the width of each batch, among sentences sorted by length."""
    return [
        (start, min(start + batch_size, bucket.stop), bucket.width)
        for bucket in layout
        for start in range(bucket.start, bucket.stop, batch_size)
    ]


def evaluation_batches(split: Split, *, batch_size: int, positions: int = 0) -> Iterator[Batch]:
    """Yield batches for one lane that contain each sentence once, sorted by length. No seed is involved.

    A batch has ``batch_size`` sentences, or more if all of them, with their padding, fit into ``positions`` positions.
    The last batch may have fewer.
    """
    sorted_S = np.argsort(split.lengths_S, kind="stable")
    start = 0
    while start < len(sorted_S):
        lengths_B = split.lengths_S[sorted_S[start : start + max(batch_size, positions)]]
        fitting = np.count_nonzero(lengths_B * np.arange(1, len(lengths_B) + 1) <= positions)
        chosen_B = sorted_S[start : start + max(batch_size, int(fitting))]
        yield _gather(split, chosen_B[None, :], int(split.lengths_S[chosen_B[-1]]))
        start += len(chosen_B)


def put_back(values_RUB: Numbers, batch: Batch, into_RL: Numbers) -> None:
    """Write a value for each tag of a batch to the tag's index in the split.

    ``values_RUB``: the values of all lanes. ``batch``: a batch of one lane, which all lanes share. ``into_RL``: the
    array to write to.
    """
    [counts_B], [places_B] = batch.tag_counts_RB, batch.tag_places_RB
    place_U1 = np.arange(values_RUB.shape[1])[:, None]
    inside_UB = place_U1 < counts_B
    into_RL[:, (places_B + place_U1)[inside_UB]] = values_RUB[:, inside_UB]


def buckets(lengths_S: NDArray[np.integer], batch_size: int) -> list[Bucket]:
    """Partition a split's sentences into the buckets with which an epoch costs least, shortest sentences first.

    A bucket of n sentences, the longest of w tokens, costs w * (STEP_COST * ceil(n / batch_size) + n): its time steps
    plus its positions, including padding. So sentences of a rare length tend to join longer ones to fill a batch.
    Sentences of a frequent length tend to have a bucket of their own. Batches of 1 need no filling, so they get no
    padding.

    All sentences of one length are in the same bucket. Dynamic programming finds the exact minimum over all such
    partitions. The lowest cost of the first j lengths, best[j], is the minimum over i < j of best[i] + cost(i, j),
    where cost(i, j) is the cost of a bucket with lengths i + 1 to j.
    """
    widths_W, counts_W = np.unique(lengths_S, return_counts=True)
    bounds = np.concatenate([[0], np.cumsum(counts_W)])
    best = np.zeros(len(bounds), dtype=np.int64)
    previous = np.zeros(len(bounds), dtype=np.int64)
    for j in range(1, len(bounds)):
        sentences = bounds[j] - bounds[:j]
        batches = -(-sentences // batch_size)
        totals = best[:j] + int(widths_W[j - 1]) * (STEP_COST * batches + sentences)
        previous[j] = np.argmin(totals)
        best[j] = totals[previous[j]]
    runs: list[Bucket] = []
    end = len(widths_W)
    while end > 0:
        start = int(previous[end])
        runs.append(Bucket(int(bounds[start]), int(bounds[end]), int(widths_W[end - 1])))
        end = start
    return runs[::-1]


def _drawn(sorted_S: Ids, layout: Sequence[Bucket], lane_seed: int, epoch: int) -> Ids:
    """Order a lane's sentences by bucket, and randomly within each bucket."""
    return np.concatenate(
        [
            generator(lane_seed, "sentences", epoch, number).permutation(sorted_S[bucket.start : bucket.stop])
            for number, bucket in enumerate(layout)
        ]
    )


def _gather(split: Split, sentences_RB: Ids, width: int) -> Batch:
    lengths_RB = split.lengths_S[sentences_RB].astype(np.int64)
    offsets_RB, heads_N = split.offsets_S1[sentences_RB], split.heads_N
    tokens = _Padded.of(offsets_RB, lengths_RB, width)
    if split.tags_token_by_token:
        tags, places_RB, counts_RB = tokens, offsets_RB, lengths_RB
    else:
        places_RB, counts_RB = split.tag_offsets_S1[sentences_RB], np.ones_like(lengths_RB)
        tags = _Padded.of(places_RB, counts_RB, 1)
    return Batch(
        forms_RTB=tokens.read(split.forms_N, 0),
        tags_RUB=tags.read(split.tags_L, -1),
        lengths_RB=lengths_RB,
        tag_counts_RB=counts_RB,
        sentences_RB=sentences_RB,
        tag_places_RB=places_RB,
        heads_RTB=None if heads_N is None else tokens.read(heads_N, -1),
        vectors_RTBE=None if split.vectors_NE is None else tokens.vectors(split.vectors_NE),
    )


def padded(values: NDArray[np.int32], first_RB: Ids, counts_RB: Ids, width: int, padding: int) -> Ids:
    """Arrange the values of each sentence along time: values_RUB. Shorter sentences are filled up with ``padding``.

    ``values``: all values of the split. ``first_RB``: the index of each sentence's first value. ``counts_RB``: the
    number of values of each sentence. ``width``: the size of the axis U.
    """
    return _Padded.of(first_RB, counts_RB, width).read(values, padding)


class _Padded(NamedTuple):
    """The indices of a batch's values in a split.

    ``inside_RUB``: whether an entry is a value, not padding. ``places_RUB``: the index of the value; 0 at padding.
    """

    inside_RUB: NDArray[np.bool_]
    places_RUB: Ids

    @classmethod
    def of(cls, first_RB: Ids, counts_RB: Ids, width: int) -> Self:
        """Compute the indices. The arguments have the same meaning as in ``padded``."""
        place_U1 = np.arange(width)[:, None]
        inside_RUB = place_U1 < counts_RB[:, None, :]
        return cls(inside_RUB, np.where(inside_RUB, first_RB[:, None, :] + place_U1, 0))

    def read(self, values: NDArray[np.int32], padding: int) -> Ids:
        """Read the values at the indices, with ``padding`` elsewhere."""
        return np.where(self.inside_RUB, values[self.places_RUB], np.array([padding]))  # int64, in numpy 1 as well

    def vectors(self, vectors_NE: NDArray[np.float32]) -> NDArray[np.float32]:
        """Read the vectors at the indices, with zeros elsewhere."""
        found: NDArray[np.float32] = vectors_NE[self.places_RUB]
        found[~self.inside_RUB] = 0
        return found
