"""Many questions asked at once: what is left of each answer."""

from collections.abc import Hashable, Sequence

LEVEL = 0.05
"""With no effect anywhere, at most this share of families has any mark."""


def holm(values: Sequence[float | None], questions: Sequence[Hashable] = ()) -> tuple[float | None, ...]:
    """The p values of a family, each corrected for there being so many (Holm 1979); None stays None.

    ``questions``: what each answers, where some answer the same one, which then counts once.

    The k-th smallest of m becomes the largest of (m - i + 1) p_i for i up to k, at most 1. Whatever the questions have
    in common, such as one base for all, at most ``LEVEL`` of families without any effect have one below ``LEVEL``.
    """
    from statsmodels.stats.multitest import multipletests

    each = list(zip(questions or range(len(values)), values, strict=True))
    asked = {question: value for question, value in each if value is not None}
    corrected = multipletests(list(asked.values()), alpha=LEVEL, method="holm")[1].tolist() if asked else ()
    found = dict(zip(asked, corrected, strict=True))
    return tuple(None if value is None else found[question] for question, value in each)
