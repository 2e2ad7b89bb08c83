"""Domains of axes. A domain has the values of an axis, without the axis's path in a config."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from pydantic import JsonValue

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json

Json = JsonValue
"""A value of an axis: any JSON value, including mappings and lists."""

INSIDE = math.exp(-1)
"""The position of a fixed value inside a continuous axis, as a share of its range. It is irrational. So between integer
bounds, the value is no integer, and hardly any condition names it.
"""

STEP = 0.1
"""The distance to a neighbour on a continuous axis, as a share of its range."""


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


@dataclass(frozen=True, slots=True)
class Choice:
    """A finite list of ``values``, in the order given. ``names``: a name for each value, or empty."""

    values: tuple[Json, ...]
    names: tuple[str, ...] = ()
    finite = True
    _places: dict[str, int] = field(init=False, repr=False, compare=False)
    """The index of each value, by its JSON text."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {canonical_json(value): at for at, value in enumerate(self.values)})

    @property
    def first(self) -> Json:
        """The first value."""
        return self.values[0]

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is one of the values, compared as JSON texts: ``1`` equals neither ``1.0`` nor ``true``."""
        return canonical_json(value) in self._places

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a value uniformly."""
        return self.values[int(generator.integers(len(self.values)))]

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return every other value."""
        own = self._places.get(canonical_json(value))
        return tuple(other for at, other in enumerate(self.values) if at != own)

    def name(self, value: Json) -> str | None:
        """Return the name of ``value``; None if the values have no names."""
        at = self._places.get(canonical_json(value))
        return None if at is None or not self.names else self.names[at]

    def __str__(self) -> str:
        texts = [own if isinstance(own, str) else canonical_json(own) for own in self.values]
        if not self.names:
            return ", ".join(texts)
        return ", ".join(f"{name} ({text})" for name, text in zip(self.names, texts, strict=True))


@dataclass(frozen=True, slots=True)
class Integer:
    """The integers from ``low`` to ``high``, both included."""

    low: int
    high: int
    finite = True

    @property
    def first(self) -> Json:
        """The lowest integer."""
        return self.low

    @property
    def values(self) -> range:
        """The integers, ascending."""
        return range(self.low, self.high + 1)

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is an integer (not a float, not a bool) within the bounds."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw an integer uniformly."""
        return int(generator.integers(self.low, self.high, endpoint=True))

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the integers next to ``value`` that are within the bounds."""
        assert isinstance(value, int)
        return tuple(other for other in (value - 1, value + 1) if self.low <= other <= self.high)

    def __str__(self) -> str:
        return f"integers from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class _Range:
    """The base class of continuous ranges of numbers, which include both ends."""

    low: float
    high: float
    finite = False

    @property
    def first(self) -> Json:
        """The lowest number."""
        return self.low

    def contains(self, value: Json) -> bool:
        """Whether ``value`` is a number within the bounds."""
        return _is_number(value) and self.low <= value <= self.high  # type: ignore[operator]

    def _clipped(self, value: float) -> float:
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Real(_Range):
    """The numbers from ``low`` to ``high``, both included."""

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a number uniformly from the range."""
        return self._clipped(self.low + (self.high - self.low) * float(generator.random()))

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the numbers a tenth of the range below and above, clipped to the bounds. ``value`` is left out."""
        assert isinstance(value, int | float)
        step = STEP * (self.high - self.low)
        return tuple(other for other in (self._clipped(value - step), self._clipped(value + step)) if other != value)

    def __str__(self) -> str:
        return f"numbers from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Log(_Range):
    """The numbers from ``low`` > 0 to ``high``, both included, on a logarithmic scale."""

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a number whose logarithm is uniform over the range."""
        return self._at(math.log(self.low) + self._width * float(generator.random()))

    def neighbours(self, value: Json) -> tuple[Json, ...]:
        """Return the neighbours of ``value`` as ``Real`` does, but with a tenth of the logarithm's range."""
        assert isinstance(value, int | float)
        step = STEP * self._width
        return tuple(other for other in (self._at(math.log(value) + sign * step) for sign in (-1, 1)) if other != value)

    @property
    def _width(self) -> float:
        return math.log(self.high) - math.log(self.low)

    def _at(self, logarithm: float) -> float:
        # exp(log(x)) may differ from x by rounding; values must stay within the bounds.
        return self._clipped(math.exp(logarithm))

    def __str__(self) -> str:
        return f"numbers from {self.low} to {self.high}, by their logarithm"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Domain = Choice | Integer | Real | Log
