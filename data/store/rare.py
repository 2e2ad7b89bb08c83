"""The label RARE, which replaces tags that are too rare in the training split to be learned.

Array legend: N tokens, K tags.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.data.labels.schemes import RARE
from skipstack.data.store.stored import Split, StoredCorpus


def with_rare_tags(stored: StoredCorpus, minimum_count: int) -> StoredCorpus:
    """Replace tags with fewer than ``minimum_count`` training occurrences by RARE, which becomes the last tag.

    RARE is learned from the training split, but predicting it is never right in dev and test. There, a replaced tag is
    -1, like any tag that the training split lacks, so accuracy refers to the original tags. Gold spans do not change,
    and RARE is in no span. With a minimum of 1, no tag of the training split is replaced, and RARE is an output without
    examples. This gives the 1286 outputs of wu2017: the 1285 categories of CCGbank's sections 02-21, and RARE. With a
    minimum of 10, these sections have the 425 categories of Clark and Curran (2007).

    Raises UserError if the training split has a tag called RARE, or if no tag would stay.
    """
    if RARE in stored.tags:
        raise UserError(
            f"data.minimum_tag_count: the corpus has a tag {RARE} (allowed: null, which needs no such label)"
        )
    counts_K = np.bincount(stored.splits["train"].tags_L, minlength=len(stored.tags))
    stays_K = counts_K >= minimum_count
    if not stays_K.any():
        raise UserError(
            f"data.minimum_tag_count: got {minimum_count} (allowed: 1 to {counts_K.max()}, or no tag stays)"
        )
    tags = tuple(tag for tag, stays in zip(stored.tags, stays_K.tolist(), strict=True) if stays)
    settled_K = np.where(stays_K, np.cumsum(stays_K) - 1, -1).astype(np.int32)
    splits: Mapping[str, Split] = {name: _replaced(split, settled_K) for name, split in stored.splits.items()}
    train = splits["train"]
    learnt = replace(train, tags_L=np.where(train.tags_L < 0, len(tags), train.tags_L).astype(np.int32))
    return replace(stored, tags=(*tags, RARE), splits={**splits, "train": learnt})


def _replaced(split: Split, settled_K: NDArray[np.int32]) -> Split:
    """Replace each tag ID of a split by ``settled_K``, the tags' new IDs. -1 stays -1."""
    return replace(split, tags_L=np.where(split.tags_L >= 0, settled_K[split.tags_L], -1).astype(np.int32))
