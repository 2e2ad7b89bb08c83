"""The reports of a study's confirmed tables, alone or before the report of the search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from skipstack.dashboards.formats.page import Block, FoldedPart, Heading, Page, Picture, Report, unfolded
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.designs import by_design
from skipstack.search.analysis.verdict.of_study import Tables, decisive_table
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations


def confirmed_tables(record: StudyRecord, *, randomise: bool = False) -> Tables:
    """Return each table of rows that were fixed in advance, with the record of the study or ablation that trained them.

    Tables with one seed confirm nothing, and come last.
    """
    designed = by_design(record, randomise=randomise)
    found = [] if designed is None or designed.rows[0].trial is None else [(record, designed)]
    for number, each in whole_ablations(record).items():
        found.append((each, replace(ablated(each, randomise=randomise), ablation=number)))
    return in_order(found)


def in_order(tables: Tables) -> Tables:
    """Move the tables that confirm nothing to the end, and keep the order otherwise."""
    return sorted(tables, key=lambda each: not each[1].confirmed)


def first_shown(tables: Tables) -> int | None:
    """The position of the table to show first: the table that decides the verdict, or else the study's own table; None
    if there is neither.
    """
    own = next((place for place, (record, _) in enumerate(tables) if record.plan is None), None)
    return own if (decisive := decisive_table(tables)) is None else decisive


def one_report(reports: Sequence[Report], first: int | None = None) -> Report:
    """Join the reports of several tables of rows. A single report is returned unchanged.

    ``first``: the position of the report whose verdict is shown; None if there is none.
    """
    if len(reports) == 1:
        return reports[0]
    verdict, answers = ("", ()) if first is None else (reports[first].page.verdict, reports[first].page.answers)
    details = tuple(part for each in reports for part in _details(each))
    page = Page("", tuple(_groups(reports)), verdict=verdict, answers=answers, details=details)
    return replace(
        reports[0],
        page=page,
        content={"confirmed": [each.content for each in reports]},
        records=[{"study": str(each.content["study"]), **record} for each in reports for record in each.records],
        names=["study", *reports[0].names],
        pictures=partial(_pictures, reports),
    )


def with_confirmed(explored: Report, reports: Sequence[Report], first: int | None) -> Report:
    """The report of a search, with the tables of rows that were fixed in advance. The table at position ``first`` is
    shown before the search, and all others become details.

    ``explored``: the report of the search. ``reports``: the reports of the tables. The CSV has only the results of the
    search.
    """
    if not reports:
        return explored
    shown = [] if first is None else [reports[first]]
    saw, *more = explored.page.groups
    if shown:
        saw = (Heading(f"{explored.content['study']}: what the search saw"), *saw)
    others = (FoldedPart(each.page.title, unfolded(each.page).groups) for each in reports if each not in shown)
    details = (*(part for each in shown for part in each.page.details), *others, *explored.page.details)
    all_reports = [*reports, explored]
    return replace(
        explored,
        page=replace(explored.page, groups=(*_groups(shown), saw, *more), details=details),
        content={**explored.content, "confirmed": [each.content for each in reports]},
        pictures=partial(_pictures, all_reports),
    )


def _groups(reports: Sequence[Report]) -> Iterator[tuple[Block, ...]]:
    for report in reports:
        yield (Heading(report.page.title),)
        yield from report.page.groups


def _details(report: Report) -> Iterator[FoldedPart]:
    """Yield the details of a report, with the report's title before each heading."""
    return (replace(part, heading=f"{report.page.title}: {part.heading}") for part in report.page.details)


def _pictures(reports: Sequence[Report]) -> tuple[Picture, ...]:
    return tuple(picture for report in reports for picture in report.pictures())
