"""``skipstack log``: prints the output and warnings of a trial, and the tracebacks of its errors."""

import shlex
import sys
import time
from typing import Annotated, Final

import typer

from skipstack.dashboards.commands.options import StudyPath, number, whole
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ablated, Ended, Event
from skipstack.search.ledger.following import Following
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.log_file import LogFile

EVERY: Final = 0.5
"""The seconds between two reads of a log, with ``--follow``."""


def log(
    study: StudyPath,
    trial: Annotated[int, typer.Argument(help="The number of a trial.", parser=whole, metavar="TRIAL")],
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Print further lines as they come, until the trial or the study's process has ended."
        ),
    ] = False,
    ablation: Annotated[int | None, number("The number of the ablation that the trial is of.")] = None,
) -> None:
    """Print the output, warnings and errors of a trial.

    Each line has its time (UTC), and its seed if the trial has several seeds.
    """
    folder = StudyFolder.existing(study)
    of = StudyFolder(study, ablation)
    if not of.log(trial).exists():
        _check(folder, trial, ablation)
    file = LogFile(of.log(trial))
    if follow:
        _follow(file, folder, trial, ablation)
    elif text := file.whole():
        sys.stdout.write(text)
    else:
        say(f"trial {trial} has printed nothing")


def _follow(file: LogFile, folder: StudyFolder, trial: int, ablation: int | None) -> None:
    ledger, past, ended = Ledger(folder.ledger), Following(folder.ledger), False
    while True:
        # Looked up before the events are read: if it is False, the process wrote nothing after them.
        runs = ledger.is_written
        for event in past.events():
            ended = ended or _ends(event, trial, ablation)
        sys.stdout.write(file.news())
        sys.stdout.flush()
        if ended:
            return
        if not runs:
            resume = shlex.join(["skipstack", "resume", str(folder.path)])
            say(f"trial {trial} has not ended, but no process runs this study now (`{resume}` continues it)")
            return
        time.sleep(EVERY)


def _ends(event: Event, trial: int, ablation: int | None) -> bool:
    if isinstance(event, Ablated):
        return event.ablation == ablation and isinstance(event.event, Ended) and event.event.trial == trial
    return ablation is None and isinstance(event, Ended) and event.trial == trial


def _check(folder: StudyFolder, trial: int, ablation: int | None) -> None:
    """Raise UserError if the study has no such trial or no such ablation."""
    from skipstack.search.study.record.reading import read_study

    record = read_study(folder.path)
    if ablation is not None:
        if ablation not in record.ablations:
            allowed = f"--ablation {', '.join(map(str, record.ablations))}" if record.ablations else "without it"
            raise UserError(f"--ablation: got {ablation}, which the study does not have (allowed: {allowed})")
        record = record.ablations[ablation]
    if trial not in record.trials:
        last = len(record.trials) - 1
        allowed = f"nearest: {min(max(trial, 0), last)}; allowed: 0 to {last}" if record.trials else "allowed: none yet"
        raise UserError(f"{folder.path}: got trial {trial} ({allowed})")
