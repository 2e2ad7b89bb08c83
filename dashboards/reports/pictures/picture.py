"""Draws charts as the pictures of a report."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from skipstack.dashboards.formats.page import Picture
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING, NO_DOCSTRINGS, UndrawnError


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart to draw: its heading, and the function that draws it.

    If there is nothing to draw, ``draw`` is the reason instead, as a phrase. ``wide``: whether the chart takes the
    whole width of a page in a browser.
    """

    heading: str
    draw: Callable[[], Any] | str
    wide: bool = False


def pictured(drawn: Iterable[Drawn]) -> tuple[Picture, ...]:
    """Draw the charts as SVG pictures, with their texts. A chart that cannot be drawn is replaced by the reason. If
    Python cannot import Altair, a single picture with the reason replaces all charts.
    """
    if sys.flags.optimize > 1:
        DRAWING.trouble = NO_DOCSTRINGS
        return (Picture("Pictures", NO_DOCSTRINGS),)
    return tuple(map(_picture, drawn))


def _picture(each: Drawn) -> Picture:
    from skipstack.dashboards.charts.drawing import VERSION, specification, unchecked, without_words, words

    if isinstance(each.draw, str):
        return Picture(each.heading, each.draw)
    with unchecked():
        chart = each.draw()
        try:
            svg = DRAWING.svg(specification(without_words(chart)), VERSION)
        except UndrawnError as why:
            return Picture(each.heading, str(why))
        return Picture(each.heading, words(chart), svg)
