"""Converts a chart into the data that the page's script draws: its headline, its words, and its panels as Vega-Lite."""

import json
from collections.abc import Mapping
from typing import Any

from skipstack.dashboards.charts.drawing import specification, unchecked, without_words, words
from skipstack.dashboards.charts.linked_marks import with_linked_marks
from skipstack.dashboards.formats.style import FONT
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.web.page_names import STUDIES
from skipstack.dashboards.web.view import View


def chart_data(drawn: Drawn, view: View, ablation: int | None = None) -> dict[str, Any]:
    """The chart as plain data. ``ablation``: the number of the ablation whose trials the chart shows; None for trials
    of the search.

    ``headline`` and ``note`` stand above the chart, ``words`` are for screen readers, and each of ``panels`` is a
    specification of its own, so that panels fit the page.
    """
    assert not isinstance(drawn.draw, str), "there is something to draw"
    with unchecked():
        made: Any = drawn.draw()
        if view.page != STUDIES:
            made = with_linked_marks(made, view.trial((ablation, 0)).removesuffix("0"))
        headline, note = (" ".join(lines) for lines in (made.title.text, made.title.subtitle))
        parts = panels(specification(without_words(made)))
        return {"headline": headline, "note": note, "words": words(made), "panels": parts}


def panels(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split the specification of a chart into its panels. A chart without panels is its only panel. Each panel fits the
    width of its place; only the first keeps its legend.
    """
    common = {
        name: spec[name] for name in ("$schema", "config", "data", "usermeta") if name in spec
    }  # the same for all panels
    parts = spec.get("vconcat", [spec])
    return [_panel(part, common, spec.get("datasets", {}), legend=place == 0) for place, part in enumerate(parts)]


def _panel(
    part: Mapping[str, Any], common: Mapping[str, Any], rows: Mapping[str, Any], *, legend: bool
) -> dict[str, Any]:
    drawn = {**common, **(part if legend else _without_legend(part)), "datasets": {}}
    written = json.dumps(drawn)
    return {
        **drawn,
        "width": "container",
        "datasets": {name: each for name, each in rows.items() if f'"{name}"' in written},
        "config": {**common.get("config", {}), "font": FONT, "background": None, "padding": 6},
        "autosize": {"type": "fit-x", "contains": "padding"},
    }


def _without_legend(part: Any) -> Any:
    """A part of a specification without the legends of its scales."""
    match part:
        case dict():
            return {
                name: {**inner, "legend": None}
                if name in ("color", "stroke", "fill", "shape", "strokeDash") and "field" in inner
                else _without_legend(inner)
                for name, inner in part.items()
            }
        case list():
            return [_without_legend(each) for each in part]
        case _:
            return part
