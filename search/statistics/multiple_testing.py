"""Correction of p values for multiple tests (Holm)."""

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
