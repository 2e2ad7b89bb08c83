"""Divides a domain into the parts that tables show: its single values, or ranges of numbers if there are many."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Domain, Json, Numeric, Range
from skipstack.spaces.short_names import value_text

RANGES = 3
"""The number of ranges into which a continuous domain, or a range of more than ``LISTED`` values, is divided."""

LISTED = 8
"""Tables show the values of a range with a step one by one if it has at most this number of values."""


@dataclass(frozen=True, slots=True)
class DomainPart:
    """A part of a domain; each value of the domain belongs to exactly one part. ``label``: its label in tables.
    ``holds``: returns whether a value belongs to the part.
    """

    label: str
    holds: Callable[[Json], bool]


def parts(domain: Domain) -> tuple[DomainPart, ...]:
    """Divide a domain into its parts, in the order of the domain.

    The ranges of a domain have equal widths, up to rounding, in coordinates (``Domain.coordinate``), which are
    logarithmic for a logarithmic domain. Bounds between ranges are rounded before values are compared with them, so
    each label states its range exactly. Ranges of a domain with a step are named by their first and last value. Other
    ranges include the lower bound but not the upper one, except for the last range, which includes both.
    """
    if not isinstance(domain, Numeric):
        return tuple(_single(value, domain.name(value)) for value in domain.values)
    cuts = [domain.at(k / RANGES) for k in range(1, RANGES)]
    if not isinstance(domain, Range):
        return tuple(_ranges(-math.inf, cuts, math.inf))
    if not domain.finite:
        return tuple(_ranges(domain.low, cuts, domain.high))
    numbers = domain.values
    if len(numbers) <= LISTED:
        return tuple(DomainPart(value_text(number), partial(_between, number, _after(number))) for number in numbers)
    starts = [len(numbers) * k // RANGES if domain.steps else domain.index(cut) for k, cut in enumerate(cuts, start=1)]
    ends = [(numbers[start], numbers[end - 1]) for start, end in pairwise([0, *starts, len(numbers)])]
    return tuple(
        DomainPart(f"{_short(first)} – {_short(last)}", partial(_between, first, _after(last))) for first, last in ends
    )


def _single(value: Json, name: str | None) -> DomainPart:
    text = canonical_json(value)  # with ==, the values 1, 1.0 and true would be equal
    return DomainPart(name or value_text(value), lambda other: canonical_json(other) == text)


def _after(number: float) -> float:
    """Return the next integer or, of a float, the next larger float."""
    return number + 1 if isinstance(number, int) else math.nextafter(number, math.inf)


def _ranges(low: float, cuts: Sequence[float], high: float) -> Iterator[DomainPart]:
    bounds = [low, *_rounded(low, cuts, high), high]
    for start, end in pairwise(bounds):
        beyond = _after(high) if end == high else end  # the last range includes its upper bound
        label = f"{_short(start)} – {_short(end)}"
        if start == -math.inf:
            label = f"below {_short(end)}"
        elif end == math.inf:
            label = f"{_short(start)} or more"
        yield DomainPart(label, partial(_between, start, beyond))


def _rounded(low: float, cuts: Sequence[float], high: float) -> list[float]:
    """Round the cuts to the fewest digits, 2 to 17, that keep all bounds distinct. Empty if 17 digits do not."""
    for digits in range(2, 18):
        rounded = [float(f"{cut:.{digits}g}") for cut in cuts]
        bounds = [low, *rounded, high]
        if all(one < other for one, other in pairwise(bounds)):
            return rounded
    return []


def _short(bound: float) -> str:
    """Format a bound exactly and briefly: ``5`` for 5.0."""
    return str(int(bound)) if float(bound).is_integer() and abs(bound) < 1e6 else repr(bound)


def _between(start: float, end: float, value: Json) -> bool:
    assert isinstance(value, int | float)
    return start <= value < end
