"""Divides a domain into the parts that tables show: its single values, or ranges of numbers if there are many."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import assert_never

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real
from skipstack.spaces.short_names import value_text

RANGES = 3
"""The number of ranges into which a continuous domain, or a domain of more than ``LISTED`` integers, is divided."""

LISTED = 8
"""The maximum number of integers of a domain that tables show one by one."""


@dataclass(frozen=True, slots=True)
class DomainPart:
    """A part of a domain; each value of the domain belongs to exactly one part. ``label``: its label in tables.
    ``holds``: returns whether a value belongs to the part.
    """

    label: str
    holds: Callable[[Json], bool]


def parts(domain: Domain) -> tuple[DomainPart, ...]:
    """Divide a domain into its parts, in the order of the domain.

    The ranges of a domain have equal widths, up to rounding. In a ``Log`` domain, the widths are those of the
    logarithm. Bounds between ranges are rounded before values are compared with them, so each label states its range
    exactly. A range of integers includes both bounds. Other ranges include the lower bound but not the upper one,
    except for the last range, which includes both.
    """
    match domain:
        case Choice():
            return tuple(_single(value, domain.name(value)) for value in domain.values)
        case Integer() if len(domain.values) <= LISTED:
            return tuple(_single(value) for value in domain.values)
        case Integer():
            starts = [domain.low + len(domain.values) * k // RANGES for k in range(RANGES)]
            ends = [*(start - 1 for start in starts[1:]), domain.high]
            return tuple(
                DomainPart(f"{start} – {end}", partial(_between, start, end + 1))
                for start, end in zip(starts, ends, strict=True)
            )
        case Real():
            step = (domain.high - domain.low) / RANGES
            return tuple(_ranges(domain.low, [domain.low + step * k for k in range(1, RANGES)], domain.high))
        case Log():
            ratio = math.log(domain.high / domain.low) / RANGES
            cuts = [domain.low * math.exp(ratio * k) for k in range(1, RANGES)]
            return tuple(_ranges(domain.low, cuts, domain.high))
        case _:
            assert_never(domain)


def _single(value: Json, name: str | None = None) -> DomainPart:
    text = canonical_json(value)  # with ==, the values 1, 1.0 and true would be equal
    return DomainPart(name or value_text(value), lambda other: canonical_json(other) == text)


def _ranges(low: float, cuts: Sequence[float], high: float) -> Iterator[DomainPart]:
    bounds = [low, *_rounded(low, cuts, high), high]
    for start, end in pairwise(bounds):
        # The last range includes its upper bound, so it ends at the next larger float.
        beyond = math.nextafter(high, math.inf) if end == high else end
        yield DomainPart(f"{_short(start)} – {_short(end)}", partial(_between, start, beyond))


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
