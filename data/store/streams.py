"""Cuts running text into batches whose rows continue from one batch to the next.

Array legend: R lanes (one, which all seeds' copies of the network share), T time, B streams, N tokens of the split.
"""

from collections.abc import Iterator

import numpy as np

from skipstack.data.store.batches import Batch, padded
from skipstack.data.store.stored import Split


def stream_batches(split: Split, *, streams: int, window: int) -> Iterator[Batch]:
    """Cut a text into ``streams`` parallel streams. Yields batches of the next ``window`` tokens of each stream.

    Each token is in one batch, and row b of a batch continues row b of the previous batch. All streams have the same
    length, but the last ones may be shorter or empty. There are no more streams than tokens.
    """
    total = len(split.forms_N)
    streams = min(streams, total)
    length = _length(split, streams)
    first_RB = (np.arange(streams) * length)[None]
    ends_RB = np.minimum(first_RB + length, total)
    for start in range(0, length, window):
        steps = min(window, length - start)
        places_RB = first_RB + start
        counts_RB = np.clip(ends_RB - places_RB, 0, steps)
        yield Batch(
            forms_RTB=padded(split.forms_N, places_RB, counts_RB, steps, 0),
            tags_RUB=padded(split.tags_L, places_RB, counts_RB, steps, -1),
            lengths_RB=counts_RB,
            tag_counts_RB=counts_RB,
            sentences_RB=np.zeros((1, streams), dtype=np.int64),
            tag_places_RB=places_RB,
        )


def stream_batch_count(split: Split, *, streams: int, window: int) -> int:
    """The number of batches that ``stream_batches`` yields."""
    return -(-_length(split, streams) // window)


def _length(split: Split, streams: int) -> int:
    """The number of tokens of the longest stream."""
    return -(-len(split.forms_N) // min(streams, len(split.forms_N)))
