"""A confirmed score, and the sentence in which a model card states it."""

from dataclasses import dataclass

from skipstack.data.basis.printable import visible
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.differences import Split


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmed:
    """A confirmed score of a config on a split of ``corpus``, with a 95 % interval.

    ``value``: the score (``data.tasks.measure``), a mean over ``seeds``. ``half``: half the width of its interval.
    ``over``: as in ``Estimate``. ``split``: dev for a function that reports no test scores.
    """

    corpus: str
    value: float
    half: float
    seeds: int
    over: str = ""
    split: Split = "test"

    def in_words(self, measure: Measure, what: str, on: str, form: str) -> str:
        """Return a sentence for a model card.

        ``what``: the model with the score. ``on``: the data that it was measured on. ``form``: the format of the
        numbers.
        """
        value, half = measure.factor * self.value, abs(measure.factor) * self.half
        return (
            f"Confirmed for {what}, on {on}: {visible(measure.label)} {value:{form}} ± {half:{form}}, the mean of "
            f"{self.over or f'{self.seeds} fresh seeds'} and half of an interval at 95 %."
        )
