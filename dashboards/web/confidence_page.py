"""The page "Can I believe it?": confirmed results, a paper's figures beside ours, checks of the search, and corpora."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report
from skipstack.dashboards.reports.health_report import health_report, recorded_corpora
from skipstack.dashboards.reports.next_step import confirming
from skipstack.dashboards.reports.pictures.confirmed_pictures import compared_chart, confirmed_charts, trend_charts
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_chart
from skipstack.dashboards.web.elements import (
    chart,
    charts,
    empty,
    form,
    heading,
    kept,
    report,
    select,
    sentence,
    verdict,
)
from skipstack.dashboards.web.section import Element, Section
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

NOTHING = "Nothing is confirmed: that takes configs fixed in advance, each trained to its end with several seeds."


def confidence_page(view: View) -> Sequence[Section]:
    """The page "Can I believe it?"."""
    of = snapshot(view.path)
    return [
        Section("verdict", partial(_verdict, of, view.study)),
        *(Section(f"confirmed-{place}", partial(_table, view, of, made)) for place, made in enumerate(of.confirmed)),
        *([Section("trends", lambda: charts(trend_charts(of.record)))] if of.frames.fixed else []),
        Section("search", partial(_search, of)),
        *(_paper(view, of) if of.frames.study.space.base.keeps_weights else ()),
        *([Section("corpora", partial(_corpora, view, of), when="soon")] if of.frames.corpora else []),
    ]


def confidence_charts(seen: "Exploration") -> Iterator[Drawn]:
    """Yield the charts that check the search. They show the trials at each rung, the best score expected of fewer
    trials, and whether short trainings rank the trials as long trainings do.
    """
    from skipstack.dashboards.charts.agreement import agreement
    from skipstack.search.analysis.exploration.rungs import LEAST
    from skipstack.search.analysis.exploration.rungs import agreement as compared

    yield search_chart("Trials at each rung", seen)
    yield search_chart("Expected best", seen)
    found = compared(seen.by_epoch)
    known = found["correlation"].notna() & (found["one"] < found["other"])
    few = "" if known.any() else f"it takes {LEAST} trials of several epochs"
    yield Drawn("Short and long trainings", few or (lambda: agreement(found)))


def _verdict(of: Snapshot, folder: str) -> Iterator[Element]:
    yield verdict(of.verdict, of.answers)
    yield from (sentence(f"warning: {line}") for line in of.frames.warnings)
    if not of.frames.confirms:
        yield empty(f"{NOTHING} {confirming(of.explored, folder)}".rstrip())


def _table(view: View, of: Snapshot, made: Report) -> Iterator[Element]:
    yield from charts(confirmed_charts(made.page.title, made.records, of.frames.measure))
    yield report(made, view.trial, said=of.verdict)


def _search(of: Snapshot) -> Iterator[Element]:
    yield heading("What the search says of itself")
    yield sentence("Described, and not tested.", pale=True)
    yield from charts(confidence_charts(of.explored))


def _paper(view: View, of: Snapshot) -> Sequence[Section]:
    """The menu to choose a paper's table, and the comparison with the chosen table."""
    from skipstack.search.analysis.confirmation.papers import tables

    every = tables()
    own = [name for name, table in every.items() if table.preset == of.frames.study.name]
    names = {name: name for name in (*own, *(name for name in every if name not in own))}
    name = view.one("paper", next(iter(own), ""))
    choice = form(
        kept({"study": view.every("study")}),
        select("paper", "Table", names, name, placeholder="" if own else "such as wu2017/table-2"),
        name="paper",
    )
    compared = Section("compared", partial(_compared, view, of, name), when="soon")
    return [Section("paper", lambda: [heading("Beside a paper's figures"), choice]), *([compared] if name else [])]


def _compared(view: View, of: Snapshot, name: str) -> Iterator[Element]:
    from skipstack.search.analysis.confirmation.against import compare
    from skipstack.search.analysis.confirmation.papers import find_table

    try:
        found = compare(of.record, name, find_table(name))
    except UserError as error:
        yield sentence(str(error))
        return
    made = comparison_report(found)
    yield report(made, view.trial)
    yield chart(compared_chart(made.records, found.measure, found.split))


def _corpora(view: View, of: Snapshot) -> Iterator[Element]:
    yield heading("The corpora")
    try:
        described, title = recorded_corpora(view.path)
    except UserError as error:
        yield sentence(str(error), pale=True)
        return
    yield report(health_report(title, described, said=of.frames.warnings), titled=False)
