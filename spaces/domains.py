"""Domains: the sets of values that axes may have, such as choices, ranges and normal distributions."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from statistics import NormalDist
from typing import Any, ClassVar, Final, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json

Json = JsonValue
"""A value of an axis: any JSON value, including mappings and lists."""

Numbers = NDArray[np.float64]

INSIDE: Final = math.exp(-1)
"""The position of ``Domain.inside``, the value that represents a continuous range, as a share of the range. It is
irrational: between integer bounds, the value is no integer, so hardly any condition names it.
"""

STEP: Final = 0.1
"""The distance to a neighbour on a continuous axis, as a share of its range."""

REACH: Final = 4.0
"""Proposers that model the space propose numbers of a normal axis up to this many standard deviations from the mean.
Random draws and users may go further; one draw in 16,000 does."""

NEAR: Final = 0.25
"""The distance to a neighbour on a normal axis, in standard deviations. A tenth of all draws lie between the mean and
its upper neighbour."""

ROUNDING: Final = 1e-8
"""Numbers that differ by at most this share of a step count as the same value, up to rounding errors (as in Optuna)."""


def json_of(value: Any) -> Any:
    """Return a value that was given in Python as a JSON value: NumPy's numbers as Python's, arrays and tuples as lists,
    and members of ``IntEnum`` and ``StrEnum`` as the numbers and texts that they equal.

    Raises UserError for a member of another ``Enum``, which equals no JSON value. Other values stay as they are.
    """
    match value:
        case np.generic() | np.ndarray():
            return value.tolist()
        case Enum() if isinstance(value, int | float | str):
            return value.value
        case Enum():
            raise UserError(f"got {value} (allowed: JSON values, as {value}.value or {value}.name)")
        case Mapping():
            return {key: json_of(item) for key, item in value.items()}
        case list() | tuple():
            return [json_of(item) for item in value]
        case _:
            return value


class Domain(ABC):
    """The values that an axis may have. Each kind of domain, such as a choice or a range, is a subclass.

    Proposers and analyses work with coordinates in place of values. If values have no order, the coordinate of a value
    is its index. Otherwise it is a number from 0 for the lowest value to 1 for the highest, and random draws are
    uniform in it.
    """

    __slots__ = ()

    ordered: ClassVar[bool] = True
    """Whether the values have an order, so that neighbours are expected to give similar scores."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether the values can be listed."""

    @property
    def log(self) -> bool:
        """Whether random draws are uniform, or normal, in the logarithm."""
        return False

    @property
    @abstractmethod
    def values(self) -> Sequence[Json]:
        """The values of a finite domain, in order."""

    @property
    @abstractmethod
    def ends(self) -> Sequence[Json]:
        """Every value of a choice, or the lowest and the highest number: the values to try in search of extremes."""

    @property
    @abstractmethod
    def middle(self) -> Json:
        """The middle of a range or of ordered values, the median of a normal domain, or the first value of a choice."""

    @property
    def inside(self) -> Json:
        """A value that represents all values of an infinite domain, since hardly any condition names it."""
        return self.middle

    @property
    def first(self) -> Json:
        """The first value of a choice, the lowest number of a range, or the median of a normal domain."""
        return self.ends[0]

    @property
    def steps(self) -> int:
        """The number of steps from coordinate 0 to 1, if values have an order and equal distances; otherwise 0."""
        return 0

    @abstractmethod
    def contains(self, value: Json) -> bool:
        """Whether ``value`` is one of the values."""

    @abstractmethod
    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a random value."""

    @abstractmethod
    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the values next to ``value``; every other value if they have no order."""

    @abstractmethod
    def coordinate(self, value: Json) -> float:
        """Return the coordinate of ``value``."""

    @abstractmethod
    def at(self, coordinate: float) -> Json:
        """Return the value nearest to a coordinate."""

    def index(self, value: Json) -> int:
        """Return the index of a value of a finite domain."""
        return self.values.index(value)

    def distance(self, one: Json, other: Json) -> float:
        """Return the distance of two values, from 0 to 1."""
        return abs(self.coordinate(one) - self.coordinate(other))

    def weight(self, value: Json) -> float:
        """Return the probability of a value of a finite domain, relative to the mean of all values' probabilities."""
        return 1.0

    def name(self, value: Json) -> str | None:
        """Return the name of ``value``; None if the values have no names."""
        return None

    def typed(self, value: Json) -> Json:
        """Return ``value`` in the type of the domain's values. In a domain of floats, a number becomes a float, and is
        ``rounded``.
        """
        return value

    def rounded(self, value: Json) -> Json:
        """Return the value that ``value`` equals up to rounding errors (``ROUNDING``); ``value`` if there is none."""
        return value


