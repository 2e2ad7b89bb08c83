"""Runs a study with live progress, then prints its report and the next commands."""

import shlex
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from skipstack.dashboards.commands.next_steps import headed, next_steps, to_look_at
from skipstack.dashboards.commands.published import published
from skipstack.dashboards.live.progress import Progress
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report, with_next_step
from skipstack.dashboards.reports.confirmation.ablation_plan import part_in_words
from skipstack.dashboards.reports.named_logs import with_logs
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.dashboards.reports.printing import print_report, say, unless_lost
from skipstack.dashboards.reports.warned import warned
from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.data.basis.collection import uncollected
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.api.options import Execution
from skipstack.search.api.recorded_options import execution_of
from skipstack.search.api.run import Run, ablate, next_part, with_all_parts
from skipstack.search.api.study import exploration_of
from skipstack.search.execution.driver.faults import StudyInterruptedError
from skipstack.search.ledger.events import FAULTS
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord

FAILED_TRIALS = 3
"""The exit code of a finished study in which faults ended some trials or prevented their test."""

PUBLISHING = "writing the report, its pictures and the best network to MLflow"

LONG = 2.0
"""The seconds after which a line names the step that is still running."""

INTERRUPTED = 130
"""The exit code of an interrupted study; the study can be resumed."""


def execution(before: Path | None = None, **options: Any) -> Execution:
    """The run options, with progress and messages on stderr. An option of None gets the value that the study in the
    folder ``before`` recorded.
    """
    return watched(execution_of(options, before))


def watched(where: Execution) -> Execution:
    """Add progress and messages on stderr to run options. The report's modules are loaded while trials run."""
    return replace(where, say=say, warn=say, watch=partial(Progress, clock=time.time), meanwhile=_prepare)


def _prepare() -> None:
    """Load the report's modules and start the drawing process while trials run, since this takes a second."""
    with uncollected():
        from skipstack.dashboards.charts import drawing  # noqa: F401 (imported so that Altair is loaded early)
        from skipstack.search.analysis.exploration import additive_model

        DRAWING.begin()
        additive_model.load()


@contextmanager
def said_if_long(what: str) -> Iterator[None]:
    """Print ``what`` to stderr if the block is still running after ``LONG`` seconds."""
    waiting = threading.Timer(LONG, say, [what])
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()


def publish(run: Run, record: StudyRecord | None = None, found: Exploration | None = None) -> Mapping[str, str]:
    """Write the results of a study to MLflow, and say so if that takes long. Return the addresses of its views there.

    ``record``, ``found``: the study and the exploration of its search; read and computed here if None.
    """
    with said_if_long(PUBLISHING):
        return run.publish(partial(published, found=found, warn=say), record)


def finish(run: Run) -> int:
    """Run a study to its end, print its report and the next commands, and return the exit code."""
    try:
        return _searched(run) if run.ablation is None else _ablated(run)
    except StudyInterruptedError as cause:
        say(f"skipstack: {cause}")
        return INTERRUPTED
    finally:
        DRAWING.end()


def _searched(run: Run) -> int:
    from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
    from skipstack.dashboards.reports.study_report import whole_report

    with run.finished() as record:
        found = exploration_of(record)
        report = whole_report(found, confirmed_tables(record), folder=str(run.folder.path))
        report = with_logs(warned(report, record.warnings), found.seen.trials, run.folder)
        with _printed(run):
            print_report(report)
    _next_steps(run, record, publish(run, record, found))
    return _faults(record, run.folder)


def _ablated(run: Run) -> int:
    """Run an ablation with all its parts. Its report is printed and published after the last part."""
    code = 0
    while True:
        with run.finished() as record:
            if (further := next_part(run)) is None:
                number, whole = with_all_parts(run, record)
                confirmed = replace(ablated(whole), ablation=number)
                with _printed(run):
                    report = with_next_step(ablated_report(whole, confirmed), whole, confirmed, str(run.folder.path))
                    print_report(warned(report, whole.warnings))
        code = max(code, _faults(record, run.folder))
        if further is None:
            break
        run.close()  # all parts are published together, after the last one
        say(part_in_words(further.experiment))
        run = ablate(further, run.execution)
    own = {name: page for name, page in publish(run).items() if name == f"ablation {number}"}
    for line in headed(to_look_at(run.folder.path, private_runs=run.has_private_runs, pages=own)):
        say(line)
    return code


def _printed(run: Run) -> AbstractContextManager[None]:
    """Return a context in which a report may be printed. A lost stdout does not change the exit code; a line then names
    the command that prints the report again.
    """
    return unless_lost(f"`{shlex.join(['skipstack', 'report', str(run.folder.path)])}` prints the report")


def _next_steps(run: Run, record: StudyRecord, pages: Mapping[str, str]) -> None:
    lines = next_steps(
        run.folder.path,
        record,
        private_runs=run.has_private_runs,
        pages=pages,
        data=run.folders(record),
        code=run.execution.code,
    )
    for line in lines:
        say(line)


def _faults(record: StudyRecord, folder: StudyFolder) -> int:
    """Print the trials that failed or could not be measured on test, and return the exit code."""
    faulty = [trial for trial in record.trials.values() if trial.reason in FAULTS]
    for trial in faulty:
        message = f"{trial.message}{folder.log_named(trial.number)}"
        say(f"trial {trial.number} {reason_in_words(trial.reason or '')}: {message}")
    unmeasured = [trial for trial in record.trials.values() if trial.given_up is not None]
    for trial in unmeasured:
        message = f"{trial.given_up}{folder.log_named(trial.number)}"
        say(f"trial {trial.number} could not be measured on test: {message}")
    return FAILED_TRIALS if faulty or unmeasured else 0
