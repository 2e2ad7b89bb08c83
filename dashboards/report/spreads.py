"""The numbers of scores that were measured with several seeds, by the full names that every report gives them."""

from collections.abc import Mapping
from typing import Protocol

from skipstack.dashboards.pages.page import Numbers
from skipstack.search.statistics.spreads import Spread


class MeasuredRow(Protocol):
    """A row of scores, each with one value a seed; None where it was not measured."""

    @property
    def seeds(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    def dev(self) -> Spread | None: ...  # noqa: D102

    @property
    def test(self) -> Spread | None: ...  # noqa: D102

    @property
    def difference(self) -> Spread | None: ...  # noqa: D102


def split_numbers(split: str, spread: Spread | None) -> Numbers:
    """The mean on a split, and how far the seeds lie apart."""
    return {
        f"{split}_mean": spread.mean if spread else None,
        f"{split}_deviation": spread.deviation if spread else None,
    }


def difference_numbers(spread: Spread | None) -> Numbers:
    """A difference taken seed by seed, its standard error, and whether it is larger than that."""
    return {
        "difference": spread.mean if spread else None,
        "difference_standard_error": spread.standard_error if spread else None,
        "difference_exceeds_error": spread.exceeds_error if spread else None,
    }


def by_seed(row: MeasuredRow) -> Mapping[str, tuple[float, ...]]:
    """The seeds of a row, and in their order the values of each score that it has."""
    spreads = {"dev": row.dev, "difference": row.difference, "test": row.test}
    return {"seeds": row.seeds, **{name: each.values for name, each in spreads.items() if each is not None}}
