"""Batches of running text, whose rows go on from one batch to the next.

Array legend: R lanes (one, which all share), T time, B streams, N tokens of the split.
"""

from collections.abc import Iterator

import numpy as np

from data.batches import Batch
from data.store import Split


def stream_batches(split: Split, *, streams: int, window: int) -> Iterator[Batch]:
    """A text cut into ``streams`` runs side by side, ``window`` tokens of each at once; each token is in one batch.

    The runs are of one length, the last one shorter where they do not come out even. Row b of a batch goes on where
    row b of the batch before stopped. There are no more streams than tokens.
    """
    total = len(split.forms_N)
    streams = min(streams, total)
    length = -(-total // streams)
    first_B = np.arange(streams) * length
    for start in range(0, length, window):
        steps = min(window, length - start)
        places_TB = first_B + start + np.arange(steps)[:, None]
        ends_B = np.minimum(first_B + length, total)
        counts_B = np.clip(ends_B - first_B - start, 0, steps)
        inside_TB = np.arange(steps)[:, None] < counts_B
        places_TB = np.where(inside_TB, places_TB, 0)
        yield Batch(
            forms_RTB=np.where(inside_TB, split.forms_N[places_TB], 0).astype(np.int64)[None],
            tags_RUB=np.where(inside_TB, split.tags_L[places_TB], -1).astype(np.int64)[None],
            lengths_RB=counts_B[None],
            tag_counts_RB=counts_B[None],
            sentences_RB=np.zeros((1, streams), dtype=np.int64),
        )
