"""Links the names of trials in HTML, and the marks of trials in charts, to the trials' pages."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from skipstack.dashboards.formats.html import AddressOf

NAMED: Final = re.compile(
    r"(<a\b[^>]*>.*?</a>|<select\b.*?</select>|<[^>]*>)"
    r"|(?<![-\w])(?:(?<!, )|(?<=winner, ))trial (\d+)\b(?! of )"
)
"""Matches a link, a ``select`` element, another HTML tag, or the name of a trial of the page's study.

Names of other studies' trials do not match: these have the form ``STUDY, trial 3`` or ``trial 3 of STUDY``.
"""

POINTS: Final = ("point", "circle", "square", "bar", "rect")
"""The Vega-Lite marks that each show one row of data."""


def linked(html: str, addresses: AddressOf, ablation: int | None = None) -> str:
    """Turn the names of trials in HTML into links. ``addresses``: returns the address of a trial's page. ``ablation``:
    the number of the trials' ablation; None if they belong to the search.
    """

    def link(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        return f'<a href="{escape(addresses((ablation, int(found[2]))))}">{found[0]}</a>'

    return NAMED.sub(link, html)


def with_linked_marks(chart: Any, addresses: AddressOf) -> Any:
    """Copy a chart so that the marks of single trials are links to the trials' pages."""
    import altair as alt

    start = addresses((None, 0)).removesuffix("0")
    linked = chart.copy(deep=True)
    for part in _parts(linked):
        if _stands_for_trials(part):
            calculated = alt.CalculateTransform(calculate=f"'{start}' + datum.trial", **{"as": "address"})
            part.transform = [*([] if part.transform is alt.Undefined else part.transform), calculated]
            part.encoding.href = alt.Href("address:N")
    return linked


def _parts(chart: Any) -> Iterator[Any]:
    """Yield the charts that have marks of their own: a simple chart itself, or the simple charts in a compound one."""
    import altair as alt

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
