"""Shows a study in a notebook: its verdict, its best trials, and the pictures of its search."""

from html import escape
from typing import Final

from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.dashboards.reports.pictures.search_pictures import search_pictures
from skipstack.dashboards.reports.verdict import in_a_sentence
from skipstack.search.analysis.verdict.of_study import verdict
from skipstack.search.api.study import Study
from skipstack.search.study.record.domain_parts import short_text
from skipstack.spaces.short_names import names_by_path

BEST: Final = 10
"""The maximum number of trials in the table."""


def notebook_page(study: Study) -> str:
    """The study as HTML that loads nothing from the network. Pictures are SVG. Empty pictures are left out."""
    said = in_a_sentence(verdict(study.explored(), list(confirmed_tables(study.record))))
    return "\n".join([f"<p>{escape(repr(study))}</p>", f"<p>{escape(said)}</p>", _table(study), *_pictures(study)])


def _table(study: Study) -> str:
    record = study.record
    short = names_by_path(record.space.domains)
    head = ["trial", "state", record.measure.label, *short.values()]
    rows = [
        [str(trial.number), trial.state, record.measure.written(trial.score or 0.0)]
        + [short_text(trial.point[path]) if path in trial.point else "" for path in short]
        for trial in record.ranked()[:BEST]
    ]
    lines = [f"<tr>{_cells(head, 'th')}</tr>", *(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _cells(texts: list[str], kind: str) -> str:
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)


def _pictures(study: Study) -> list[str]:
    if not study.record.ranked():
        return []
    try:
        found = search_pictures(study.explored())
    finally:
        DRAWING.end()
    return [f"<figure><figcaption>{escape(each.heading)}</figcaption>{each.svg}</figure>" for each in found if each.svg]
