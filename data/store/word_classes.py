"""Finds word classes. The words of a class name things of one type, such as cities, and may be read as one word.

Array legend: N tokens, P distinct (form, tag) pairs of the training split.
"""

from collections import Counter, defaultdict

import numpy as np

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.config import VocabularyConfig
from skipstack.data.labels.schemes import parted_or_outside
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.vocabulary import normalise

LEAST_COUNT, LEAST_SHARE = 2, 0.9
"""The minimum count of a word with a class, and the minimum share of its occurrences in slots of one family."""


def word_classes(stored: StoredCorpus, config: VocabularyConfig) -> dict[str, str]:
    """Find the words of the training split that have one of the classes ``config.word_classes``. Maps each of these
    words, normalised, to its class.

    dinarelli2016 reads ATIS with "word-classes available for this task" (cities, airports, times). Their lists are not
    published, so we derive the classes from slots. The family of a slot is the last part of its type: ``city_name`` for
    ``fromloc.city_name``. A word is in the class of a family, ``<city_name>``, under two conditions. It occurs at least
    twice in the training split, and at least 90 % of its occurrences are slots of this family. (Not 100 %: nearly every
    city is also part of the name of an airport.) So words that are not in the training split are in no class, even if
    the unpublished lists have them. A class is read instead of a word or beside it. Characters are read unchanged.

    Raises UserError for a family that the training split lacks, and for a corpus whose tags have no scheme.
    """
    if not config.word_classes:
        return {}
    if stored.scheme is None:
        raise UserError("data.vocabulary.word_classes: the corpus has no slots (allowed: an empty list)")
    families = [parted_or_outside(tag, stored.scheme)[1].rpartition(".")[2] for tag in stored.tags]
    for name in config.word_classes:
        if not name or name not in families:
            raise UserError(f"data.vocabulary.word_classes: {unknown('slot family', name, sorted({*families} - {''}))}")
    train = stored.splits["train"]
    pairs_P2, counts_P = np.unique(np.stack([train.forms_N, train.tags_L], axis=1), axis=0, return_counts=True)
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (form, tag), count in zip(pairs_P2.tolist(), counts_P.tolist(), strict=True):
        seen[normalise(stored.forms[form], config)][families[tag]] += count
    classes = {}
    for word, counts in seen.items():
        [(family, count)] = counts.most_common(1)
        if family in config.word_classes and counts.total() >= LEAST_COUNT and count >= LEAST_SHARE * counts.total():
            classes[word] = f"<{family}>"
    return classes
