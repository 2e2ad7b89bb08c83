"""The whole report of a study, or one part of it. Each part loads only the modules that it needs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.page import Report
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from skipstack.search.analysis.confirmation.papers import PaperTable
    from skipstack.search.analysis.study_frames import StudyFrames

    NamedTable = tuple[str, PaperTable]


def study_report(
    frames: "StudyFrames", against: "NamedTable | None", by: Sequence[str], *, confirmed: bool, randomise: bool
) -> Report:
    """The confirmed rows, then what the search saw.

    ``against``: a comparison with this table of a paper instead; ``by``: the search alone, by these axes;
    ``confirmed``: the confirmed rows alone; ``randomise``: their differences are also tested by approximate
    randomisation. Raises UserError for confirmed rows alone where there are none.
    """
    if against is not None:
        from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report
        from skipstack.dashboards.reports.confirmation.traced import traced_comparison
        from skipstack.search.analysis.confirmation.against import compare

        found = compare(frames.record, *against, randomise=randomise)
        return replace(comparison_report(found), traced=partial(traced_comparison, found, frames.record))
    reports: list[Report] = []
    if frames.fixed and not by:
        from skipstack.dashboards.reports.confirmation.reports import confirmed_reports

        reports += confirmed_reports(frames.record, randomise=randomise, alone=confirmed)
    if confirmed:
        return _confirmed(frames, reports)
    from skipstack.dashboards.reports.exploration.report import exploration_report

    explored = exploration_report(frames.exploration(by))
    if not reports:
        return explored
    from skipstack.dashboards.reports.confirmation.reports import with_confirmed

    return with_confirmed(explored, reports)


def _confirmed(frames: "StudyFrames", reports: Sequence[Report]) -> Report:
    from skipstack.dashboards.reports.confirmation.reports import one_report
    from skipstack.search.analysis.confirmation.designs import why_not_by_design

    if not reports:
        why = why_not_by_design(frames.record) or "one seed does not show how much scores vary by chance"
        raise UserError(f"--confirmed: {why} (allowed: without it; `skipstack ablate` confirms)")
    return one_report(reports)
