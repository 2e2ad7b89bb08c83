"""A chart as a picture of a page."""

from collections.abc import Callable
from typing import Any

from skipstack.dashboards.pages.page import Picture


def pictured(heading: str, drawn: Callable[[], Any] | str) -> Picture:
    """The chart below its heading, with its title and sentences as words; or the reason why there is none."""
    from skipstack.dashboards.charts.drawing import as_svg, unchecked, without_words, words

    if isinstance(drawn, str):
        return Picture(heading, drawn)
    with unchecked():
        chart = drawn()
        return Picture(heading, words(chart), as_svg(without_words(chart)))
