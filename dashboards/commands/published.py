"""Prepares the results of a finished study for MLflow: its report, confirmed gains and best network."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from skipstack.dashboards.commands.published_rows import by_run, metrics_of
from skipstack.dashboards.formats.page import Heading, Picture, Report, Sentence
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report, with_next_step
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.next_step import DIR, report_command
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.dashboards.reports.study_report import whole_report
from skipstack.dashboards.reports.warned import warned
from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.api.study import exploration_of
from skipstack.search.publishing.tracking.entry import STUDY, RunKey, made_of
from skipstack.search.publishing.tracking.logged_models import BestBundle
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.study.record.call_models import chosen_model, models_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord

LONGEST: Final = 7900
"""The maximum number of characters of a note; MLflow accepts 8,000."""

WHOLE: Final = "\n\n... the whole report is the artifact `report.html`\n"


def published(
    record: StudyRecord, folder: StudyFolder, found: Exploration | None = None, warn: Say = unsaid
) -> Publication:
    """Collect the content to write into the MLflow runs of a study.

    ``record``: the study. ``folder``: its folder. ``found``: the exploration of its search; computed here if None.
    ``warn``: called with a line if pictures are missing.
    """
    tables = confirmed_tables(record)
    reports = [_with_pictures(ablated_report(own, table)) for own, table in tables]
    report = _with_pictures(warned(whole_report(found or exploration_of(record), tables), record.warnings))
    notes: dict[RunKey, str] = {STUDY: _note(record.study.about, report)}
    files: dict[RunKey, dict[str, bytes]] = {STUDY: _encoded(_pages(report))}
    metrics: dict[RunKey, dict[str, float]] = {}
    tags: dict[RunKey, dict[str, str]] = {}
    for (own, table), each in zip(tables, reports, strict=True):
        number = table.ablation
        rows = by_run(own, table)
        metrics |= {key: metrics_of(key, row, record.measure) for key, row in rows.items()}
        if number is None:
            tags |= {key: {"skipstack.over": row.over} for key, row in rows.items() if not row.is_reference}
        else:
            notes[number, None] = _note("", with_next_step(each, own, table, DIR), titled=True)
            files[number, None] = _encoded(_files_of_ablation(each))
    if DRAWING.trouble is not None:
        warn(f"pictures are left out: {DRAWING.trouble}")
    return Publication(
        made_of=made_of(record.events),
        notes=notes,
        metrics=metrics,
        tags=tags,
        files=files,
        best=_best(record, folder),
    )


def _with_pictures(report: Report) -> Report:
    """Draw the pictures of a report now, so that each is drawn only once."""
    pictures = tuple(report.pictures())
    return replace(report, pictures=lambda: pictures)


def _pages(report: Report) -> dict[str, str]:
    """The report of a study as HTML and LaTeX, and its pictures, by file name."""
    return {
        "report.html": render(report, "html"),
        "report.tex": render(report, "latex", full=True),
        **_drawn(report.pictures()),
    }


def _files_of_ablation(report: Report) -> dict[str, str]:
    """The files of an ablation's report, by name: the report, its table in several formats, and its pictures."""
    forest, *others = report.pictures()
    return {
        "report.html": render(report, "html"),
        "table.csv": render(report, "csv"),
        "table.md": render(report, "markdown", full=True),
        "table.tex": render(report, "latex", full=True),
        **({"forest.svg": forest.svg} if forest.svg else {}),
        **_drawn(others),
    }


def _drawn(pictures: Sequence[Picture]) -> dict[str, str]:
    """The pictures that could be drawn, by file name. Two pictures may have the same heading, so names are numbered."""
    numbered = enumerate(pictures, 1)
    return {f"pictures/{place}-{_as_name(each.heading)}.svg": each.svg for place, each in numbered if each.svg}


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode(errors="backslashreplace") for name, text in files.items()}


def _note(about: str, report: Report, *, titled: bool = False) -> str:
    """The note on a run, in Markdown: the report, with the description ``about`` below its verdict. The note is cut to
    the length that MLflow accepts.

    ``titled``: whether to include the report's title. The study's own run needs none, since the title is its name.
    """
    above = (*((Sentence(about),) if about else ()), *((Heading(report.page.title),) if titled else ()))
    groups = (above, *report.page.groups) if above else report.page.groups
    page = replace(report.page, title="", groups=groups, whole=report.page.whole or report_command(DIR))
    text = render(replace(report, page=page), "markdown")
    return text if len(text) <= LONGEST else text[: text.rindex("\n", 0, LONGEST - len(WHOLE))] + WHOLE


def _best(record: StudyRecord, folder: StudyFolder) -> BestBundle | None:
    """The bundle of the best trial. None if there is no best trial, or if it has neither weights nor a model of the
    user's function. Weights and models are read only when the bundle is written.
    """
    trial = next(iter(record.ranked()), None)
    if trial is None or not (trial.config.keeps_weights or models_of(trial, folder.trial(trial.number))):
        return None
    return bundle_of(record, folder, trial, "auto")


def bundle_of(record: StudyRecord, folder: StudyFolder, trial: TrialRecord, device: str) -> BestBundle:
    """Describe the bundle of a trial that has a score. ``device``: where the network is loaded to write the bundle."""
    assert trial.best is not None, "a trial with a score has a best epoch"

    def write(to: Path) -> None:
        from skipstack.search.publishing.bundles.export import export_bundle  # imports torch, which is slow

        export_bundle(record, folder, trial, to, device)

    measure = record.measure
    splits = {"dev": trial.dev, "test": trial.test}
    scores = {
        trial.replicates.seed(call): {
            f"model_{split}_{measure.name}": measure.score(own[call]) for split, own in splits.items() if call in own
        }
        for call in _calls(folder, trial)
    }
    is_best = [each.number for each in record.ranked()[:1]] == [trial.number]
    return BestBundle(
        name=f"{trial.number}/{trial.config.identity}/{trial.best.epoch}",
        trial=trial.number,
        write=write,
        made_of=made_of(record.events),
        scores=scores,
        alias="best" if is_best else f"trial-{trial.number}",
    )


def _calls(folder: StudyFolder, trial: TrialRecord) -> Sequence[int]:
    """The calls of a trial whose scores may be stored with the trial's bundle.

    For a network, these are the calls of all seeds. For a user's function, only the call whose model is exported is
    returned, and only if the model is from the trial's best epoch.
    """
    if trial.config.keeps_weights:
        return trial.seeds
    found = chosen_model(trial, folder.trial(trial.number))
    of_best = found is not None and trial.best is not None and found[1].epoch == trial.best.epoch
    return (found[0],) if found is not None and of_best else ()


def _as_name(heading: str) -> str:
    """The heading as a part of a file name, cut to 200 bytes, since file names have at most 255."""
    return re.sub(r"\W+", "-", heading.lower()).encode()[:200].decode(errors="ignore").strip("-")
