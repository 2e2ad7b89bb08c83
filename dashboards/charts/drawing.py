"""Charts as Vega-Lite specifications, their words, and, in this process, their pictures as SVG or PNG."""

import re
from contextlib import AbstractContextManager
from typing import Any, Final

import altair as alt
from altair.utils.schemapi import debug_mode

from skipstack.data.basis.printable import visible

VERSION: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The Vega-Lite version of Altair's charts."""

UNDRAWN: Final = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not allow: vl-convert kills the process if it meets one."""


def specification(chart: Any) -> dict[str, Any]:
    """The chart as a specification, without characters that cannot be drawn."""
    drawable: dict[str, Any] = _drawable(chart.to_dict(validate=False))
    return drawable


def as_svg(chart: Any) -> str:
    """The chart as SVG. The same chart gives the same text."""
    from skipstack.dashboards.charts import rendering  # may end the process

    return rendering.svg(specification(chart), VERSION)


def as_png(chart: Any, *, scale: float = 2) -> bytes:
    """The chart as PNG, enlarged by ``scale``."""
    from skipstack.dashboards.charts import rendering

    return rendering.png(specification(chart), VERSION, scale=scale)


def unchecked() -> AbstractContextManager[None]:
    """Skips the validation of charts against Vega-Lite's schema, which takes longer than building them.

    Tests validate all charts.
    """
    return debug_mode(False)


def words(chart: Any) -> str:
    """The title of a chart and the sentences below it, for screen readers."""
    title, *sentences = [" ".join(lines) for lines in (chart.title.text, chart.title.subtitle)]
    return " ".join([f"{title}.", *sentences]).strip()


def without_words(chart: Any) -> Any:
    """The chart without title and sentences, for a place that shows them itself."""
    bare = chart.copy(deep=False)
    bare.title = alt.Undefined
    return bare


def drawable(text: str) -> str:
    """A text with the characters escaped that cannot be drawn."""
    return UNDRAWN.sub(lambda found: repr(found[0])[1:-1], visible(text))


def _drawable(part: Any) -> Any:
    """A part of a chart with control characters escaped in all its texts."""
    match part:
        case str():
            return drawable(part)
        case dict():
            return {name: _drawable(value) for name, value in part.items()}
        case list():
            return [_drawable(value) for value in part]
        case _:
            return part
