"""Intents of sentences. A sentence's intent is the tag of one more token, which is added at its end and removed here.

So a network of any kind learns slots and intents together, as a tagger (Hakkani-Tür et al., 2016, "Multi-Domain Joint
Semantic Frame Parsing using Bi-directional RNN-LSTM"). Prepared corpora and networks have the additional token. Formats
and predictions have ``Sentence.intent`` instead.
"""

from dataclasses import replace

from skipstack.data.formats.running_text import END
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import INTENT, OUTSIDE, RARE


def with_end(sentence: Sentence) -> Sentence:
    """Add the token ``END``, whose tag is the intent. A sentence without an intent is returned unchanged."""
    if sentence.intent is None:
        return sentence
    tags = (*sentence.tags, f"{INTENT}{sentence.intent}")
    return replace(sentence, words=(*sentence.words, END), tags=tags, intent=None)


def without_end(sentence: Sentence) -> Sentence:
    """Remove the last token, and make its tag the intent: the inverse of ``with_end``.

    A network may predict an intent for a word, or a slot for the last token. Both become O. RARE stays RARE.
    """
    *slots, last = sentence.tags
    tags = tuple(OUTSIDE if tag.startswith(INTENT) else tag for tag in slots)
    intent = last.removeprefix(INTENT) if last == RARE or last.startswith(INTENT) else OUTSIDE
    return replace(sentence, words=sentence.words[:-1], tags=tags, intent=intent)
