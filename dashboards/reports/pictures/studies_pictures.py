"""The charts that compare studies: rows confirmed in more than one of them, and their explorations."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.pictures.confirmed_pictures import gains_of
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.differences import Split

if TYPE_CHECKING:
    import pandas as pd


def studies_charts(
    records: Sequence[Numbers], budgets: "pd.DataFrame", measure: Measure, split: Split
) -> tuple[Drawn, ...]:
    """The charts that compare several studies, drawn on demand.

    ``records``: the numbers of the confirmed rows. ``budgets``: for each study and several numbers of trials, the
    expected best score of that many trials, and the epochs that they take. ``measure``: the measure of all studies.
    ``split``: the split on which the rows are compared.
    """
    return (_confirmed(records, measure, split), _explored(budgets, measure))


def _confirmed(records: Sequence[Numbers], measure: Measure, split: Split) -> Drawn:
    """The forest plot of confirmed rows. Below each config are the studies that have it, except the reference."""
    from skipstack.dashboards.charts.effects import effects

    firsts = {str(numbers["row"]) for numbers in records if numbers["is_reference"]}
    first = next(iter(firsts)) if len(firsts) == 1 else "the first study that has the config"
    frame = gains_of(records)
    told = f"Gains over {first}, config by config"
    drawn = partial(effects, frame, measure, told=told)
    reason = "nothing is confirmed in more than one of the studies"
    return Drawn(f"Confirmed on {split}", drawn if len(frame) else reason)


def _explored(budgets: "pd.DataFrame", measure: Measure) -> Drawn:
    from skipstack.dashboards.charts.budgets import expected_best

    own = budgets.assign(expected_best=measure.score(1.0) * budgets["expected_best"])
    drawn = partial(expected_best, own, measure, cost="epochs")
    return Drawn("What each explored", drawn if len(own) else "no trial has a score")
