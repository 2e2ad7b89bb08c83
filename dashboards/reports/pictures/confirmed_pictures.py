"""The charts of trials fixed in advance: the gains of confirmed rows with intervals, alone, beside a paper's gains or
study by study, and the scores along numeric axes.

The intervals of gains are corrected for several comparisons, in agreement with the marks.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.trends import trends_of
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    import pandas as pd


def confirmed_charts(heading: str, records: Sequence[Numbers], measure: Measure) -> Iterator[Drawn]:
    """Yield a chart of the rows' gains. With several corpora, a chart of the means comes first, and then a chart for
    each corpus. ``records``: the numbers of the rows.
    """
    from skipstack.dashboards.charts.effects import effects

    *corpora, last = dict.fromkeys(numbers.get("corpus") for numbers in records) or [None]
    for corpus in (last, *corpora):
        own = [numbers for numbers in records if numbers.get("corpus") == corpus]
        where = str(corpus) if corpora else ""
        frame = gains_of([{**numbers, "corpus": None} for numbers in own] if corpora else own)
        drawn = partial(effects, frame, measure, where=where)
        reason = "no row has a gain over another one"
        yield Drawn(f"{heading}: {where}" if where else heading, drawn if len(frame) else reason, wide=not corpora)


def gains_of(records: Sequence[Numbers]) -> "pd.DataFrame":
    """The gains of rows, as a frame for ``dashboards.charts.effects``. Rows without a section get a heading that names
    their reference.
    """
    import pandas as pd

    rows = [
        {
            "axis": _heading(numbers),
            "value": str(numbers["row"]),
            "effect": numbers["gain"],
            "low": numbers["gain_low"],
            "high": numbers["gain_high"],
            "marked": bool(numbers["marked"]),
        }
        for numbers in records
        if numbers["gain"] is not None and not numbers["is_reference"]
    ]
    return pd.DataFrame(rows)


def compared_chart(records: Sequence[Numbers], measure: Measure, split: Split) -> Drawn:
    """The chart of the paper's gains beside ours. ``records``: the numbers of the rows."""
    import pandas as pd

    from skipstack.dashboards.charts.papers import against_paper

    columns = {"row": "row", "paper": "paper_gain", "ours": "gain", "low": "gain_low", "high": "gain_high"}
    rows = [{name: numbers[of] for name, of in columns.items()} for numbers in records if not numbers["is_reference"]]
    some = any(row["paper"] is not None and row["ours"] is not None for row in rows)
    reason = "no row has a gain both in the paper and here"
    drawn = (lambda: against_paper(pd.DataFrame(rows), measure, split=split)) if some else reason
    return Drawn("The paper's gains and ours", drawn)


def studies_charts(
    records: Sequence[Numbers], budgets: "pd.DataFrame", measure: Measure, split: Split
) -> Iterator[Drawn]:
    """Yield the charts that compare several studies: a forest plot of the confirmed rows, in which each config has the
    studies that have it below it, except the reference; and what each study explored.

    ``records``: the numbers of the confirmed rows. ``budgets``: for each study and several numbers of trials, the
    expected best score of that many trials, and the epochs that they take. ``measure``: the measure of all studies.
    ``split``: the split on which the rows are compared.
    """
    from skipstack.dashboards.charts.budgets import expected_best
    from skipstack.dashboards.charts.effects import effects

    firsts = {str(numbers["row"]) for numbers in records if numbers["is_reference"]}
    first = next(iter(firsts)) if len(firsts) == 1 else "the first study that has the config"
    gains = gains_of(records)
    drawn = partial(effects, gains, measure, told=f"Gains over {first}, config by config")
    yield Drawn(
        f"Confirmed on {split}", drawn if len(gains) else "nothing is confirmed in more than one of the studies"
    )
    explored = partial(expected_best, budgets, measure, cost="epochs")
    yield Drawn("What each explored", explored if len(budgets) else "no trial has a score")


def trend_charts(record: StudyRecord) -> Iterator[Drawn]:
    """Yield a chart of the scores along each numeric axis, drawn on demand; none if the study chose its trials by
    scores.
    """
    found = trends_of(record)
    if not found:
        return
    import pandas as pd

    from skipstack.dashboards.charts.trends import trends

    measure, short = record.measure, names_by_path(record.space.domains)
    for trend in found:
        rows = [
            {
                "number": each.number,
                "line": each.line,
                "value": measure.score(each.score.value),
                "low": None if each.score.low is None else measure.score(each.score.low),
                "high": None if each.score.high is None else measure.score(each.score.high),
            }
            for each in trend.reached
        ]
        axis, lines = short[trend.axis], short[trend.lines] if trend.lines else ""
        draw = partial(trends, pd.DataFrame(rows), measure, axis=axis, lines=lines, split=trend.split)
        yield Drawn(f"Scores along {axis}", draw, wide=bool(lines))


def _heading(numbers: Numbers) -> str:
    """The heading of a row's group: its section, or else its reference, as in ``over the base``."""
    where = [str(each) for each in (numbers["section"] or f"over the {numbers['over']}", numbers["corpus"]) if each]
    return " on ".join(where)
