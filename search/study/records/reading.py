"""From a study's folder to its record."""

from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Finished
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.records.bulk import bulk_record
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord

LONG: Final = 1 << 22
"""Bytes of a ledger that make it worth its time to read it as columns."""


def is_finished(path: Path) -> bool:
    """Whether nothing is left to do of the study in the folder ``path``. Raises UserError as ``read_study`` does."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    if next(iter(ledger.replay()), None) is None:
        raise _empty(path)
    ends = list(ledger.only("finished", "resumed", "extended"))
    return bool(ends) and isinstance(ends[-1], Finished)


def read_study(path: Path) -> StudyRecord:
    """The record of the study in the folder ``path``. Raises UserError where there is none, or it is damaged."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    record = ledger.whole(lambda: _long(ledger)) or StudyRecord.of(ledger.read())
    if record.opened is None:
        raise _empty(path)
    return record


def _long(ledger: Ledger) -> StudyRecord | None:
    """The record of a long ledger; None of a short one, and where it can be made of events alone."""
    if sum(file.stat().st_size for file in ledger.files()) < LONG:
        return None
    return bulk_record(ledger.lines())


def _empty(path: Path) -> UserError:
    return UserError(f"{path}: the ledger is empty (allowed: a folder that `skipstack search --out` made)")
