"""What every model has to beat: the most frequent tag or arc of each word, the most frequent tag of all texts, or how
often each word comes.

Array legend: N tokens, L tags, F forms, P distinct (form, decision) pairs of train.
"""

import numpy as np
from numpy.typing import NDArray

from skipstack.data.labels.trees import ROOT
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.data.tasks.metrics import accuracy
from skipstack.data.tasks.scoring import span_counts


def most_frequent_tag(corpus: StoredCorpus, split: str) -> float:
    """The score of giving each form the tag that it has most often in train, on a split.

    A text that is classified gets the tag that train's texts have most often. Where sentences are parsed a form gets
    the arc that it has most often: its relation, and how far away its head is, to which side, or that it is the root.

    Running text is predicted by the frequency of its words in train, one more of each than there are.

    That is LAS of trees, the negative perplexity of running text, the F1 of spans where the tags have a scheme, and
    otherwise accuracy.

    Forms are compared as they are written, case and digits kept. A form that train does not have gets the most
    frequent tag of all; of equally frequent tags the one with the smallest id, which is the first in text order, and
    of equally frequent arcs the one from the root, then from the nearest head, then from the left, then by its tag.
    A tag that train does not have cannot be got right.
    """
    train, chosen = corpus.splits["train"], corpus.splits[split]
    if corpus.task == "language_modelling":
        counts_K = np.bincount(train.tags_L, minlength=len(corpus.tags)) + 1
        return -float(np.exp(-np.log(counts_K / counts_K.sum())[chosen.tags_L].mean()))
    if corpus.task == "classification":
        predicted_L = np.full(len(chosen.tags_L), np.bincount(train.tags_L).argmax())
    else:
        predicted_L = _guesses(train, len(corpus.tags), len(corpus.forms))[chosen.forms_N]
    if counts := span_counts(predicted_L[None], corpus, split):
        return counts[0].f1
    return accuracy(int(np.count_nonzero(predicted_L == _decisions(chosen, len(corpus.tags)))), len(chosen.tags_L))


def _decisions(split: Split, tags: int) -> NDArray[np.int64]:
    """A number for what is decided of each word, the same in every split: its tag, or its arc; -1 as for tags."""
    tags_L = split.tags_L.astype(np.int64)
    if split.heads_N is None:
        return tags_L
    place_N = 1 + np.arange(len(tags_L)) - np.repeat(split.offsets_S1[:-1], split.lengths_S)
    away_N = np.where(split.heads_N == ROOT, 0, split.heads_N - place_N)  # no word is its own head
    side_N = np.where(away_N < 0, -2 * away_N - 1, 2 * away_N)  # 0 the root, odd to the left, even to the right
    return np.where(tags_L < 0, -1, tags_L + tags * side_N)


def _guesses(train: Split, tags: int, forms: int) -> NDArray[np.int64]:
    decided_N = _decisions(train, tags)
    overall = int(np.bincount(decided_N).argmax())
    pairs_P2, counts_P = np.unique(np.stack([train.forms_N, decided_N], axis=1), axis=0, return_counts=True)
    form_P, tag_P = pairs_P2.T
    # Each form's pairs together, its most frequent tag first, then the smallest id.
    order_P = np.lexsort((tag_P, -counts_P, form_P))
    known_F, first_F = np.unique(form_P[order_P], return_index=True)
    guess_F = np.full(forms, overall, dtype=np.int64)
    guess_F[known_F] = tag_P[order_P][first_F]
    return guess_F
