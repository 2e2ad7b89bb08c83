"""The health of a corpus: numbers that show how suitable it is for comparing networks."""

from pydantic import Field, NonNegativeInt

from skipstack.data.basis.frozen import Frozen
from skipstack.data.labels.schemes import Scheme


class SplitHealth(Frozen):
    """The health of one split.

    ``sentences``, ``tokens``: their numbers. In classification, a text is a sentence. ``words``: the number of distinct
    words. ``unknown_tokens``: the number of tokens whose word is not in the training split. ``tags``: the number of
    tags, one per token. In classification, there is one per text. Intents are tags, too, one per sentence.
    ``different_tags``: the number of distinct tags. ``spans``: the number of gold spans; None if tags have no scheme.
    ``different_intents``: the number of distinct intents; None if intents are not learned. ``unknown_tags``: the number
    of tags that are not in the training split. ``median``, ``longest``: the lengths of the median and of the longest
    sentence, in tokens. ``repeated``: for each earlier split, the number of sentences that also occur in that split.
    ``repeated_tokens``: for each earlier split, the number of tokens in these sentences.

    Four fields count the tokens with a suspicious word (``data/health/characters.py``). ``controls``: the word has
    suspicious characters other than the replacement character. ``replacements``: the word has the replacement
    character. ``two_forms``: another word of the corpus is the same up to Unicode normalisation. ``documents``: the
    word is ``-DOCSTART-``, a mark between documents.
    """

    sentences: NonNegativeInt
    tokens: NonNegativeInt
    words: NonNegativeInt
    unknown_tokens: NonNegativeInt
    tags: NonNegativeInt
    different_tags: NonNegativeInt
    spans: NonNegativeInt | None
    different_intents: NonNegativeInt | None = None
    unknown_tags: NonNegativeInt
    unknown_names: tuple[str, ...] = ()
    """The most frequent tags that the training split lacks, at most ``data.health.counting.NAMED`` of them."""
    unknown_different: NonNegativeInt = 0
    """The number of distinct tags that the training split lacks."""
    commonest: str | None
    """The split's most frequent tag, of the tags that the training split has; None if the split has none of these."""
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
    stripped: NonNegativeInt = 0
    """The number of tokens that had blanks around the word or the tag. The blanks were removed."""
    rewritten: NonNegativeInt = 0
    """The number of tags that were repaired, since the label scheme forbids them where they stood."""
    fitted: NonNegativeInt = 0
    """The number of spans by characters that were fitted to tokens or left out, since tags cannot express them."""


class Health(Frozen):
    """The health of a corpus.

    ``splits``: the health of each split, by name. ``tags``: the most frequent tags of the training split. Each has its
    count in every split. ``characters``: the most frequent suspicious characters, such as ``U+FFFD``. Each has the
    number of tokens that contain it. ``running``: whether each split is one continuous text.
    """

    splits: dict[str, SplitHealth]
    tags: dict[str, dict[str, NonNegativeInt]]
    characters: dict[str, NonNegativeInt] = Field(default_factory=dict)
    running: bool = False
    scheme: Scheme | None = None
    """The label scheme of the tags; None if they are scored one by one."""
    likely_scheme: Scheme | None = None
    """Another scheme in which train's tags appear to be; None if there is none (``data/labels/likely.py``)."""
    alike: tuple[str, ...] = ()
    """Tags of the training split that differ from another tag only in blanks or suspicious characters."""
