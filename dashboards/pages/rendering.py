"""A report in the format that was asked for."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, assert_never, cast

from skipstack.dashboards.pages.markdown import as_markdown
from skipstack.dashboards.pages.page import Report
from skipstack.dashboards.pages.raw import as_csv, as_json
from skipstack.dashboards.pages.text import as_text
from skipstack.data.basis.printable import UNSEEN, visible

Format = Literal["text", "markdown", "csv", "json"]
T = TypeVar("T")


def render(report: Report, form: Format, *, width: int | None = None, terminal: bool = False) -> str:
    """The report, ending in a line break.

    ``text`` is laid out to ``width`` columns; without one, as wide as its tables are. It has colours where
    ``terminal`` says that one will show them. ``markdown`` is GitHub's. ``csv`` has a line for each row of a table and
    ``json`` holds everything; both carry raw numbers by their full names, scores in [0, 1]. In all of them control
    characters are escaped (``data.basis.printable``).
    """
    match form:
        case "text":
            return as_text(_visible(report.page), width, terminal=terminal)
        case "markdown":
            return as_markdown(_visible(report.page))
        case "csv":
            return visible(as_csv(report.records, report.names))
        case "json":
            return UNSEEN.sub(_as_json_has_it, as_json(report.content))
        case _:
            assert_never(form)


def _visible(value: T) -> T:
    """A page, or a part of one, with all its texts visible."""
    shown: Any = value
    match value:
        case str():
            shown = visible(value)
        case tuple():
            shown = tuple(map(_visible, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            shown = replace(value, **{each.name: _visible(getattr(value, each.name)) for each in fields(value)})
        case _:
            pass
    return cast("T", shown)


def _as_json_has_it(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}"
