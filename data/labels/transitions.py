"""The tags that may begin a sentence, follow one another, and end a sentence. Array legend: K tags."""

from dataclasses import dataclass

import numpy as np

from skipstack.data.basis.arrays import Flags


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """The transitions that a label scheme allows, with tags in the order of their IDs.

    ``start_K``: whether a sentence may begin with the tag. ``end_K``: whether a sentence may end with it.
    """

    start_K: Flags
    between_KK: Flags
    """Whether the tag of the column may follow the tag of the row."""
    end_K: Flags

    def __post_init__(self) -> None:
        tags = len(self.start_K)
        assert (self.between_KK.shape, self.end_K.shape) == ((tags, tags), (tags,)), "one place a tag"
        assert all(flags.dtype == np.bool_ for flags in (self.start_K, self.between_KK, self.end_K)), "flags"
