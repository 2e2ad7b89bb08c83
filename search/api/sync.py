"""Writes a study to MLflow from its ledger."""

from dataclasses import replace
from pathlib import Path

from skipstack.data.basis.saying import unsaid
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder


def recorded(path: Path, execution: Execution) -> Run:
    """Write to MLflow all events of a study that are missing there; ``Run.untracked`` has the failures.

    The study may be unfinished. Raises UserError if another process runs it: that process writes to MLflow itself.
    """
    folder = StudyFolder.existing(path)
    run = Run(folder, replace(execution, warn=unsaid), None, resuming=True)
    with Ledger(folder.ledger).kept():
        run.finish()
    return replace(run, execution=execution)