@dataclass(frozen=True, slots=True)
class Choice(Domain):
    """A finite list of ``values``, in the order given. ``names``: a name for each value, or empty."""

    values: tuple[Json, ...] = field()
    names: tuple[str, ...] = ()
    _indices: dict[str, int] = field(init=False, repr=False, compare=False)
    """The index of each value, by its JSON text."""

    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_indices", {canonical_json(value): at for at, value in enumerate(self.values)})

    @property
    def finite(self) -> bool:
        """True."""
        return True

    @property
    def ends(self) -> Sequence[Json]:
        """Every value."""
        return self.values

    @property
    def middle(self) -> Json:
        """The first value."""
        return self.values[0]

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is one of the values, compared as JSON texts: ``1`` equals neither ``1.0`` nor ``true``."""
        return canonical_json(value) in self._indices

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a value uniformly."""
        return self.values[int(generator.integers(len(self.values)))]

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return every other value."""
        own = self._indices.get(canonical_json(value))
        return tuple(other for at, other in enumerate(self.values) if at != own)

    def index(self, value: Json) -> int:
        """Return the index of ``value``."""
        return self._indices[canonical_json(value)]

    def coordinate(self, value: Json) -> float:
        """Return the index of ``value``."""
        return float(self.index(value))

    def at(self, coordinate: float) -> Json:
        """Return the value whose index is the integer part of ``coordinate``."""
        return self.values[int(coordinate)]

    def distance(self, one: Json, other: Json) -> float:
        """Return 0 for equal values, and 1 for others."""
        return float(canonical_json(one) != canonical_json(other))

    def name(self, value: Json) -> str | None:
        """Return the name of ``value``; None if the values have no names."""
        at = self._indices.get(canonical_json(value))
        return None if at is None or not self.names else self.names[at]

    def __str__(self) -> str:
        texts = self._texts()
        if not self.names:
            return ", ".join(texts)
        return ", ".join(f"{name} ({text})" for name, text in zip(self.names, texts, strict=True))

    def _texts(self) -> list[str]:
        return [own if isinstance(own, str) else canonical_json(own) for own in self.values]


@dataclass(frozen=True, slots=True)
class Ordinal(Choice):
    """A choice whose values are in ascending order. The distances of neighbouring values count as equal."""

    ordered: ClassVar[bool] = True

    @property
    def middle(self) -> Json:
        """The middle value; the lower one of two."""
        return self.values[(len(self.values) - 1) // 2]

    @property
    def steps(self) -> int:
        """The number of values less one."""
        return len(self.values) - 1

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the values before and after ``value``; a single one at either end."""
        own = self.index(value)
        return tuple(self.values[at] for at in (own - 1, own + 1) if 0 <= at < len(self.values))

    def coordinate(self, value: Json) -> float:
        """Return the index of ``value`` divided by the highest index."""
        return self.index(value) / (self.steps or 1)

    def at(self, coordinate: float) -> Json:
        """Return the value nearest to a coordinate."""
        return self.values[round(coordinate * self.steps)]

    distance = Domain.distance

    def __str__(self) -> str:
        return " < ".join(self._texts())


