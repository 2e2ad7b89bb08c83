"""The picture of scores along an axis of numbers, for a grid that has one."""

from collections.abc import Iterator
from functools import partial

from skipstack.dashboards.formats.page import Picture
from skipstack.dashboards.reports.pictures.picture import Drawn, pictured
from skipstack.search.analysis.confirmation.trends import trend
from skipstack.search.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path


def trend_pictures(record: StudyRecord) -> tuple[Picture, ...]:
    """The scores along the axis with the most numbers; nothing for a study without one."""
    return pictured(trend_charts(record))


def trend_charts(record: StudyRecord) -> Iterator[Drawn]:
    """The chart, drawn on demand."""
    found = trend(record)
    if found is None:
        return
    import pandas as pd

    from skipstack.dashboards.charts.trends import trends

    measure, short = record.measure, names_by_path(record.space.domains)
    rows = [
        {
            "number": each.number,
            "line": each.line,
            "value": measure.score(each.score.value),
            "low": None if each.score.low is None else measure.score(each.score.low),
            "high": None if each.score.high is None else measure.score(each.score.high),
        }
        for each in found.reached
    ]
    axis, lines = short[found.axis], short[found.lines] if found.lines else ""
    draw = partial(trends, pd.DataFrame(rows), measure, axis=axis, lines=lines, split=found.split)
    yield Drawn(f"Scores along {axis}", draw)
