"""Holm's correction of p values, and of the levels of intervals, for multiple tests."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""The family-wise error rate: of families without any effect, at most this share has a significant test."""


@dataclass(frozen=True, slots=True)
class CorrectedTest:
    """A test of a family. ``p``: its p value, corrected for the number of tests. ``level``: the level at which Holm's
    procedure tests the uncorrected p value. Both are None if the p value is unknown.
    """

    p: float | None = None
    level: float | None = None

    @property
    def marked(self) -> bool:
        """Whether the test is significant: ``p`` is below ``LEVEL``."""
        return self.p is not None and self.p < LEVEL


def holm(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[CorrectedTest, ...]:
    """Correct a family of tests for their number (Holm 1979).

    ``values``: the p values; None if unknown. ``questions``: a key of the hypothesis for each p value; values with the
    same key count as one test. An empty sequence means that all hypotheses differ.

    The k-th smallest of m p values becomes the largest of (m - i + 1) p_i for i up to k, at most 1. Of families without
    any effect, at most a share ``LEVEL`` has a corrected p below ``LEVEL``. This holds however the tests depend on each
    other, for example through a shared base.

    The level of the k-th smallest p value is ``LEVEL`` / (m - k + 1). The procedure stops at the first p value that is
    not below its level. All larger p values get the level of this p value. So a p value is below its level if and only
    if the corrected p is below ``LEVEL``.
    """
    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    # By hand: statsmodels collects all garbage at each call.
    found, largest, left = dict[Hashable, CorrectedTest](), 0.0, len(asked)
    for rank, (question, value) in enumerate(sorted(asked.items(), key=lambda one: one[1])):
        largest, level = max(largest, (len(asked) - rank) * value), LEVEL / left
        found[question] = CorrectedTest(min(largest, 1.0), level)
        left -= value < level
    return tuple(CorrectedTest() if value is None else found[question] for question, value in each)
