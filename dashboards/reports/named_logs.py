"""Adds the trials that faults ended, with the commands that print their logs, to a report's details."""

from dataclasses import replace

import pandas as pd

from skipstack.dashboards.formats.page import Block, FoldedPart, Listing, Report, Sentence
from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.data.basis.counted import listed
from skipstack.search.ledger.events import FAULTS
from skipstack.search.study.record.folder import StudyFolder

NAMED = 5
"""The maximum number of trials that are named for each kind of fault."""


def with_logs(report: Report, trials: pd.DataFrame, folder: StudyFolder) -> Report:
    """Add a last part to a report's details. It names up to ``NAMED`` trials that each kind of fault ended, and the
    commands that print their logs.

    ``trials``: the table of the study's trials. A kind of fault is left out if none of its trials has a log.
    """
    blocks: list[Block] = []
    for reason in FAULTS:
        numbers = [int(number) for number in trials.index[trials["state"] == reason]]
        commands = [command for each in numbers if (command := folder.log_command(each)) is not None]
        if commands:
            more = [f"{len(numbers) - NAMED} more"] if len(numbers) > NAMED else []
            which = listed([*map(str, numbers[:NAMED]), *more])
            blocks += [
                Sentence(f"{reason_in_words(reason)}: trial{'s' * (len(numbers) > 1)} {which}; what was said there:"),
                Listing(tuple(commands[:NAMED]), code=True),
            ]
    if not blocks:
        return report
    faults = FoldedPart("faults", (tuple(blocks),))
    return replace(report, page=replace(report.page, details=(*report.page.details, faults)))
