"""Cuts texts to a maximum length. Array legend: N tokens, S texts, S1 = S + 1."""

from dataclasses import replace

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.store.stored import Split, StoredCorpus, offsets_of


def with_longest(stored: StoredCorpus, longest: int) -> StoredCorpus:
    """Cut texts to their first ``longest`` tokens. The vocabulary stays. Raises UserError if tokens have tags."""
    if stored.task != "classification":
        raise UserError(f"data.longest: got {longest} for a corpus whose tokens have tags (allowed: null)")
    return replace(stored, splits={name: _cut(split, longest) for name, split in stored.splits.items()})


def _cut(split: Split, longest: int) -> Split:
    place_N = np.arange(len(split.forms_N)) - np.repeat(split.offsets_S1[:-1], split.lengths_S)
    lengths_S = np.minimum(split.lengths_S, longest)
    kept_N = place_N < longest
    vectors = None if split.vectors_NE is None else split.vectors_NE[kept_N]
    return replace(
        split, forms_N=split.forms_N[kept_N], lengths_S=lengths_S, offsets_S1=offsets_of(lengths_S), vectors_NE=vectors
    )
