"""What every model has to beat: the most frequent tag of each word, or of all texts.

Array legend: N tokens, L tags, F forms, P distinct (form, tag) pairs of train.
"""

import numpy as np
from numpy.typing import NDArray

from data.metrics import accuracy
from data.scoring import span_counts
from data.store import Split, StoredCorpus


def most_frequent_tag(corpus: StoredCorpus, split: str) -> float:
    """What giving each form the tag that it has most often in train reaches on a split, in [0, 1].

    A text that is classified gets the tag that train's texts have most often.

    That is the F1 of spans where the tags have a scheme, and accuracy where not.

    Forms are compared as they are written, case and digits kept. A form that train does not have gets the most
    frequent tag of all; of equally frequent tags the one with the smallest id, which is the first in text order.
    A tag that train does not have cannot be got right.
    """
    train, chosen = corpus.splits["train"], corpus.splits[split]
    if corpus.task == "classification":
        predicted_L = np.full(len(chosen.tags_L), np.bincount(train.tags_L).argmax())
    else:
        predicted_L = _guesses(train, len(corpus.forms))[chosen.forms_N]
    if counts := span_counts(predicted_L[None], corpus, split):
        return counts[0].f1
    return accuracy(int(np.count_nonzero(predicted_L == chosen.tags_L)), len(chosen.tags_L))


def _guesses(train: Split, forms: int) -> NDArray[np.int64]:
    overall = int(np.bincount(train.tags_L).argmax())
    pairs_P2, counts_P = np.unique(np.stack([train.forms_N, train.tags_L], axis=1), axis=0, return_counts=True)
    form_P, tag_P = pairs_P2.T
    # Each form's pairs together, its most frequent tag first, then the smallest id.
    order_P = np.lexsort((tag_P, -counts_P, form_P))
    known_F, first_F = np.unique(form_P[order_P], return_index=True)
    guess_F = np.full(forms, overall, dtype=np.int64)
    guess_F[known_F] = tag_P[order_P][first_F]
    return guess_F
