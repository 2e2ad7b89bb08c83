"""Renders a report in the requested format."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, assert_never, cast

from skipstack.dashboards.formats.html import as_html
from skipstack.dashboards.formats.latex import as_latex
from skipstack.dashboards.formats.markdown import as_markdown
from skipstack.dashboards.formats.page import Report, shortened, unfolded
from skipstack.dashboards.formats.raw import as_csv, as_json, as_parquet
from skipstack.dashboards.formats.text import PAGE, as_text
from skipstack.data.basis.printable import UNSEEN, visible

Format = Literal["text", "markdown", "latex", "csv", "json", "html"]
"""The formats in which a report can be printed."""

FileFormat = Literal[Format, "parquet"]
"""The formats in which a report can be written to a file. Parquet is binary, so it is not printed."""

T = TypeVar("T")


def render(report: Report, form: Format, *, width: int = PAGE, terminal: bool = False, full: bool = False) -> str:
    """Render a report as a text that ends in a line break.

    ``form``: the format. ``text`` is laid out to ``width`` columns. ``markdown`` is GitHub's. ``latex`` compiles as it
    is, and another document can include its tables. ``html`` is a single file that includes the pictures. ``csv`` has a
    line for each record. ``json`` has the whole report. In ``csv`` and ``json``, numbers are unrounded and have their
    full names, and scores are unscaled: 0.91, not 91 %. ``terminal``: whether ``text`` has colours. ``full``: whether
    to show the details. If False, ``html`` folds them, and other formats leave them out. Control characters are escaped
    in all formats (``data.basis.printable``).
    """
    page = all_visible(unfolded(report.page) if full else report.page if form == "html" else shortened(report.page))
    match form:
        case "text":
            return as_text(page, width, terminal=terminal)
        case "markdown":
            return as_markdown(page)
        case "latex":
            return as_latex(page)
        case "html":
            pictures = (replace(each, folded=each.folded and not full) for each in report.pictures())
            return as_html(page, all_visible(tuple(pictures)))
        case "csv":
            return visible(as_csv(report.records, report.names))
        case "json":
            return UNSEEN.sub(_as_json_has_it, as_json(report.content))
        case _:
            assert_never(form)


def rendered(report: Report, form: FileFormat, *, width: int = PAGE, full: bool = False) -> bytes:
    """Render a report as the bytes of a file. ``parquet`` has the rows of ``csv``, with typed columns."""
    if form == "parquet":
        return as_parquet(report.records, report.names)
    return render(report, form, width=width, full=full).encode(errors="backslashreplace")


def all_visible(value: T) -> T:
    """Escape the control characters in all texts of a page, or of a part of one."""
    shown: Any = value
    match value:
        case str():
            shown = visible(value)
        case tuple():
            shown = tuple(map(all_visible, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            shown = replace(value, **{each.name: all_visible(getattr(value, each.name)) for each in fields(value)})
        case _:
            pass
    return cast("T", shown)


def _as_json_has_it(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}"
