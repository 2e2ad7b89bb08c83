"""The tags that may begin a sentence, follow one another, and end it. K: tags."""

from dataclasses import dataclass

import numpy as np

from skipstack.data.basis.arrays import Flags


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """The transitions that a label scheme allows, True if allowed; tags in the order of their ids."""

    start_K: Flags
    between_KK: Flags
    """The transitions from the row's tag to the column's."""
    end_K: Flags

    def __post_init__(self) -> None:
        tags = len(self.start_K)
        assert (self.between_KK.shape, self.end_K.shape) == ((tags, tags), (tags,)), "one place a tag"
        assert all(flags.dtype == np.bool_ for flags in (self.start_K, self.between_KK, self.end_K)), "flags"
