"""A corpus as a trial sees it: the stored tokens, and a vocabulary made from their training split."""

from dataclasses import dataclass

from data.config import VocabularyConfig
from data.features import Lexicon, lexicon
from data.store import StoredCorpus
from data.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """``lexicon`` holds the features of every form of ``stored`` under ``vocabulary``."""

    stored: StoredCorpus
    vocabulary: Vocabulary
    lexicon: Lexicon


def prepare(stored: StoredCorpus, config: VocabularyConfig, affix: int) -> PreparedCorpus:
    """Apply ``config``, keeping ``affix`` characters at each side of a word."""
    vocabulary = Vocabulary.build(config, stored.forms, stored.counts_F)
    return PreparedCorpus(stored, vocabulary, lexicon(vocabulary, stored.forms, affix))
