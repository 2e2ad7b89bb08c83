"""A report in the format that was asked for."""

from typing import Literal, assert_never

from skipstack.dashboards.pages.markdown import as_markdown
from skipstack.dashboards.pages.page import Report
from skipstack.dashboards.pages.raw import as_csv, as_json
from skipstack.dashboards.pages.text import as_text

Format = Literal["text", "markdown", "csv", "json"]


def render(report: Report, form: Format, *, width: int | None = None, terminal: bool = False) -> str:
    """The report, ending in a line break.

    ``text`` is laid out to ``width`` columns; without one, as wide as its tables are. It has colours where
    ``terminal`` says that one will show them. ``markdown`` is GitHub's. ``csv`` has a line for each row of a table and
    ``json`` holds everything; both carry raw numbers by their full names, scores in [0, 1].
    """
    match form:
        case "text":
            return as_text(report.page, width, terminal=terminal)
        case "markdown":
            return as_markdown(report.page)
        case "csv":
            return as_csv(report.records, report.names)
        case "json":
            return as_json(report.content)
        case _:
            assert_never(form)
