"""The parts of a domain that a table tells apart: its values one by one, or ranges where there are too many."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import assert_never

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real

RANGES = 3
"""Ranges that a continuous or long axis is shown in."""

LISTED = 8
"""Integers of an axis, at most, that are shown one by one."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some values of a domain, and how a table names them. The parts of a domain hold each value once."""

    label: str
    holds: Callable[[Json], bool]


def parts(domain: Domain) -> tuple[Part, ...]:
    """The parts of a domain in its order.

    Ranges are equally wide (``Log``: by the logarithm), up to the rounding of the bounds within, which
    are rounded first and compared then: a label says exactly what its range holds. Each range of
    numbers holds its lower bound and not its upper one, except the last, which holds both.
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
                Part(f"{start} – {end}", partial(_between, start, end + 1))
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


def value_text(value: Json) -> str:
    """A value as a table writes it: text as it is where it fits a line, everything else as JSON, in full."""
    return value if isinstance(value, str) and value.isprintable() else canonical_json(value)


def short_text(value: Json) -> str:
    """The same where there is little room: a number with a point in four digits."""
    return f"{value:.4g}" if isinstance(value, float) else value_text(value)


def short_name(domain: Domain, value: Json) -> str:
    """A value of an axis where there is little room: its name, if it has one."""
    named = domain.name(value) if isinstance(domain, Choice) else None
    return named or short_text(value)


def _single(value: Json, name: str | None = None) -> Part:
    text = canonical_json(value)  # with ==, the values 1, 1.0 and true would be one
    return Part(name or value_text(value), lambda other: canonical_json(other) == text)


def _ranges(low: float, cuts: Sequence[float], high: float) -> Iterator[Part]:
    bounds = [low, *_rounded(low, cuts, high), high]
    for start, end in pairwise(bounds):
        # The next number after the highest: the last range holds its upper bound.
        beyond = math.nextafter(high, math.inf) if end == high else end
        yield Part(f"{_short(start)} – {_short(end)}", partial(_between, start, beyond))


def _rounded(low: float, cuts: Sequence[float], high: float) -> list[float]:
    """The cuts with as few digits (two at least) as keep them apart; none where ``low`` and ``high`` are too close."""
    for digits in range(2, 18):
        rounded = [float(f"{cut:.{digits}g}") for cut in cuts]
        bounds = [low, *rounded, high]
        if all(one < other for one, other in pairwise(bounds)):
            return rounded
    return []


def _short(bound: float) -> str:
    """The shortest text of a number: ``5`` for 5.0."""
    return str(int(bound)) if float(bound).is_integer() and abs(bound) < 1e6 else repr(bound)


def _between(start: float, end: float, value: Json) -> bool:
    assert isinstance(value, int | float)
    return start <= value < end
