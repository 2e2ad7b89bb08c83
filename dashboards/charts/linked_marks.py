"""Links the marks of trials in a chart to the trials' pages."""

from collections.abc import Iterator
from typing import Any, Final

import altair as alt

POINTS: Final = ("point", "circle", "square", "bar", "rect")
"""The Vega-Lite marks that each show one row of data."""


def with_linked_marks(chart: Any, start: str) -> Any:
    """Copy a chart so that the marks of single trials are links. ``start``: the address of a trial's page up to the
    trial's number, which ends it.
    """
    linked = chart.copy(deep=True)
    for part in _parts(linked):
        if _stands_for_trials(part):
            calculated = alt.CalculateTransform(calculate=f"'{start}' + datum.trial", **{"as": "address"})
            part.transform = [*([] if part.transform is alt.Undefined else part.transform), calculated]
            part.encoding.href = alt.Href("address:N")
    return linked


def _parts(chart: Any) -> Iterator[Any]:
    """Yield the charts that have marks of their own: a simple chart itself, or the simple charts in a compound one."""
    if isinstance(chart, alt.Chart):
        yield chart
    for kind in ("layer", "vconcat", "hconcat"):
        inner = getattr(chart, kind, None)
        for each in inner if isinstance(inner, list) else ():
            yield from _parts(each)


def _stands_for_trials(chart: Any) -> bool:
    rows = getattr(chart.data, "values", None)
    if not rows or "trial" not in rows[0]:
        return False
    mark = chart.mark if isinstance(chart.mark, str) else chart.mark.type
    return mark in POINTS or (mark == "line" and "'trial:N'" in repr(chart.encoding.detail))
