"""Prior beliefs: probability distributions over the values of an axis, from a study's author."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log

SPREAD = 0.25
"""The standard deviation of a belief about a number, as a share of the axis's range."""

WEIGHED = 10_000
"""An integer axis with more values than this is treated as continuous, and drawn values are rounded. On a smaller axis,
each integer gets a probability of its own."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A probability distribution over the values of an axis, with its maximum at the value ``believed``.

    ``domain``: the axis's domain, which contains ``believed``. For a choice, half of the probability is on
    ``believed``, and the other half is uniform over all values. For a number, the density is normal around ``believed``
    and truncated at the ends of the axis. Its standard deviation is ``SPREAD`` times the axis's range. For a ``log``
    axis, the density is over the logarithm.
    """

    domain: Domain
    believed: Json

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a random value."""
        match self.domain:
            case Choice(values):
                return self.believed if generator.random() < 0.5 else values[int(generator.integers(len(values)))]
            case Integer(low, high) if high - low < WEIGHED:
                return int(generator.choice(np.arange(low, high + 1), p=self._shares(low, high)))
            case _:
                below, above = self._cut()
                drawn = self._normal().inv_cdf(below + (above - below) * float(generator.random()))
                return self._number(min(max(drawn, 0.0), 1.0))

    def support(self, value: Json) -> float:
        """Return the log of the density at ``value`` relative to a uniform draw. It is above 0 near ``believed``."""
        match self.domain:
            case Choice(values):
                is_believed = canonical_json(value) == canonical_json(self.believed)
                return math.log((0.5 * is_believed + 0.5 / len(values)) * len(values))
            case Integer(low, high) if high - low < WEIGHED:
                assert isinstance(value, int)
                shares = self._shares(low, high)
                return math.log(shares[value - low] * len(shares))
            case _:
                below, above = self._cut()
                return math.log(self._normal().pdf(self._place(value)) / (above - below))

    def _normal(self) -> NormalDist:
        """Return the normal density before truncation, over positions on the axis (0 to 1)."""
        return NormalDist(self._place(self.believed), SPREAD)

    def _cut(self) -> tuple[float, float]:
        """Return two probabilities of the normal density: below the lower end of the axis, and below the upper end."""
        normal = self._normal()
        return normal.cdf(0.0), normal.cdf(1.0)

    def _shares(self, low: int, high: int) -> list[float]:
        """Return the probabilities of the integers from ``low`` to ``high``, in ascending order."""
        normal = self._normal()
        densities = [normal.pdf(self._place(value)) for value in range(low, high + 1)]
        return [density / sum(densities) for density in densities]

    def _place(self, value: Json) -> float:
        """Return the position of a number on its axis: 0 at the lower end, 1 at the upper end."""
        assert isinstance(value, int | float)
        assert not isinstance(self.domain, Choice)
        low, high = self.domain.low, self.domain.high
        if isinstance(self.domain, Log):
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)

    def _number(self, place: float) -> float:
        """Return the number at a position on the axis (0 to 1), clipped to the axis's bounds."""
        assert not isinstance(self.domain, Choice)
        low, high = self.domain.low, self.domain.high
        number = low * (high / low) ** place if isinstance(self.domain, Log) else low + (high - low) * place
        number = round(number) if isinstance(self.domain, Integer) else number
        return min(max(number, low), high)
