"""The charts of confirmed rows: their gains with intervals, alone or beside a paper's gains.

All intervals are corrected for several comparisons, in agreement with the marks.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.differences import Split

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


def _heading(numbers: Numbers) -> str:
    """The heading of a row's group: its section, or else its reference, as in ``over the base``."""
    where = [str(each) for each in (numbers["section"] or f"over the {numbers['over']}", numbers["corpus"]) if each]
    return " on ".join(where)
