"""Dependency parsing: predicts the head of each word. The word's tag is the relation to the head.

Array legend: N words of a split, S sentences of a split.
"""

from typing import TYPE_CHECKING, final

import numpy as np

from skipstack.data.basis.arrays import Ids
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.labels.trees import ROOT
from skipstack.data.tasks.accuracy import accuracy
from skipstack.data.tasks.las import Las
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.most_frequent import most_frequent, right_ones
from skipstack.data.tasks.task import Form, Task, in_columns

if TYPE_CHECKING:
    from skipstack.data.store.stored import Split, StoredCorpus


@final
class Parsing(Task):
    """The task of predicting the dependency tree of each sentence."""

    name = "parsing"
    corpus = "a corpus of dependency trees"
    heads = ("biaffine",)
    guess = "most frequent arc of each word"
    otherwise = ", or another layer of tags as data.corpus.tags"
    forms = ("columns",)

    def measure(self, scheme: Scheme | None) -> Measure:
        """LAS, whether or not there is a scheme."""
        return Las()

    def baseline(self, corpus: "StoredCorpus", split: str) -> float:
        """The LAS of predicting, for each form, its most frequent arc in the training split.

        An arc is the relation, with the position of the head: either the head's distance and side, or the root.
        """
        train, chosen = corpus.splits["train"], corpus.splits[split]
        arcs_N = most_frequent(train.forms_N, _arcs(train, len(corpus.tags)), len(corpus.forms))[chosen.forms_N]
        return accuracy(right_ones(arcs_N, _arcs(chosen, len(corpus.tags))), len(arcs_N))

    def written(self, sentence: Sentence, form: Form, segmentation: Scheme | None) -> str:
        """Format a predicted sentence as columns: word, head, relation. A head is a word's number; 0 is the root."""
        assert sentence.heads is not None, "what is parsed has heads"
        return in_columns(sentence.words, tuple(map(str, sentence.heads)), sentence.tags)


def _arcs(split: "Split", tags: int) -> Ids:
    """Give a number to the arc that ends at each word: arc_N. Arcs have the same number, in every split, if their
    relations are the same and their heads are at the same distance on the same side, or are both the root.

    The number is -1 if the relation does not occur in the training split. ``tags``: the number of relations.
    """
    assert split.heads_N is not None, "a corpus of trees has heads"
    tags_N = split.tags_L.astype(np.int64)
    place_N = 1 + np.arange(len(tags_N)) - np.repeat(split.offsets_S1[:-1], split.lengths_S)
    away_N = np.where(split.heads_N == ROOT, 0, split.heads_N - place_N)  # no word has distance 0
    side_N = np.where(away_N < 0, -2 * away_N - 1, 2 * away_N)  # 0: the root, odd: to the left, even: to the right
    return np.where(tags_N < 0, -1, tags_N + tags * side_N)
