"""The confirmed scores of a config, and the sentence in which a model card states each."""

from dataclasses import dataclass

from skipstack.data.basis.printable import visible
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.spaces.subject import Subject


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


def confirmed_scores(record: StudyRecord, config: Subject) -> list[Confirmed]:
    """Return the scores of ``config`` in the study's ablations: those with an interval, without duplicates.

    They are of the split on which the ablation compares its rows: test, or dev for a function without test scores.
    The study's own scores do not count: only ablations use seeds that did not influence the choice of the config.
    """
    found = {}
    for number, ablation in whole_ablations(record).items():
        table = ablated(ablation)
        for row in table.rows:
            dev, test = row.own_scores
            score = dev if table.split == "dev" else test
            if row.own is None or score is None or score.half is None:
                continue
            if ablation.trials[row.own].config.identity == config.identity:
                found[number, row.own] = Confirmed(
                    corpus=row.corpus or table.corpus,
                    value=score.value,
                    half=score.half,
                    seeds=score.seeds,
                    over=score.over,
                    split=table.split,
                )
    return list(found.values())
