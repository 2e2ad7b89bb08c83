"""The page "Can I believe it?": confirmed results, a paper's figures beside ours, checks of the search, and corpora."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report
from skipstack.dashboards.reports.confirmation.reports import confirmed_reports
from skipstack.dashboards.reports.described_corpora import recorded_corpora
from skipstack.dashboards.reports.health_report import health_report
from skipstack.dashboards.reports.pictures.confirmed_pictures import compared_chart, confirmed_charts
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_chart
from skipstack.dashboards.reports.pictures.trend_pictures import trend_charts
from skipstack.dashboards.web.elements import chart, charts, empty, heading, report, sentence
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

NOTHING = (
    "Nothing is confirmed: that takes configs fixed in advance, each trained to its end with several seeds. "
    "`skipstack ablate` trains the best config, and each of its changes, anew with fresh seeds."
)

TOLD = "What the search says of itself"


def confidence_page(path: Path) -> None:
    """Show the page "Can I believe it?" of the study in the folder ``path``."""
    of = snapshot(path)
    for line in of.frames.warnings:
        sentence(f"warning: {line}")
    _confirmed(of)
    heading(TOLD)
    sentence("Described, and not tested.", pale=True)
    charts(confidence_charts(of.explored), f"trust {path}")
    if of.frames.study.space.base.keeps_weights:
        _paper(of)
    if of.frames.corpora:
        heading("The corpora")
        _corpora(of)


def confidence_charts(seen: "Exploration") -> Iterator[Drawn]:
    """Yield the charts that check the search. They show the trials at each rung, the best score expected of fewer
    trials, and whether short trainings rank the trials as long trainings do.
    """
    from skipstack.dashboards.charts.agreement import agreement
    from skipstack.search.analysis.exploration.rungs import LEAST
    from skipstack.search.analysis.exploration.rungs import agreement as compared

    yield search_chart("Trials at each rung", seen)
    yield search_chart("Expected best", seen)
    enough = seen.reached.shape[1] > 1 and len(seen.reached) >= LEAST
    few = "" if enough else f"it takes {LEAST} trials of several epochs"
    yield Drawn("Short and long trainings", few or (lambda: agreement(compared(seen.by_epoch))))


def _confirmed(of: Snapshot) -> None:
    reports = list(confirmed_reports(of.record)) if of.frames.fixed else []
    if not of.frames.confirms:
        empty(NOTHING)
    for place, each in enumerate(reports):
        charts(confirmed_charts(each.page.title, each.records, of.frames.measure), f"confirmed {place} {of.path}")
        report(each, said=of.verdict)
    if of.frames.fixed:
        charts(trend_charts(of.record), f"trend {of.path}")


def _paper(of: Snapshot) -> None:
    from skipstack.search.analysis.confirmation.against import compare
    from skipstack.search.analysis.confirmation.papers import tables

    every = tables()
    own = [name for name, table in every.items() if table.preset == of.frames.study.name]
    heading("Beside a paper's figures")
    names = [*own, *(name for name in every if name not in own)]
    name = st.selectbox(
        "Table", names, index=0 if own else None, key="paper", bind="query-params", placeholder="such as wu2017/table-2"
    )
    if name is None:
        return
    try:
        found = compare(of.record, name, every[name])
    except UserError as error:
        sentence(str(error))
        return
    made = comparison_report(found)
    report(made)
    chart(compared_chart(made.records, found.measure, found.split), f"paper {name} {of.path}")


def _corpora(of: Snapshot) -> None:
    try:
        described, title = recorded_corpora(of.path)
    except UserError as error:
        sentence(str(error), pale=True)
        return
    report(health_report(title, described), titled=False)
