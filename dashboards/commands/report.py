"""``skipstack report``: prints the confirmed rows of a study, and what its search found."""

from typing import Annotated

import typer

from skipstack.dashboards.commands.options import AnyFormat, AnyStudyPath, Out, StoreOfStudy, located
from skipstack.dashboards.reports.named_logs import with_logs
from skipstack.dashboards.reports.next_step import DIR
from skipstack.dashboards.reports.printing import print_report
from skipstack.data.basis.collection import collection_left_to_the_end
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import StudyFolder


@collection_left_to_the_end()
def report(
    study: AnyStudyPath,
    form: AnyFormat = "text",
    out: Out = None,
    by: Annotated[list[str] | None, typer.Option(help="An axis to show; may be repeated. Left out: all axes.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Compare with a table of a paper, such as wu2017/table-2.")
    ] = None,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help="Print only the confirmed rows: those of ablations, or of a grid.")
    ] = False,
    randomise: Annotated[
        bool,
        typer.Option(
            "--randomise", help="Also test confirmed differences by approximate randomisation; this takes seconds."
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Also print what a first look does without: each value of each axis, importance, pairs, rungs, "
            "forecasts, faults.",
        ),
    ] = False,
    tracking_uri: StoreOfStudy = None,
) -> None:
    """Print the report of a study.

    The verdict comes first, in a sentence. Below it are the confirmed rows: those of `skipstack ablate`, or of a study
    that stops no trial early and tries a grid or one value at a time. They are followed by the best trial of the search
    beside base and baseline, its changes, the cost of the search, and the next command to type. With --full, the report
    adds what the search explored: the score that each value of each axis reached, and which axes matter.
    """
    if against is not None and (by or confirmed):
        raise UserError("--against excludes --by and --confirmed (allowed: one of them)")
    table = None
    if against is not None:
        from skipstack.search.analysis.confirmation.papers import find_table

        table = (against, find_table(against))  # before the study is read, so that a typo is refused at once
    from skipstack.dashboards.reports.study_report import study_report
    from skipstack.search.analysis.study_frames import study_frames

    folder = located([study], tracking_uri)[0]
    frames = study_frames(folder)
    named = DIR if folder != study else str(study)
    found = study_report(frames, table, by or (), confirmed=confirmed, randomise=randomise, folder=named)
    found = found if against or confirmed else with_logs(found, frames.trials, StudyFolder(folder))
    print_report(found, form, out, full=full)
