"""The report of an ablation: its confirmed rows and its path."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from skipstack.dashboards.formats.page import Report, Sentence
from skipstack.dashboards.reports.confirmation.confirmation_report import confirmation_report
from skipstack.dashboards.reports.confirmation.traced import traced_table
from skipstack.dashboards.reports.pictures.trend_pictures import trend_pictures
from skipstack.dashboards.reports.wording import NONE
from skipstack.search.ablation.trained import walked
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path


def ablated_report(record: StudyRecord, found: Confirmation) -> Report:
    """The report of a confirmed table.

    It ends with the steps of the path, if the ablation has one; a grid with an axis of numbers also gets a chart of the
    scores along it.
    """
    report = confirmation_report(found, *_path(record))
    return replace(
        report,
        pictures=lambda: (*report.pictures(), *trend_pictures(record)),
        traced=partial(traced_table, record, found),
    )


def _path(record: StudyRecord) -> Iterator[Sentence]:
    """The steps of an ablation's path with their alternatives: chosen on dev, so described and not tested."""
    measure = record.measure
    taken = list(walked(record))
    if taken:
        yield Sentence("The path from the base to the winner, at each step the change that helps most on dev:")
    short = names_by_path(axis for step in taken for axis in (step.axis, *step.instead))
    for number, step in enumerate(taken, start=1):
        others = ", ".join(
            f"{short[axis]} {NONE if score is None else measure.written(score)}" for axis, score in step.instead.items()
        )
        yield Sentence(f"{number}. {short[step.axis]}: {measure.written(step.score)}{f' ({others})' if others else ''}")
