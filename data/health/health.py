"""What a corpus is made of, in numbers that say how fit it is for a comparison."""

from pydantic import Field, NonNegativeInt

from skipstack.data.basis.frozen import Frozen


class SplitHealth(Frozen):
    """One split. Sentences are texts where texts are classified, which have a single tag; otherwise each token has one.

    ``tags``: how many there are, ``different_tags`` of them different; ``spans``: that they mark, where they do.
    ``words``: different ones. ``unknown_tokens`` are of words that train lacks, ``unknown_tags`` are tags that train
    lacks. ``median`` and ``longest``: tokens of a sentence. ``repeated``: by earlier split, the sentences whose words
    are those of one there; ``repeated_tokens``, their tokens. ``controls``, ``replacements``, ``two_forms``: tokens of
    words that have a character of these kinds (``data/health/characters.py``).
    """

    sentences: NonNegativeInt
    tokens: NonNegativeInt
    words: NonNegativeInt
    unknown_tokens: NonNegativeInt
    tags: NonNegativeInt
    different_tags: NonNegativeInt
    spans: NonNegativeInt | None
    unknown_tags: NonNegativeInt
    unknown_names: tuple[str, ...] = ()
    """Tags that train lacks, the most frequent ones first."""
    commonest: str | None
    """The tag that is there most often, of those that train has."""
    commonest_tags: NonNegativeInt
    """How often it is there."""
    median: NonNegativeInt
    longest: NonNegativeInt
    repeated: dict[str, NonNegativeInt] = Field(default_factory=dict)
    repeated_tokens: dict[str, NonNegativeInt] = Field(default_factory=dict)
    controls: NonNegativeInt = 0
    replacements: NonNegativeInt = 0
    two_forms: NonNegativeInt = 0


class Health(Frozen):
    """A corpus: its splits by name, and how often each has the commonest ``tags`` of train.

    ``characters``: suspicious ones, such as ``U+FFFD``, and in how many tokens they are, the most frequent ones first.
    """

    splits: dict[str, SplitHealth]
    tags: dict[str, dict[str, NonNegativeInt]]
    characters: dict[str, NonNegativeInt] = Field(default_factory=dict)