@dataclass(frozen=True, slots=True)
class Multiples(Sequence[float]):
    """The numbers low + count * step, computed when they are read, in decimal arithmetic: 0.1 + 2 * 0.1 is 0.3."""

    low: Decimal
    step: Decimal
    counts: range

    @classmethod
    def between(cls, low: float, high: float, step: float) -> "Multiples":
        """Return low, low + step, low + 2 step, ... up to ``high``."""
        start, each = Decimal(repr(low)), Decimal(repr(step))
        return cls(start, each, range(int((Decimal(repr(high)) - start) // each) + 1))

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, at: int) -> float: ...

    @overload
    def __getitem__(self, at: slice) -> "Multiples": ...

    def __getitem__(self, at: int | slice) -> "float | Multiples":
        if isinstance(at, slice):
            return Multiples(self.low, self.step, self.counts[at])
        return float(self.low + self.counts[at] * self.step)


class Numeric(Domain):
    """Base class of domains of numbers."""

    __slots__ = ()

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number."""

    @abstractmethod
    def at(self, coordinate: float) -> float:
        """Return the number nearest to a coordinate."""

    def typed(self, value: Json) -> Json:
        """Return a number as a float, ``rounded`` to a value of the domain; return any other value unchanged."""
        return self.rounded(float(value)) if is_number(value) else value


@dataclass(frozen=True, slots=True)
class Range(Numeric):
    """Base class of ranges of numbers, from ``low`` to ``high``, both included.

    With a ``step``, the values are ``low``, ``low`` + ``step``, ... up to ``high``, which is one of them. A range is
    logarithmic if random draws are uniform in the logarithm. A value of a logarithmic range with a step has the
    probability of the numbers from half a step below to half a step above it (as in Optuna's ``suggest_int``).
    """

    low: float
    high: float
    step: float = 0
    _values: Sequence[float] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        if self.step:
            object.__setattr__(self, "_values", self._listed())

    def _listed(self) -> Sequence[float]:
        return Multiples.between(self.low, self.high, self.step)

    @property
    def finite(self) -> bool:
        """Whether the range has a step."""
        return bool(self.step)

    @property
    def values(self) -> Sequence[float]:
        """The numbers of a range with a step, ascending."""
        assert self.step, "a continuous range has no list of values"
        return self._values

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number."""
        return self.low, self.high

    @property
    def middle(self) -> float:
        """The middle of the range; in a logarithmic range, the geometric mean of its ends. With a step, a value of the
        range: the nearest one or, if two are in the middle, the lower one.
        """
        if self.log:
            return self.nearest(math.sqrt(self.low) * math.sqrt(self.high))
        return self._values[self.steps // 2] if self.step else self.low + (self.high - self.low) / 2

    @property
    def inside(self) -> float:
        """A number within the range, at the share ``INSIDE`` of it."""
        return self.low + INSIDE * (self.high - self.low)

    @property
    def steps(self) -> int:
        """The number of steps from the lowest to the highest value; 0 for a logarithmic range, and without a step."""
        return len(self._values) - 1 if self.step and not self.is_uneven else 0

    def index(self, value: Json) -> int:
        """Return the index of the value that is nearest to a number, in a range with a step."""
        assert is_number(value)
        return min(max(round((value - self.low) / self.step), 0), len(self._values) - 1)

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is a number within the bounds and, with a step, one of the values."""
        within = is_number(value) and self.low <= value <= self.high
        return within and (not self.step or self._values[self.index(value)] == value)

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a number that is uniform in the range, or in its logarithm."""
        if self.steps:
            return self._values[int(generator.integers(len(self._values)))]
        low, high = self.span
        return self.at(low + (high - low) * float(generator.random()))

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the numbers a tenth of the range below and above, clipped to the bounds. ``value`` is left out.

        In a logarithmic range, the distance is a tenth of the logarithms' range. With a step, neighbours are values of
        the range, and at least one step away. Integers, unless logarithmic, have the next value on each side.
        """
        return tuple(other for other in (self._moved(value, -1), self._moved(value, 1)) if other != value)

    def coordinate(self, value: Json) -> float:
        """Return the position of a number, or of its logarithm, as a share of the range."""
        assert is_number(value)
        if self.log:
            return float(np.log(value / self.low)) / (math.log(self.high / self.low) or 1.0)
        return (value - self.low) / (self.high - self.low or 1.0)

    def at(self, coordinate: float) -> float:
        """Return the number at a coordinate, clipped to the bounds; with a step, the value nearest to it."""
        if self.steps:
            return self._values[min(max(round(coordinate * self.steps), 0), self.steps)]
        if self.log:
            return self.nearest(self.low * math.exp(coordinate * math.log(self.high / self.low)))
        return self.nearest(self.low + coordinate * (self.high - self.low))

    def distance(self, one: Json, other: Json) -> float:
        """Return the difference of two numbers, or of their logarithms, as a share of the range."""
        assert is_number(one)
        assert is_number(other)
        if self.log:
            return float(abs(np.log(one / other) / np.log(self.high / self.low)))
        return float(abs(one - other) / (self.high - self.low))

    @property
    def is_uneven(self) -> bool:
        """Whether the range is logarithmic with a step: its values can be listed, and their logarithms have unequal
        distances.
        """
        return bool(self.step and self.log)

    @property
    def span(self) -> tuple[float, float]:
        """The coordinates between which random draws are uniform: 0 and 1 or, in a logarithmic range with a step, the
        coordinates of the numbers half a step beyond the ends.
        """
        if not self.is_uneven:
            return 0.0, 1.0
        return self.coordinate(self.low - self.step / 2), self.coordinate(self.high + self.step / 2)

    def cells(self, coordinates: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return, for each coordinate, the value nearest to it in a logarithmic range with a step.

        Each value is given as three coordinates: of the number half a step below it, of the value itself, and of the
        number half a step above it.
        """
        width = math.log(self.high / self.low)
        indices = np.rint((self.low * np.exp(coordinates * width) - self.low) / self.step)
        numbers = self.low + np.clip(indices, 0, len(self._values) - 1) * self.step
        below, at, above = (np.log((numbers + away * self.step) / self.low) / width for away in (-0.5, 0.0, 0.5))
        return below, at, above

    def weight(self, value: Json) -> float:
        """Return the probability of a value, relative to the mean probability: above 1 for low values of a logarithmic
        range.
        """
        if not self.is_uneven:
            return 1.0
        assert is_number(value)
        low, high = self.span
        share = self.coordinate(value + self.step / 2) - self.coordinate(value - self.step / 2)
        return share / (high - low) * len(self._values)

    def rounded(self, value: Json) -> Json:
        """Return the value that differs from ``value`` by at most the share ``ROUNDING`` of a step; ``value`` if there
        is none.
        """
        if not self.step or not is_number(value) or not self.low - self.step < value < self.high + self.step:
            return value
        nearest = self._values[self.index(value)]
        return nearest if abs(nearest - value) <= ROUNDING * self.step else value

    def nearest(self, number: float) -> float:
        """Return a number clipped to the bounds; with a step, the value nearest to it."""
        return self._values[self.index(number)] if self.step else min(max(number, self.low), self.high)

    def _moved(self, value: Json, sign: int) -> float:
        """Return the neighbour of ``value`` below (``sign`` -1) or above (1); ``value`` itself at a bound."""
        assert is_number(value)
        if self.log:
            away = STEP * (math.log(self.high) - math.log(self.low))
            number = math.exp(math.log(value) + sign * away)
        else:
            number = value + sign * (STEP * (self.high - self.low))
        if self.step and abs(number - value) < self.step:
            number = value + sign * self.step
        return self.nearest(number)  # exp(log(x)) may differ from x by rounding; values must stay within the bounds

    def __str__(self) -> str:
        steps = f" in steps of {self.step}" if self.step else ""
        return f"numbers from {self.low} to {self.high}{steps}{', by their logarithm' if self.log else ''}"


@dataclass(frozen=True, slots=True)
class Real(Range):
    """The numbers from ``low`` to ``high``. Random draws are uniform."""


@dataclass(frozen=True, slots=True)
class Log(Range):
    """The numbers from ``low`` > 0 to ``high``. Random draws are uniform in the logarithm."""

    @property
    def log(self) -> bool:
        """True."""
        return True

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a number that is uniform in the logarithm."""
        if self.step:
            return Range.sample(self, generator)
        # not ``at``: its last bit may differ, and the draws of old studies must not change
        width = math.log(self.high) - math.log(self.low)
        return self.nearest(math.exp(math.log(self.low) + width * float(generator.random())))


@dataclass(frozen=True, slots=True)
class Integer(Range):
    """The integers from ``low`` to ``high``. Random draws are uniform; with ``log``, uniform in the logarithm."""

    low: int
    high: int
    step: int = 1
    log: bool = False

    def _listed(self) -> range:
        return range(self.low, self.high + 1, self.step)

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is one of the integers (not a float, not a bool)."""
        return isinstance(value, int) and not isinstance(value, bool) and value in self._values

    def typed(self, value: Json) -> Json:
        """Return ``value``."""
        return value

    def _moved(self, value: Json, sign: int) -> float:
        """Return the next value below (``sign`` -1) or above (1); ``value`` itself at a bound. In a logarithmic range,
        return the same as ``Range``.
        """
        assert is_number(value)
        return Range._moved(self, value, sign) if self.log else self.nearest(value + sign * self.step)

    def __str__(self) -> str:
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"integers from {self.low} to {self.high}{steps}{', by their logarithm' if self.log else ''}"


@dataclass(frozen=True, slots=True)
class Normal(Numeric):
    """The domain of all numbers, with a normal distribution of this ``mean`` and standard ``deviation``. With ``log``,
    the domain of all numbers above 0, whose natural logarithm has this distribution.

    The coordinate of a number x is the probability of numbers below it: Phi((x - mean) / deviation) or, with ``log``,
    Phi((ln x - mean) / deviation), where Phi is the standard normal distribution function. Numbers further than
    ``REACH`` deviations from the mean have the coordinate at this distance.
    """

    mean: float
    deviation: float
    log: bool = False

    @property
    def finite(self) -> bool:
        """False."""
        return False

    @property
    def values(self) -> Sequence[float]:
        """Not available: the domain is continuous."""
        raise AssertionError("a continuous domain has no list of values")

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers ``REACH`` standard deviations below and above the mean."""
        return self._number(-REACH), self._number(REACH)

    @property
    def first(self) -> Json:
        """The median."""
        return self.middle

    @property
    def middle(self) -> float:
        """The median: the mean or, with ``log``, its exponential."""
        return self._number(0.0)

    @property
    def inside(self) -> float:
        """The number ``INSIDE`` standard deviations above the mean."""
        return self._number(INSIDE)

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is a number and, with ``log``, above 0."""
        return is_number(value) and math.isfinite(value) and (value > 0 or not self.log)

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a number from the distribution."""
        return self._number(float(generator.standard_normal()))

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the numbers ``NEAR`` standard deviations below and above."""
        return self._number(self._score(value) - NEAR), self._number(self._score(value) + NEAR)

    def coordinate(self, value: Json) -> float:
        """Return the probability of numbers below ``value``, clipped to ``REACH`` deviations from the mean."""
        return NormalDist().cdf(min(max(self._score(value), -REACH), REACH))

    def at(self, coordinate: float) -> float:
        """Return the quantile at the probability ``coordinate``, at most ``REACH`` deviations from the mean."""
        least = NormalDist().cdf(-REACH)
        return self._number(NormalDist().inv_cdf(min(max(coordinate, least), 1 - least)))

    def _score(self, value: Json) -> float:
        """Return the distance of a number, or of its logarithm, from the mean, in standard deviations."""
        assert is_number(value)
        return ((math.log(value) if self.log else value) - self.mean) / self.deviation

    def _number(self, score: float) -> float:
        number = self.mean + score * self.deviation
        return math.exp(number) if self.log else number

    def __str__(self) -> str:
        of = "numbers whose logarithm has" if self.log else "numbers with"
        return f"{of} a normal distribution of mean {self.mean} and standard deviation {self.deviation}"


def is_number(value: Json) -> TypeGuard[int | float]:
    """Whether a value is a float, or an integer that a float can hold, and no bool."""
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    )
