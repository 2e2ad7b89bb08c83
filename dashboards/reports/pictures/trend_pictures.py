"""The charts of scores along each numeric axis of a study whose trials were fixed in advance."""

from collections.abc import Iterator
from functools import partial

from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.search.analysis.confirmation.trends import trends_of
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path


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
