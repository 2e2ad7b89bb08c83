"""The sections of a page. Each is rendered separately: with the page, after it, or repeatedly while a study runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from skipstack.dashboards.reports.pictures.picture import Drawn

EVERY: Final = 3.0
"""The minimum seconds between two updates of a section while a study runs."""

Element = str | Drawn
"""A piece of HTML, or a chart, which the browser draws."""


def never() -> None:
    """Return None: the default of a section's ``every`` and ``also``."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    ``key``: its name in addresses, unique on the page. ``show``: renders its elements, in order. ``when``: ``now`` if
    the section is part of the page; ``soon`` if it takes longer, so that the page fetches it afterwards; ``opened`` if
    the page fetches it only when the reader opens it. ``title``: the text that opens it. ``every``: returns the minimum
    number of seconds between two updates; None if the section does not change, since the study is over. ``also``:
    returns a value on which the section depends besides the ledger, such as the size of a log. ``ablation``: the number
    of the ablation whose trials the section names; None for trials of the search.
    """

    key: str
    show: Callable[[], Iterable[Element]]
    when: Literal["now", "soon", "opened"] = "now"
    title: str = ""
    every: Callable[[], float | None] = never
    also: Callable[[], object] = never
    ablation: int | None = None
