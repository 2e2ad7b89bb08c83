"""The addresses of trials' pages, and links to them in the tables, charts and sentences of the pages about a study."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from skipstack.dashboards.formats.html import AddressOf
from skipstack.dashboards.formats.page import TrialKey
from skipstack.dashboards.web.page_names import STUDIES, TRIAL

SEARCH: Final = "the search"
"""The entry for the search on the trial page, where a user chooses to see trials of the search or of an ablation."""

NAMED: Final = re.compile(r"(<a\b[^>]*>.*?</a>|<[^>]*>)|(?<![-\w])(?:(?<!, )|(?<=winner, ))trial (\d+)\b(?! of )")
"""Matches a link, another HTML tag, or the name of a trial of the study that the page is about.

The names of other studies' trials do not match: they have the form ``STUDY, trial 3`` or ``trial 3 of STUDY``.
"""

POINTS: Final = ("point", "circle", "square", "bar", "rect")
"""The Vega-Lite marks that stand for one row of data each."""


def of_ablation(number: int | None) -> str:
    """The entry for an ablation, or for the search if ``number`` is None, on the trial page and in addresses."""
    return SEARCH if number is None else f"ablation {number}"


def trial_address(study: str, trial: TrialKey) -> str:
    """The address of a trial's page. ``study``: the name of the study, as the page of all studies lists it."""
    ablation, number = trial
    own = {} if ablation is None else {"of": of_ablation(ablation)}
    return f"?{urlencode({'page': TRIAL, 'study': study, **own, 'trial': number})}"


def trial_addresses() -> AddressOf | None:
    """A function that returns the address of a trial of the study whose page is shown; None on a page that is not about
    one study.
    """
    study = st.session_state.get("study")
    if study is None or st.session_state.get("page") in (None, STUDIES):
        return None
    return lambda trial: trial_address(study, trial)


def with_links(html: str, ablation: int | None = None) -> str:
    """Turn the names of trials in HTML into links to their pages.

    ``ablation``: the ablation that the trials belong to; None if they belong to the search. Nothing changes on a page
    that is not about one study.
    """
    addresses = trial_addresses()
    return html if addresses is None else linked(html, addresses, ablation)


def linked(html: str, addresses: AddressOf, ablation: int | None = None) -> str:
    """Turn the names of trials in HTML into links. ``addresses``: returns the address of a trial; ``ablation``: as in
    ``with_links``.
    """

    def link(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        return f'<a href="{addresses((ablation, int(found[2])))}" target="_self">{found[0]}</a>'

    return NAMED.sub(link, html)


def with_linked_marks(chart: Any, ablation: int | None = None) -> Any:
    """A copy of a chart in which marks that stand for single trials are links to their pages.

    ``ablation``: as in ``with_links``. On a page that is not about one study, the chart itself is returned.
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
    """Yield the charts that have marks of their own: a simple chart itself, or the simple ones in a compound one."""
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
