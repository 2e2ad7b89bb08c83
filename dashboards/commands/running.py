"""A study run before the user's eyes: progress while it runs, its report at the end, and what to type next."""

import time
from dataclasses import replace
from functools import partial
from shlex import quote

from skipstack.dashboards.progress.progress import Progress
from skipstack.dashboards.report.ablation_report import ablation_report
from skipstack.dashboards.report.printing import print_report, say
from skipstack.dashboards.report.quantities import reason_in_words
from skipstack.search.ablation.ablation import ablation
from skipstack.search.execution import DeviceName, EngineName, Execution, share
from skipstack.search.ledger.events import FAULTS
from skipstack.search.running import Run
from skipstack.search.study.faults import StudyInterruptedError
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord

FAILED_TRIALS = 3
"""The exit code of a study that finished although faults ended some of its trials."""

INTERRUPTED = 130
"""The exit code of a study that can be resumed."""


def execution(
    engine: EngineName, *, address: str | None, gpus_per_trial: str, device: DeviceName, tracking_uri: str | None
) -> Execution:
    """What the options say of where trials run, with progress and messages on stderr."""
    share_per_trial = share(gpus_per_trial)
    return watched(
        Execution(
            engine=engine, address=address, gpus_per_trial=share_per_trial, device=device, tracking_uri=tracking_uri
        )
    )


def watched(where: Execution) -> Execution:
    """The same, with progress and messages on stderr."""
    return replace(where, say=say, warn=say, watch=partial(Progress, clock=time.time))


def finish(run: Run) -> int:
    """Run a study to its end, and print its report and what to type next. The exit code."""
    try:
        record = run.finish()
    except StudyInterruptedError as cause:
        say(f"skipstack: {cause}")
        return INTERRUPTED
    print_report(ablation_report(ablation(record)))
    say_what_is_next(run, record)
    faulty = [trial for trial in record.trials.values() if trial.reason in FAULTS]
    for trial in faulty:
        say(f"trial {trial.number} {reason_in_words(trial.reason or '')}: {trial.message}")
    return FAILED_TRIALS if faulty else 0


def say_what_is_next(run: Run, record: StudyRecord) -> None:
    """The commands for what a study leaves behind."""
    path, tracking_uri = run.folder.path, run.execution.tracking_uri
    database = f"sqlite:///{StudyFolder(path).runs_database}"
    say("next:")
    for command in (
        f"skipstack report {path} --format markdown",
        f"skipstack export {path} --best 1 --to {path}-best",
        f"skipstack verify {path}-best{''.join(f' --data-dir {quote(str(each))}' for each in run.folders(record))}",
        f"echo 'Words of a sentence' | skipstack predict {path}-best",
        *([f"mlflow ui --backend-store-uri {database}"] if tracking_uri is None else []),
    ):
        say(f"  {command}")
