"""Makes the report of a study, or a part of it, and imports only the modules that this part needs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.reports.next_step import DIR, report_command
from skipstack.dashboards.reports.warned import warned
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from skipstack.search.analysis.confirmation.papers import PaperTable
    from skipstack.search.analysis.exploration.exploration import Exploration
    from skipstack.search.analysis.study_frames import StudyFrames
    from skipstack.search.analysis.verdict.of_study import Tables

    NamedTable = tuple[str, PaperTable]


def study_report(
    frames: "StudyFrames",
    against: "NamedTable | None" = None,
    by: Sequence[str] = (),
    *,
    confirmed: bool = False,
    randomise: bool = False,
    folder: str = DIR,
) -> Report:
    """The report of a study: the verdict, the confirmed rows, the results of the search, and the next step.

    ``frames``: the study as tables. ``against``: a paper's table with its name. If given, the report is only the
    comparison with this table. ``by``: the axes to show. If given, the report is only that of the search.
    ``confirmed``: report only the confirmed rows. ``randomise``: also test confirmed differences by approximate
    randomisation. ``folder``: the study's folder, as shown in suggested commands.

    The warnings about the study stand below the verdict. Raises UserError if only confirmed rows are requested and
    there are none.
    """
    if against is not None:
        from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report
        from skipstack.search.analysis.confirmation.against import compare

        compared = comparison_report(compare(frames.record, *against, randomise=randomise))
        whole = replace(compared.page, whole=report_command(folder, "--against", against[0]))
        return warned(replace(compared, page=whole), frames.warnings)
    tables: Tables = ()
    if frames.fixed and not by:
        from skipstack.dashboards.reports.confirmation.reports import confirmed_tables

        tables = confirmed_tables(frames.record, randomise=randomise)
    if confirmed:
        found = _confirmed(frames, [each for each in tables if each[1].confirmed], folder)
    else:
        found = whole_report(frames.exploration(by), tables, by, folder=folder)
    return warned(found, frames.warnings)


def whole_report(seen: "Exploration", tables: "Tables", by: Sequence[str] = (), *, folder: str = DIR) -> Report:
    """The report of a search and of the study's ``tables`` of rows fixed in advance. One table comes before the search:
    the table that decides the verdict or, if none does, the study's own table (``first_shown``). The others are in the
    details. ``seen``: the exploration of the search.
    """
    from skipstack.dashboards.reports.exploration.report import exploration_report

    explored = exploration_report(seen, by, tables=tables, folder=folder)
    if not tables:
        return explored
    from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
    from skipstack.dashboards.reports.confirmation.reports import first_shown, with_confirmed

    return with_confirmed(explored, [ablated_report(*each) for each in tables], first_shown(tables))


def _confirmed(frames: "StudyFrames", tables: "Tables", folder: str) -> Report:
    """A report of the given confirmed tables alone. Raises UserError if there are none."""
    if not tables:
        from skipstack.search.analysis.confirmation.designs import why_not_by_design

        why = why_not_by_design(frames.record) or "one seed does not show how much scores vary by chance"
        raise UserError(f"--confirmed: {why} (allowed: without it; `skipstack ablate` confirms)")
    from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
    from skipstack.dashboards.reports.confirmation.reports import first_shown, one_report

    reports, first = [ablated_report(*each) for each in tables], first_shown(tables)
    found = one_report(reports, first)
    return replace(found, page=replace(found.page, whole=report_command(folder, "--confirmed")))
