"""Many questions asked at once: what is left of each answer."""

from collections.abc import Sequence

LEVEL = 0.05
"""With no effect anywhere, at most this share of families has any mark."""


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """The p values of a family, each corrected for there being so many (Holm 1979); None stays None.

    The k-th smallest of m becomes the largest of (m - i + 1) p_i for i up to k, at most 1. Whatever the questions have
    in common, such as one base for all, at most ``LEVEL`` of families without any effect have one below ``LEVEL``.
    """
    from statsmodels.stats.multitest import multipletests

    asked = [value for value in values if value is not None]
    corrected = iter(multipletests(asked, alpha=LEVEL, method="holm")[1].tolist() if asked else ())
    return tuple(None if value is None else next(corrected) for value in values)
