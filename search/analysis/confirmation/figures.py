"""Collects the confirmed scores of a config for its model card."""

from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.confirmed import Confirmed
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.spaces.subject import Subject


def confirmed_figures(record: StudyRecord, config: Subject) -> list[Confirmed]:
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
