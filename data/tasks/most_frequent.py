"""The baselines' guesses: the most frequent decision for each form in train.

Array legend: N tokens, F forms, P distinct (form, decision) pairs of train.
"""

import numpy as np

from skipstack.data.basis.arrays import Ids


def most_frequent(forms_N: Ids, decided_N: Ids, forms: int) -> Ids:
    """The most frequent decision of each of ``forms`` in train, whose tokens are ``forms_N`` with ``decided_N``:
    guess_F.

    Forms are compared unchanged, with case and digits. A form that train lacks gets the most frequent decision of all;
    ties go to the smallest id: for tags the first in text order; for arcs the one from the root, then from the nearest
    head, then from the left, then by its tag.
    """
    decided_N = decided_N.astype(np.int64)
    overall = int(np.bincount(decided_N).argmax())
    pairs_P2, counts_P = np.unique(np.stack([forms_N, decided_N], axis=1), axis=0, return_counts=True)
    form_P, tag_P = pairs_P2.T
    # Each form's pairs together, its most frequent tag first, then the smallest id.
    order_P = np.lexsort((tag_P, -counts_P, form_P))
    known_F, first_F = np.unique(form_P[order_P], return_index=True)
    guess_F = np.full(forms, overall, dtype=np.int64)
    guess_F[known_F] = tag_P[order_P][first_F]
    return guess_F


def right_ones(guessed_N: Ids, decided_N: Ids) -> int:
    """The number of right guesses. -1 (not in train) is never right."""
    return int(np.count_nonzero(guessed_N == decided_N))
