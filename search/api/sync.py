"""A study told to MLflow from its ledger, whoever ran it and wherever."""

from dataclasses import replace
from pathlib import Path

from skipstack.data.basis.saying import unsaid
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder


def recorded(path: Path, execution: Execution) -> Run:
    """A study, finished or not, once MLflow has been told what it lacked of it; ``Run.untracked`` says what it lacks
    still.

    Raises UserError where another process writes the study: it tells MLflow, too.
    """
    folder = StudyFolder.existing(path)
    run = Run(folder, replace(execution, warn=unsaid), None, resuming=True)
    with Ledger(folder.ledger).kept():
        run.finish()
    return replace(run, execution=execution)
