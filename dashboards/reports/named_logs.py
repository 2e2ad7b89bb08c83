"""At the end of a report: which trials a fault has ended, and the command that prints what they said."""

from dataclasses import replace

import pandas as pd

from skipstack.dashboards.formats.page import Report, Sentence
from skipstack.dashboards.reports.wording import listed, reason_in_words
from skipstack.data.basis.counted import counted
from skipstack.search.ledger.events import FAULTS
from skipstack.search.record.folder import StudyFolder

NAMED = 5
"""The most trials of a kind that are named."""


def with_logs(report: Report, trials: pd.DataFrame, folder: StudyFolder) -> Report:
    """The report with a sentence for each kind of fault after which a log is there; ``trials``: the study's frame."""
    sentences = []
    for reason in FAULTS:
        numbers = [int(number) for number in trials.index[trials["state"] == reason]]
        named = next((each for each in numbers if folder.log_named(each)), None)
        if named is not None:
            more = [f"{len(numbers) - NAMED} more"] if len(numbers) > NAMED else []
            which = listed([*map(str, numbers[:NAMED]), *more])
            sentences.append(
                Sentence(
                    f"{counted(len(numbers), 'trial')} {reason_in_words(reason)} ({which})"
                    f"{folder.log_named(named).replace('its log', f'the log of trial {named}')}"
                )
            )
    if not sentences:
        return report
    return replace(report, page=replace(report.page, groups=(*report.page.groups, tuple(sentences))))
