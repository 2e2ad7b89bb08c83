"""Prior beliefs about the good values of an axis: probability distributions around a value that the study names."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Domain, Json, Log, is_number

SPREAD = 0.25
"""The standard deviation of a belief about a number, as a share of the axis's range."""

WEIGHED = 10_000
"""An axis with more values than this is treated as continuous, and drawn values are rounded. On a smaller axis, each
value gets a probability of its own."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A probability distribution over the values of an axis, with its maximum at the value ``believed``.

    ``domain``: the axis's domain, which contains ``believed``. For a choice, half of the probability is on
    ``believed``, and the other half is uniform over all values. For numbers and other values with an order, the density
    is normal around ``believed``, with the standard deviation ``SPREAD``, and truncated at the ends of the axis. It is
    a density over coordinates (``Domain.coordinate``), so over the logarithm for a ``log`` axis.
    """

    domain: Domain
    believed: Json

    def sample(self, generator: np.random.Generator) -> Json:
        """Draw a random value."""
        if not self.domain.ordered:
            return self.believed if generator.random() < 0.5 else self.domain.sample(generator)
        if self._is_weighed:
            return self.domain.values[int(generator.choice(len(self.domain.values), p=self._shares()))]
        below, above = self._cut()
        drawn = self._normal().inv_cdf(below + (above - below) * float(generator.random()))
        return self._at(min(max(drawn, 0.0), 1.0))

    def support(self, value: Json) -> float:
        """Return the log of the belief's density at ``value`` relative to the density of random draws.

        It is above 0 near ``believed``.
        """
        if not self.domain.ordered:
            is_believed, count = canonical_json(value) == canonical_json(self.believed), len(self.domain.values)
            return math.log((0.5 * is_believed + 0.5 / count) * count)
        if self._is_weighed:
            shares = self._shares()
            return math.log(shares[self.domain.index(value)] * len(shares) / self.domain.weight(value))
        below, above = self._cut()
        return math.log(self._normal().pdf(self._coordinate(value)) / (above - below))

    @property
    def _is_weighed(self) -> bool:
        return self.domain.finite and len(self.domain.values) <= WEIGHED

    def _normal(self) -> NormalDist:
        """Return the normal density before truncation, over coordinates (0 to 1)."""
        return NormalDist(self._coordinate(self.believed), SPREAD)

    def _cut(self) -> tuple[float, float]:
        """Return two probabilities of the normal density: below the lower end of the axis, and below the upper end."""
        normal = self._normal()
        return normal.cdf(0.0), normal.cdf(1.0)

    def _shares(self) -> list[float]:
        """Return the probabilities of the values, in order."""
        normal, domain = self._normal(), self.domain
        densities = [normal.pdf(self._coordinate(value)) * domain.weight(value) for value in domain.values]
        total = sum(densities)
        return [density / total for density in densities]

    def _coordinate(self, value: Json) -> float:
        if isinstance(self.domain, Log):  # not ``Log.coordinate``, which may round differently than old studies did
            assert is_number(value)
            return math.log(value / self.domain.low) / math.log(self.domain.high / self.domain.low)
        return self.domain.coordinate(value)

    def _at(self, coordinate: float) -> Json:
        if isinstance(self.domain, Log):  # not ``Log.at``, which may round differently than old studies did
            return self.domain.nearest(self.domain.low * (self.domain.high / self.domain.low) ** coordinate)
        return self.domain.at(coordinate)
