"""Adds the dev split of a corpus to its training split.

Array legend: N tokens, L tags, S sentences, S1 = S + 1, M spans.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids
from skipstack.data.basis.errors import UserError
from skipstack.data.labels.spans import Spans
from skipstack.data.store.stored import Split, StoredCorpus, offsets_of

Number = TypeVar("Number", bound=np.generic)


def with_dev_in_train(stored: StoredCorpus) -> StoredCorpus:
    """Append dev to the training split, and count words in both. The split ``dev`` itself does not change.

    No tags are added: sentences of dev with a tag that the training split lacks are left out. (In running text, dev has
    no such tag.) Raises UserError if no sentence of dev is left.
    """
    dev = stored.splits["dev"]
    dev = _chosen(dev, np.minimum.reduceat(dev.tags_L, dev.tag_offsets_S1[:-1]) >= 0)
    if not len(dev.lengths_S):
        raise UserError("dev: each of its sentences has a tag that train lacks (allowed: some whose tags train has)")
    counts_F = stored.counts_F + np.bincount(dev.forms_N, minlength=len(stored.forms))
    return replace(stored, counts_F=counts_F, splits={**stored.splits, "train": _joined(stored.splits["train"], dev)})


def _chosen(split: Split, keep_S: NDArray[np.bool_]) -> Split:
    """Select the sentences of a split for which ``keep_S`` is true, in order."""
    keep_N = np.repeat(keep_S, split.lengths_S)
    counts_S: Ids = np.diff(split.tag_offsets_S1)
    keep_L = np.repeat(keep_S, counts_S)
    return replace(
        split,
        forms_N=split.forms_N[keep_N],
        tags_L=split.tags_L[keep_L],
        lengths_S=split.lengths_S[keep_S],
        offsets_S1=offsets_of(split.lengths_S[keep_S]),
        tag_offsets_S1=offsets_of(counts_S[keep_S]),
        spans=None if split.spans is None else _of_tokens(split.spans, keep_L),
        heads_N=None if split.heads_N is None else split.heads_N[keep_N],
        vectors_NE=None if split.vectors_NE is None else split.vectors_NE[keep_N],
    )


def _joined(first: Split, second: Split) -> Split:
    spans = None
    if first.spans is not None and second.spans is not None:
        spans = _after(first.spans, second.spans, len(first.tags_L))
    return Split(
        forms_N=np.concatenate([first.forms_N, second.forms_N]),
        tags_L=np.concatenate([first.tags_L, second.tags_L]),
        lengths_S=np.concatenate([first.lengths_S, second.lengths_S]),
        offsets_S1=np.concatenate([first.offsets_S1, first.offsets_S1[-1] + second.offsets_S1[1:]]),
        tag_offsets_S1=np.concatenate([first.tag_offsets_S1, first.tag_offsets_S1[-1] + second.tag_offsets_S1[1:]]),
        spans=spans,
        heads_N=_both(first.heads_N, second.heads_N),
        vectors_NE=_both(first.vectors_NE, second.vectors_NE),
    )


def _both(first: NDArray[Number] | None, second: NDArray[Number] | None) -> NDArray[Number] | None:
    """Concatenate two arrays; None if one of them is None."""
    return None if first is None or second is None else np.concatenate([first, second])


def _of_tokens(spans: Spans, keep_L: NDArray[np.bool_]) -> Spans:
    """Select the spans of the tokens for which ``keep_L`` is true. The result's indices count only these tokens."""
    inside_M, place_L = keep_L[spans.start_M], offsets_of(keep_L)
    start_M, stop_M = spans.start_M[inside_M], spans.stop_M[inside_M]
    return Spans(place_L[start_M], place_L[stop_M], spans.type_M[inside_M])


def _after(first: Spans, second: Spans, tokens: int) -> Spans:
    """Join the spans of two splits. The second's are shifted by ``tokens``, the number of tokens of the first."""
    return Spans(
        start_M=np.concatenate([first.start_M, second.start_M + tokens]),
        stop_M=np.concatenate([first.stop_M, second.stop_M + tokens]),
        type_M=np.concatenate([first.type_M, second.type_M]),
    )
