"""The pictures of confirmed rows: their differences with intervals, alone or beside a paper's differences.

The interval of a difference that is shown alone is corrected for several comparisons, in agreement with its mark.
Beside a paper's difference, the interval is uncorrected.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Numbers, Picture
from skipstack.dashboards.reports.pictures.picture import Drawn, pictured
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    import pandas as pd


def confirmed_pictures(heading: str, records: Sequence[Numbers], measure: Measure) -> tuple[Picture, ...]:
    """A picture of the rows' differences to their references. With several corpora, a picture of the means comes first,
    and then a picture for each corpus. ``records``: the numbers of the rows.
    """
    return pictured(confirmed_charts(heading, records, measure))


def confirmed_charts(heading: str, records: Sequence[Numbers], measure: Measure) -> Iterator[Drawn]:
    """Yield the charts of ``confirmed_pictures``."""
    from skipstack.dashboards.charts.effects import effects

    *corpora, last = dict.fromkeys(numbers.get("corpus") for numbers in records) or [None]
    for corpus in (last, *corpora):
        own = [numbers for numbers in records if numbers.get("corpus") == corpus]
        where = str(corpus) if corpora else ""
        frame = differences_of([{**numbers, "corpus": None} for numbers in own] if corpora else own, measure)
        drawn = partial(effects, frame, measure, what="difference in", where=where)
        reason = "no row has a difference to the base"
        yield Drawn(f"{heading}: {where}" if where else heading, drawn if len(frame) else reason, wide=not corpora)


def differences_of(records: Sequence[Numbers], measure: Measure) -> "pd.DataFrame":
    """The differences of rows to their references, as a frame for ``dashboards.charts.effects``."""
    import pandas as pd

    short = names_by_path(str(numbers["axis"]) for numbers in records if numbers.get("axis"))
    rows = [
        {
            "axis": _axis(numbers),
            "value": _label(numbers, short),
            "marked": bool(numbers["marked"]),
            **_ours(numbers, measure, "_corrected"),
        }
        for numbers in records
        if numbers["difference"] is not None and not numbers["is_reference"]
    ]
    return pd.DataFrame(rows).rename(columns={"ours": "effect"})


def compared_pictures(records: Sequence[Numbers], measure: Measure, split: Split) -> tuple[Picture, ...]:
    """A picture of the paper's differences beside ours. ``records``: the numbers of the rows."""
    return pictured([compared_chart(records, measure, split)])


def compared_chart(records: Sequence[Numbers], measure: Measure, split: Split) -> Drawn:
    """The chart of ``compared_pictures``."""
    import pandas as pd

    from skipstack.dashboards.charts.papers import against_paper

    rows = [
        {"row": numbers["row"], "paper": _own(numbers["paper_difference"], measure), **_ours(numbers, measure)}
        for numbers in records
        if not numbers["is_reference"]
    ]
    some = any(row["paper"] is not None and row["ours"] is not None for row in rows)
    reason = "no row has a difference both in the paper and here"
    drawn = (lambda: against_paper(pd.DataFrame(rows), measure, split=split)) if some else reason
    return Drawn("The paper's differences and ours", drawn)


def _label(numbers: Numbers, short: Mapping[str, str]) -> str:
    """The name of a row. The path of its axis is cut to the shortest end that is unique among the rows."""
    row, axis = str(numbers["row"]), str(numbers.get("axis"))
    return f"{short[axis]}{row.removeprefix(axis)}" if axis in short and row.startswith(axis) else row


def _axis(numbers: Numbers) -> str:
    return " on ".join(str(each) for each in (numbers["section"], numbers["corpus"]) if each) or "to the base"


def _ours(numbers: Numbers, measure: Measure, interval: str = "") -> dict[str, float | None]:
    names = {"ours": "difference", "low": f"difference_low{interval}", "high": f"difference_high{interval}"}
    return {name: _own(numbers[of], measure) for name, of in names.items()}


def _own(score: object, measure: Measure) -> float | None:
    """Convert a difference of scores into a difference of the measure: a perplexity's gets the opposite sign."""
    return measure.score(score) if isinstance(score, float) else None
