"""A confirmed score, as a model card states it."""

from dataclasses import dataclass

from skipstack.data.basis.printable import visible
from skipstack.data.tasks.measure import Measure


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmed:
    """A confirmed score of a config on the test split of ``corpus``: ``value`` +- ``half``, a 95 % interval.

    Both are scores (``data.tasks.measure``), means over ``seeds``.
    """

    corpus: str
    value: float
    half: float
    seeds: int

    def in_words(self, measure: Measure, what: str, on: str, form: str) -> str:
        """A sentence for a model card. ``what``: the model with the score; ``on``: the data it is for; ``form``: the
        format of numbers.
        """
        value, half = measure.factor * self.value, abs(measure.factor) * self.half
        return (
            f"Confirmed for {what}, on {on}: {visible(measure.label)} {value:{form}} ± {half:{form}}, the mean of "
            f"{self.seeds} fresh seeds and half of an interval at 95 %."
        )
