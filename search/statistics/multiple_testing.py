"""Correction of p values and of intervals for multiple tests (Holm)."""

from collections.abc import Hashable, Sequence

LEVEL = 0.05
"""The family-wise error rate: without any effect, at most this share of families has a mark."""


def holm(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[float | None, ...]:
    """The p values of a family, corrected for their number (Holm 1979); None stays None.

    ``questions``: keys of the hypotheses; p values with the same key count as one.

    The k-th smallest of m becomes the largest of (m - i + 1) p_i for i up to k, at most 1. Under any dependence, such
    as one base for all, at most ``LEVEL`` of families without any effect have a corrected p below ``LEVEL``.
    """
    from statsmodels.stats.multitest import multipletests

    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    corrected = multipletests(list(asked.values()), alpha=LEVEL, method="holm")[1].tolist() if asked else ()
    found = dict(zip(asked, corrected, strict=True))
    return tuple(None if value is None else found[question] for question, value in each)


def levels(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[float | None, ...]:
    """The level at which Holm tests each p value of a family; None stays None. ``questions``: as in ``holm``.

    That is ``LEVEL`` / (m - k + 1) for the k-th smallest of m, up to the first that is not below its own. Larger ones
    are not tested, and have the level of that one. So a p value is below its level where ``holm`` gives less than
    ``LEVEL``, and nowhere else.
    """
    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    found, left, stopped = dict[Hashable, float](), len(asked), False
    for question, value in sorted(asked.items(), key=lambda one: one[1]):
        found[question] = LEVEL / left
        stopped = stopped or value >= found[question]
        left -= not stopped
    return tuple(None if value is None else found[question] for question, value in each)
