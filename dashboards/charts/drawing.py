"""Converts charts into Vega-Lite specifications and texts for screen readers."""

import re
from contextlib import AbstractContextManager
from typing import Any, Final

import altair as alt
from altair.utils.schemapi import debug_mode

from skipstack.data.basis.printable import visible

VERSION: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The version of Vega-Lite that Altair writes."""

UNDRAWN: Final = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Matches the characters that XML forbids, except control characters. Any of them makes vl-convert kill the process."""


def specification(chart: Any) -> dict[str, Any]:
    """Convert a chart into a Vega-Lite specification, with undrawable characters escaped."""
    drawable: dict[str, Any] = _drawable(chart.to_dict(validate=False))
    return drawable


def unchecked() -> AbstractContextManager[None]:
    """Return a context in which Altair does not validate charts against Vega-Lite's schema. Validation takes longer
    than creating the charts, and the tests validate all charts.
    """
    return debug_mode(False)


def words(chart: Any) -> str:
    """Join the title of a chart and the sentences below the title into one text for screen readers."""
    title, *sentences = [" ".join(lines) for lines in (chart.title.text, chart.title.subtitle)]
    return " ".join([f"{title}.", *sentences]).strip()


def without_words(chart: Any) -> Any:
    """Copy the chart without its title and sentences, for pages that show them as text."""
    bare = chart.copy(deep=False)
    bare.title = alt.Undefined
    return bare


def drawable(text: str) -> str:
    """Escape the undrawable characters of a text."""
    return UNDRAWN.sub(lambda found: repr(found[0])[1:-1], visible(text))


def _drawable(part: Any) -> Any:
    """Escape the undrawable characters in all texts of a specification, or of a part of one."""
    match part:
        case str():
            return drawable(part)
        case dict():
            return {name: _drawable(value) for name, value in part.items()}
        case list() | tuple():
            return [_drawable(value) for value in part]
        case _:
            return part
