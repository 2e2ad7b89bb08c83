"""The sections of a page. Each is made on its own: at once, soon after the page, or again while a study runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from skipstack.dashboards.reports.pictures.picture import Drawn

Element = str | Drawn
"""A piece of HTML, or a chart, which the browser draws."""


def never() -> None:
    """The pace of a section that does not change, and what it depends on."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    ``key``: its name in addresses, unique on the page. ``show``: makes its elements, in their order. ``when``: whether
    the page has the section at once, fetches it ``soon`` after it is there, since it takes a while, or only once the
    reader has ``opened`` it. ``title``: the text that opens it. ``every``: returns the least number of seconds between
    two updates; None if the study is over, so that nothing changes. ``also``: returns what the section depends on
    beside the ledger, such as the size of a log. ``ablation``: the ablation whose trials the section names; None for
    those of the search.
    """

    key: str
    show: Callable[[], Iterable[Element]]
    when: Literal["now", "soon", "opened"] = "now"
    title: str = ""
    every: Callable[[], float | None] = never
    also: Callable[[], object] = never
    ablation: int | None = None
