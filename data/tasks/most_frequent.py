"""The predictions of the baselines. Each form gets its most frequent decision in the training split.

A decision is a tag or, in parsing, an arc. Array legend: N tokens, L tags, F forms, P distinct pairs of form and
decision, R lanes (one here), S sentences, C counts.
"""

from typing import TYPE_CHECKING

import numpy as np

from skipstack.data.basis.arrays import Ids
from skipstack.data.tasks.measure import Measure, Predicted

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


def score_of_most_frequent_tags(corpus: "StoredCorpus", split: str, measure: Measure) -> float:
    """The value of ``measure`` for predicting, for each form, its most frequent tag in the training split."""
    train, chosen = corpus.splits["train"], corpus.splits[split]
    tags_L = most_frequent(train.forms_N, train.tags_L, len(corpus.forms))[chosen.forms_N]
    counts_RSC = measure.sentences(Predicted(tags_RL=tags_L[None]), corpus, split)
    return float(measure.of_counts(counts_RSC.sum(axis=1))[0])


def most_frequent(forms_N: Ids, decided_N: Ids, forms: int) -> Ids:
    """Find the most frequent decision for each form in the training split: guess_F.

    ``forms_N``: the form of each token of the training split. ``decided_N``: the decision for each of these tokens.
    ``forms``: the number of forms.

    Forms are compared unchanged, with case and digits. A form that the training split lacks gets the most frequent
    decision of all. Ties go to the smallest ID. For tags, this is the alphabetically first tag. For arcs, the order is:
    the root, then the nearest head, then the head on the left, then the smallest tag.
    """
    decided_N = decided_N.astype(np.int64)
    overall = int(np.bincount(decided_N).argmax())
    pairs_P2, counts_P = np.unique(np.stack([forms_N, decided_N], axis=1), axis=0, return_counts=True)
    form_P, tag_P = pairs_P2.T
    # Sort pairs by form, then the most frequent decision first, then the smallest ID first.
    order_P = np.lexsort((tag_P, -counts_P, form_P))
    known_F, first_F = np.unique(form_P[order_P], return_index=True)
    guess_F = np.full(forms, overall, dtype=np.int64)
    guess_F[known_F] = tag_P[order_P][first_F]
    return guess_F


def right_ones(guessed_N: Ids, decided_N: Ids) -> int:
    """Count the right predictions. ``decided_N``: the true tags or arcs; -1 stands for one that ``train`` lacks, which
    is never predicted.
    """
    return int(np.count_nonzero(guessed_N == decided_N))
