"""``skipstack stop``: ends trials of a running study, or lets the study end after the trials in training."""

from typing import Annotated

from skipstack.dashboards.commands.options import StudyPath, number
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.counted import counted


def stop(
    study: StudyPath,
    trial: Annotated[
        list[int] | None,
        number("End this trial at its next report; may be repeated. Left out: start no further trial."),
    ] = None,
) -> int:
    """Stop trials of a running study, or the study.

    A trial ends at its next report, and keeps its scores. Without --trial, the process that runs the study starts no
    further trial: trials in training go on, the best trials are measured on test, and the report is printed.
    """
    from skipstack.search.api.asking import ask_to_stop

    ask_to_stop(study, trial or ())
    what = f"ends {counted(len(trial), 'trial')} at the next report" if trial else "starts no further trial"
    say(f"the process that runs the study {what}")
    return 0
