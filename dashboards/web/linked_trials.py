"""Links the names of trials in HTML to the trials' pages."""

import re
from html import escape
from typing import Final

from skipstack.dashboards.formats.html import AddressOf

NAMED: Final = re.compile(
    r"(<a\b[^>]*>.*?</a>|<select\b.*?</select>|<[^>]*>)"
    r"|(?<![-\w])(?:(?<!, )|(?<=winner, ))trial (\d+)\b(?! of )"
)
"""Matches a link, a ``select`` element, another HTML tag, or the name of a trial of the page's study.

Names of other studies' trials do not match: these have the form ``STUDY, trial 3`` or ``trial 3 of STUDY``.
"""


def linked(html: str, addresses: AddressOf, ablation: int | None = None) -> str:
    """Turn the names of trials in HTML into links. ``addresses``: returns the address of a trial's page. ``ablation``:
    the number of the trials' ablation; None if they belong to the search.
    """

    def link(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        return f'<a href="{escape(addresses((ablation, int(found[2]))))}">{found[0]}</a>'

    return NAMED.sub(link, html)
