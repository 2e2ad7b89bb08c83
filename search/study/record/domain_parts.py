"""Divides a domain into the parts that tables show: its single values, or ranges of numbers if there are many."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Json, Range

RANGES = 3
"""The number of ranges into which a continuous domain, or a range of more than ``LISTED`` values, is divided."""

LISTED = 8
"""The maximum number of values of a range with a step that tables show one by one."""


@dataclass(frozen=True, slots=True)
class DomainPart:
    """A part of a domain; each value of the domain belongs to exactly one part. ``label``: its label in tables.
    ``holds``: returns whether a value belongs to the part.
    """

    label: str
    holds: Callable[[Json], bool]


def parts(domain: Domain) -> tuple[DomainPart, ...]:
    """Divide a domain into its parts, in the order of the domain.

    The ranges of a domain have equal widths in coordinates (``Domain.coordinate``), up to rounding: in the logarithm,
    for a domain by logarithm. Bounds between ranges are rounded before values are compared with them, so each label
    states its range exactly. Ranges of a domain with a step are named by their first and last value. Other ranges
    include the lower bound but not the upper one, except for the last range, which includes both.
    """
    if isinstance(domain, Choice) or (domain.finite and len(domain.values) <= LISTED):
        return tuple(_single(value, domain.name(value)) for value in domain.values)
    cuts = [domain.at(k / RANGES) for k in range(1, RANGES)]
    if not domain.finite:
        low, high = domain.ends if isinstance(domain, Range) else (-math.inf, math.inf)
        return tuple(_ranges(low, cuts, high))
    count = len(domain.values)
    starts = [0, *(count * k // RANGES if domain.steps else domain.index(cut) for k, cut in enumerate(cuts, start=1))]
    ends = [*(start - 1 for start in starts[1:]), count - 1]
    return tuple(_listed(domain.values[start], domain.values[end]) for start, end in zip(starts, ends, strict=True))


def value_text(value: Json) -> str:
    """Format a value for a table: a printable text as it is, any other value as its complete JSON."""
    return value if isinstance(value, str) and value.isprintable() else canonical_json(value)


def short_text(value: Json) -> str:
    """Format a value as ``value_text`` does, but floats with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else value_text(value)


def short_name(domain: Domain, value: Json) -> str:
    """Return a short label for a value of an axis: its name in the ``domain``, or its ``short_text`` if unnamed."""
    return domain.name(value) or short_text(value)


def _single(value: Json, name: str | None = None) -> DomainPart:
    text = canonical_json(value)  # with ==, the values 1, 1.0 and true would be equal
    return DomainPart(name or value_text(value), lambda other: canonical_json(other) == text)


def _listed(first: Json, last: Json) -> DomainPart:
    return DomainPart(f"{_short(first)} – {_short(last)}", lambda value: first <= value <= last)


def _ranges(low: float, cuts: Sequence[float], high: float) -> Iterator[DomainPart]:
    bounds = [low, *_rounded(low, cuts, high), high]
    for start, end in pairwise(bounds):
        # The last range includes its upper bound, so it ends at the next larger float.
        beyond = math.nextafter(high, math.inf) if end == high else end
        label = f"{_short(start)} – {_short(end)}"
        if start == -math.inf:
            label = f"below {_short(end)}"
        elif end == math.inf:
            label = f"{_short(start)} or more"
        yield DomainPart(label, partial(_between, start, beyond))


def _rounded(low: float, cuts: Sequence[float], high: float) -> list[float]:
    """Round the cuts to the fewest digits, at least two, that keep all bounds distinct. Empty if no digits do."""
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
