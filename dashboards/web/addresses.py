"""The addresses of trials' pages, and links to them in tables, charts and sentences."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from skipstack.dashboards.formats.html import AddressOf
from skipstack.dashboards.formats.page import TrialKey
from skipstack.dashboards.web.page_names import STUDIES, TRIAL

SEARCH: Final = "the search"
"""The entry for the search in the list on the trial page from which a user selects the search or an ablation."""

NAMED: Final = re.compile(r"(<a\b[^>]*>.*?</a>|<[^>]*>)|(?<![-\w])(?:(?<!, )|(?<=winner, ))trial (\d+)\b(?! of )")
"""Matches a link, another HTML tag, or the name of a trial of the page's study.

Names of other studies' trials do not match. They have the form ``STUDY, trial 3`` or ``trial 3 of STUDY``.
"""

POINTS: Final = ("point", "circle", "square", "bar", "rect")
"""The Vega-Lite marks that each show one row of data."""


def of_ablation(number: int | None) -> str:
    """The entry for an ablation on the trial page and in addresses. ``number``: None means the search."""
    return SEARCH if number is None else f"ablation {number}"


def trial_address(study: str, trial: TrialKey) -> str:
    """The address of a trial's page. ``study``: the study's name on the page of all studies."""
    ablation, number = trial
    own = {} if ablation is None else {"of": of_ablation(ablation)}
    return f"?{urlencode({'page': TRIAL, 'study': study, **own, 'trial': number})}"


def trial_addresses() -> AddressOf | None:
    """A function that returns the address of a trial of the page's study. None if the page is not about one study."""
    study = st.session_state.get("study")
    if study is None or st.session_state.get("page") in (None, STUDIES):
        return None
    return lambda trial: trial_address(study, trial)


def with_links(html: str, ablation: int | None = None) -> str:
    """Turn the names of trials in HTML into links to their pages, if the page is about one study.

    ``ablation``: the number of the trials' ablation; None if they belong to the search.
    """
    addresses = trial_addresses()
    return html if addresses is None else linked(html, addresses, ablation)


def linked(html: str, addresses: AddressOf, ablation: int | None = None) -> str:
    """Turn trials' names in HTML into links. ``addresses``: returns an address. ``ablation``: as in ``with_links``."""

    def link(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        return f'<a href="{addresses((ablation, int(found[2])))}" target="_self">{found[0]}</a>'

    return NAMED.sub(link, html)


def with_linked_marks(chart: Any, ablation: int | None = None) -> Any:
    """Copy a chart, with links to trials' pages on the marks that stand for trials. On a page that is not about one
    study, return the chart itself. ``ablation``: as in ``with_links``.
    """
    import altair as alt

    addresses = trial_addresses()
    if addresses is None:
        return chart
    start = addresses((ablation, 0)).removesuffix("0")
    linked = chart.copy(deep=True)
    for part in _parts(linked):
        if _stands_for_trials(part):
            calculated = alt.CalculateTransform(calculate=f"'{start}' + datum.trial", **{"as": "address"})
            part.transform = [*([] if part.transform is alt.Undefined else part.transform), calculated]
            part.encoding.href = alt.Href("address:N")
    linked.usermeta = {"embedOptions": {"loader": {"target": "_self"}}}
    return linked


def _parts(chart: Any) -> Iterator[Any]:
    """Yield the charts with marks of their own: a simple chart itself, or the simple charts in a compound chart."""
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
