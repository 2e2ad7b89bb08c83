"""``skipstack report``: what a study confirmed, and what its search saw."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skipstack.dashboards.commands.options import AnyStudyPath, StoreOfStudy, located
from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import FileFormat
from skipstack.dashboards.reports.printing import print_report
from skipstack.dashboards.reports.warned import warned
from skipstack.data.basis.collection import collection_left_to_the_end
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from skipstack.search.analysis.confirmation.papers import PaperTable
    from skipstack.search.analysis.frames.study_frames import StudyFrames
    from skipstack.search.analysis.frames.trace import Traced

    NamedTable = tuple[str, PaperTable]


def add_to(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("report")(report)


@collection_left_to_the_end()
def report(
    study: AnyStudyPath,
    form: Annotated[FileFormat, typer.Option("--format", help="The format of the output.")] = "text",
    out: Annotated[
        Path | None, typer.Option(help="A file for the output, which is replaced. Left out: stdout.")
    ] = None,
    by: Annotated[list[str] | None, typer.Option(help="An axis to show; may be repeated. Left out: all axes.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Compare with a table of a paper, such as wu2017/table-2.")
    ] = None,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="Show the confirmed rows alone: those of ablations, or of a grid.")
    ] = False,
    randomise: Annotated[
        bool,
        typer.Option("--randomise", help="Give confirmed differences p of approximate randomisation, too (seconds)."),
    ] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Print each number of the report with the events of the ledger that it was made of."
        ),
    ] = False,
    tracking_uri: StoreOfStudy = None,
) -> None:
    """Print what is confirmed, then what the search saw: what each value of each axis reached, and which axes matter.

    Confirmed are the rows of `skipstack ablate`, and of a study that tries a grid, or one value at a time, and stops
    nothing.
    """
    if against is not None and (by or confirmed):
        raise UserError("--against excludes --by and --confirmed (allowed: one of them)")
    if trace and (form != "text" or out is not None):
        raise UserError("--trace excludes --format and --out (allowed: with --by, --confirmed, --against, --randomise)")
    table: NamedTable | None = None
    if against is not None:
        from skipstack.search.analysis.confirmation.papers import find_table

        table = (against, find_table(against))  # a typo is told before the study is read
    from skipstack.search.analysis.frames.study_frames import study_frames

    frames = study_frames(located(study, tracking_uri))
    if trace:
        _print_traced(frames, list(_traced(frames, table, by or (), confirmed=confirmed, randomise=randomise)))
    else:
        found = reported(frames, table, by or (), confirmed=confirmed, randomise=randomise)
        print_report(warned(found, frames.warnings), form, out)


def reported(
    frames: "StudyFrames", against: "NamedTable | None", by: Sequence[str], *, confirmed: bool, randomise: bool
) -> Report:
    """The report with these options, which loads what it is made of and nothing else."""
    if against is not None:
        from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report
        from skipstack.search.analysis.confirmation.against import compare

        return comparison_report(compare(frames.record, *against, randomise=randomise))
    reports: list[Report] = []
    if frames.confirms and not by:
        from skipstack.dashboards.reports.confirmation.reports import confirmed_reports

        reports += confirmed_reports(frames.record, randomise=randomise)
    if confirmed:
        from skipstack.dashboards.reports.confirmation.reports import one_report

        _check_confirmed(frames, reports)
        return one_report(reports)
    from skipstack.dashboards.reports.exploration.report import exploration_report

    explored = exploration_report(frames.exploration(by))
    if not reports:
        return explored
    from skipstack.dashboards.reports.confirmation.reports import with_confirmed

    return with_confirmed(explored, reports)


def _traced(
    frames: "StudyFrames", against: "NamedTable | None", by: Sequence[str], *, confirmed: bool, randomise: bool
) -> "Iterator[Traced]":
    """The numbers of that report."""
    if against is not None:
        from skipstack.dashboards.reports.confirmation.traced import traced_comparison
        from skipstack.search.analysis.confirmation.against import compare

        yield from traced_comparison(compare(frames.record, *against, randomise=randomise), frames.record)
        return
    tables: list[Traced] = []
    if frames.confirms and not by:
        from skipstack.dashboards.reports.confirmation.traced import traced_tables

        tables += traced_tables(frames.record, randomise=randomise)
    yield from tables
    if confirmed:
        _check_confirmed(frames, tables)
        return
    from skipstack.dashboards.reports.exploration.traced import traced

    yield from traced(frames, frames.exploration(by))


def _print_traced(frames: "StudyFrames", found: "Sequence[Traced]") -> None:
    from skipstack.search.analysis.frames.trace import lines

    for line in lines(frames.past, found):
        print(line)


def _check_confirmed(frames: "StudyFrames", found: Sequence[object]) -> None:
    """Raise UserError where nothing was found that is confirmed."""
    if not found:
        from skipstack.search.analysis.confirmation.designs import why_not_by_design

        why = why_not_by_design(frames.record)
        raise UserError(f"--confirmed: {why} (allowed: without it; `skipstack ablate` confirms)")
