"""The baselines' guesses: what each form of train has most often.

Array legend: N tokens, F forms, P distinct (form, decision) pairs of train.
"""

import numpy as np

from skipstack.data.basis.arrays import Ids


def most_frequent(forms_N: Ids, decided_N: Ids, forms: int) -> Ids:
    """What each of ``forms`` has most often in train, whose tokens are ``forms_N`` with ``decided_N``: guess_F.

    Forms are compared as they are written, case and digits kept. A form that train does not have gets the most
    frequent decision of all; of equally frequent ones the smallest: of tags the first in text order; of arcs the one
    from the root, then from the nearest head, then from the left, then by its tag.
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
    """How many guesses are right. What train does not have is -1, and cannot be got right."""
    return int(np.count_nonzero(guessed_N == decided_N))
