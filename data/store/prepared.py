"""A corpus as a trial reads it: the stored tokens, with the vocabulary and the tags of the training split."""

from dataclasses import dataclass

from skipstack.data.corpora.config import DataConfig, VocabularyConfig
from skipstack.data.labels.schemes import Scheme
from skipstack.data.store.conversion import with_scheme
from skipstack.data.store.cutting import with_longest
from skipstack.data.store.features import Lexicon, lexicon
from skipstack.data.store.rare import with_rare_tags
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.token_vectors import StoredTokenVectors, with_token_vectors
from skipstack.data.store.vectors import Pretrained, StoredVectors, pretrained
from skipstack.data.store.vocabulary import Vocabulary
from skipstack.data.store.word_classes import word_classes


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """A corpus that is prepared for a trial.

    ``stored``: the corpus in the configured scheme. If so configured, rare tags are replaced by RARE and texts are cut.
    ``vocabulary``: the known words and characters. ``lexicon``: the features of every form of ``stored`` under this
    vocabulary. ``vectors``: the pretrained vectors of the vocabulary's words; None if not configured.
    """

    stored: StoredCorpus
    vocabulary: Vocabulary
    lexicon: Lexicon
    vectors: Pretrained | None = None


def prepare(
    stored: StoredCorpus,
    config: DataConfig,
    affix: int,
    vectors: StoredVectors | StoredTokenVectors | None = None,
) -> PreparedCorpus:
    """Prepare a stored corpus for ``config``.

    ``affix``: the number of characters to keep at each side of a word. ``vectors``: the stored vectors, if configured.
    Raises UserError as ``vocabulary_of``, ``with_learnt_tags``, ``with_longest`` and ``with_token_vectors`` do.
    """
    stored = with_token_vectors(stored, vectors)
    vocabulary = vocabulary_of(stored, config.vocabulary)
    learnt = with_learnt_tags(stored, config.scheme, config.minimum_tag_count)
    return PreparedCorpus(
        learnt if config.longest is None else with_longest(learnt, config.longest),
        vocabulary,
        lexicon(vocabulary, stored.forms, affix),
        pretrained(vectors, vocabulary) if isinstance(vectors, StoredVectors) else None,
    )


def vocabulary_of(stored: StoredCorpus, config: VocabularyConfig) -> Vocabulary:
    """Build the vocabulary of a corpus: words, classes and characters. Raises UserError as ``word_classes`` does."""
    return Vocabulary.build(config, stored.forms, stored.counts_F, word_classes(stored, config))


def with_learnt_tags(stored: StoredCorpus, scheme: Scheme | None, minimum_tag_count: int | None) -> StoredCorpus:
    """Convert the tags of a corpus to ``scheme``, then replace its rare tags by RARE. A step whose argument is None is
    skipped.

    Raises UserError as ``with_scheme`` and ``with_rare_tags`` do.
    """
    converted = stored if scheme is None else with_scheme(stored, scheme)
    return converted if minimum_tag_count is None else with_rare_tags(converted, minimum_tag_count)
