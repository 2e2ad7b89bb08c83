"""From a study's folder to its record."""

from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Finished
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord


def is_finished(path: Path) -> bool:
    """Whether nothing is left to do of the study in the folder ``path``. Raises UserError as ``read_study`` does."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    if next(iter(ledger.replay()), None) is None:
        raise _empty(path)
    ends = list(ledger.only("finished", "resumed", "extended"))
    return bool(ends) and isinstance(ends[-1], Finished)


def read_study(path: Path) -> StudyRecord:
    """The record of the study in the folder ``path``. Raises UserError where there is none, or it is damaged."""
    record = StudyRecord.of(Ledger(StudyFolder.existing(path).ledger).read())
    if record.opened is None:
        raise _empty(path)
    return record


def _empty(path: Path) -> UserError:
    return UserError(f"{path}: the ledger is empty (allowed: a folder that `skipstack search --out` made)")
