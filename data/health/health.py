"""The health of a corpus: numbers that show how suitable it is for comparisons."""

from pydantic import Field, NonNegativeInt

from skipstack.data.basis.frozen import Frozen

DOCUMENT = "-DOCSTART-"
"""The line that begins a document in the files of CoNLL-2003; it is no word."""


class SplitHealth(Frozen):
    """The health of one split. For classification, sentences are texts with a single tag; otherwise each token has
    one.

    ``tags``: their number, ``different_tags`` the number of distinct ones; ``spans``: their number, if tags have a
    scheme. ``words``: distinct ones. ``unknown_tokens``: tokens whose word train lacks, ``unknown_tags``: tags that
    train lacks. ``median`` and ``longest``: tokens per sentence. ``repeated``: by earlier split, the sentences that
    also occur there; ``repeated_tokens``, their tokens. ``controls``, ``replacements``, ``two_forms``: tokens whose
    words have such characters (``data/health/characters.py``). ``documents``: tokens that are ``DOCUMENT``.
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
    """The most frequent tag of the split among those of train."""
    commonest_tags: NonNegativeInt
    """The number of tags that are ``commonest``."""
    median: NonNegativeInt
    longest: NonNegativeInt
    repeated: dict[str, NonNegativeInt] = Field(default_factory=dict)
    repeated_tokens: dict[str, NonNegativeInt] = Field(default_factory=dict)
    controls: NonNegativeInt = 0
    replacements: NonNegativeInt = 0
    two_forms: NonNegativeInt = 0
    documents: NonNegativeInt = 0


class Health(Frozen):
    """The health of a corpus: its splits by name, and in each the counts of the most frequent ``tags`` of train.

    ``characters``: suspicious ones, such as ``U+FFFD``, and the number of tokens with each, the most frequent
    first. ``running``: whether each split is one text that continues from sentence to sentence.
    """

    splits: dict[str, SplitHealth]
    tags: dict[str, dict[str, NonNegativeInt]]
    characters: dict[str, NonNegativeInt] = Field(default_factory=dict)
    running: bool = False
