"""Holm's correction of p values, and of the levels of intervals, for multiple tests."""

from collections.abc import Hashable, Sequence

LEVEL = 0.05
"""The family-wise error rate: of families without any effect, at most this share has a significant test."""


def holm(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[float | None, ...]:
    """Return the p values of a family of tests, corrected for their number (Holm 1979); None stays None.

    ``values``: the p values. ``questions``: a key of the hypothesis for each p value; values with the same key count as
    one test. An empty sequence means that all hypotheses differ.

    The k-th smallest of m p values becomes the largest of (m - i + 1) p_i for i up to k, at most 1. Of families without
    any effect, at most a share ``LEVEL`` has a corrected p below ``LEVEL``. This holds however the tests depend on each
    other, for example through a shared base.
    """
    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    found, largest = dict[Hashable, float](), 0.0  # by hand: statsmodels collects all garbage at each call
    for rank, (question, value) in enumerate(sorted(asked.items(), key=lambda one: one[1])):
        largest = max(largest, (len(asked) - rank) * value)
        found[question] = min(largest, 1.0)
    return tuple(None if value is None else found[question] for question, value in each)


def levels(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[float | None, ...]:
    """Return the level at which Holm's procedure tests each p value of a family; None stays None.

    ``values``, ``questions``: as in ``holm``. The level of the k-th smallest of m p values is ``LEVEL`` / (m - k + 1).
    The procedure stops at the first p value that is not below its level. All larger p values get the level of this p
    value. So a p value is below its level if and only if ``holm`` returns less than ``LEVEL`` for it.
    """
    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    found, left, stopped = dict[Hashable, float](), len(asked), False
    for question, value in sorted(asked.items(), key=lambda one: one[1]):
        found[question] = LEVEL / left
        stopped = stopped or value >= found[question]
        left -= not stopped
    return tuple(None if value is None else found[question] for question, value in each)
