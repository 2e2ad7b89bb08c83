"""A corpus as a trial sees it: the stored tokens, and what their training split settles of words and tags."""

from dataclasses import dataclass

from data.config import VocabularyConfig
from data.features import Lexicon, lexicon
from data.rare import with_rare_tags
from data.store import StoredCorpus
from data.vectors import Pretrained, StoredVectors, pretrained
from data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """``lexicon`` holds the features of every form of ``stored`` under ``vocabulary``.

    ``stored`` has the tags that are learnt: RARE among them if a cut-off is set. ``vectors`` are the
    pretrained ones of the vocabulary's words, None where none are given.
    """

    stored: StoredCorpus
    vocabulary: Vocabulary
    lexicon: Lexicon
    vectors: Pretrained | None = None


def prepare(
    stored: StoredCorpus,
    config: VocabularyConfig,
    affix: int,
    *,
    minimum_tag_count: int | None = None,
    vectors: StoredVectors | None = None,
) -> PreparedCorpus:
    """Apply ``config`` and the cut-off of the tags, keeping ``affix`` characters at each side of a word."""
    vocabulary = Vocabulary.build(config, stored.forms, stored.counts_F)
    return PreparedCorpus(
        stored if minimum_tag_count is None else with_rare_tags(stored, minimum_tag_count),
        vocabulary,
        lexicon(vocabulary, stored.forms, affix),
        None if vectors is None else pretrained(vectors, vocabulary),
    )
