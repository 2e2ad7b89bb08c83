"""The publication of a finished study in MLflow: its report, confirmed differences and best network."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from skipstack.dashboards.formats.page import Heading, Report, Sentence
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.next_step import DIR
from skipstack.dashboards.reports.next_step import whole_report as whole_command
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.dashboards.reports.study_report import whole_report
from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.api.study import exploration_of
from skipstack.search.code_version import code_version
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.search.tracking.entry import STUDY, RunKey
from skipstack.search.tracking.logged_models import BestBundle
from skipstack.search.tracking.publishing import Publication

LONGEST: Final = 7900
"""The most characters of a note: MLflow accepts 8,000."""

WHOLE: Final = "\n\n... the whole report is the artifact `report.html`\n"


def published(
    record: StudyRecord, folder: StudyFolder, found: Exploration | None = None, warn: Say = unsaid
) -> Publication:
    """The publication of a study. ``found``: the exploration of its search, if it is already computed. ``warn`` is told
    why pictures are missing.
    """
    tables = list(confirmed_tables(record))
    reports = [ablated_report(own, table) for own, table in tables]
    report = whole_report(found or exploration_of(record), tables)
    pictures = tuple(report.pictures())
    if DRAWING.trouble is not None:
        warn(f"pictures are left out: {DRAWING.trouble}")
    report = replace(report, pictures=lambda: pictures)
    files = {
        "report.html": render(report, "html"),
        "report.tex": render(report, "latex", full=True),
        **{f"pictures/{_as_name(each.heading)}.svg": each.svg for each in pictures if each.svg},
    }
    numbers: dict[int, int | None] = {id(own): number for number, own in record.ablations.items()}
    of = [numbers.get(id(own)) for own, _ in tables]
    differences = {
        (ablation, trial): row
        for ablation, (own, table) in zip(of, tables, strict=True)
        for trial, row in _with_differences(own, table).items()
    }
    notes: dict[RunKey, str] = {STUDY: _note(record.study.about, report)}
    notes |= {(number, None): _note("", each, titled=True) for number, each in zip(of, reports, strict=True) if number}
    return Publication(
        made_of=f"{record.events} events, {code_version()}",
        notes=notes,
        metrics={key: _difference(row) for key, row in differences.items()},
        tags={key: {"skipstack.compared_with": f"trial {row.reference}"} for key, row in differences.items()},
        files={name: text.encode(errors="backslashreplace") for name, text in files.items()},
        best=_best(record, folder),
    )


def _note(about: str, report: Report, *, titled: bool = False) -> str:
    """The verdict on a run, its description and its report in Markdown, cut to the length that MLflow accepts;
    ``titled``: with the report's title, which a study's own run has as its name.
    """
    above = (*((Sentence(about),) if about else ()), *((Heading(report.page.title),) if titled else ()))
    groups = (above, *report.page.groups) if above else report.page.groups
    page = replace(report.page, title="", groups=groups, whole=report.page.whole or whole_command(DIR))
    text = render(replace(report, page=page), "markdown")
    return text if len(text) <= LONGEST else text[: text.rindex("\n", 0, LONGEST - len(WHOLE))] + WHOLE


def _with_differences(record: StudyRecord, table: Confirmation) -> dict[int, ConfirmedRow]:
    """By trial, the row with its difference to the base, or else to another reference."""
    base = record.base
    rows = [row for row in table.rows if row.difference is not None and row.trial is not None]
    rows.sort(key=lambda row: base is not None and row.reference == base.number)  # the last one counts
    return {row.trial: row for row in rows if row.trial is not None}


def _difference(row: ConfirmedRow) -> dict[str, float]:
    """The metrics of a difference: its value, 95 % interval and corrected p, as far as they are defined."""
    found = row.difference
    assert found is not None, "only rows with a difference were asked for"
    ends = {"": found.value, "_low": found.low, "_high": found.high, "_p": row.p}
    return {f"difference{end}": value for end, value in ends.items() if value is not None}


def _best(record: StudyRecord, folder: StudyFolder) -> BestBundle | None:
    """The bundle of the best trial, if it has a score and weights; weights are read when it is written."""
    if not record.study.space.base.keeps_weights:
        return None
    return next((bundle_of(record, folder, trial, "auto") for trial in record.ranked()[:1]), None)


def bundle_of(record: StudyRecord, folder: StudyFolder, trial: TrialRecord, device: str) -> BestBundle:
    """The bundle of a trial, with a function that writes it."""
    assert trial.best is not None, "a trial with a score has a best epoch"

    def write(to: Path) -> None:
        from skipstack.search.bundles.export import export_bundle  # with torch

        export_bundle(record, folder, trial, to, device)

    return BestBundle(
        name=f"{trial.number}/{trial.config.identity}/{trial.best.epoch}", trial=trial.number, write=write
    )


def _as_name(heading: str) -> str:
    return re.sub(r"\W+", "-", heading.lower()).strip("-")
