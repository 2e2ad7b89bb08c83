"""From a study's folder to its record."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ablated, Finished, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.columnar_record import columnar_record
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord

LONG: Final = 1 << 22
"""Bytes of a ledger that make it worth its time to read it as columns."""


def space_of(folder: StudyFolder) -> Mapping[str, Any]:
    """The space of the study in a folder as its first event says it, and nothing else of its ledger is read; empty
    where there is none.
    """
    first = next(iter(Ledger(folder.ledger).replay()), None)
    space = first.study.get("space") if isinstance(first, StudyOpened) else None
    return space if isinstance(space, Mapping) else {}


def is_finished(path: Path) -> bool:
    """Whether nothing is left to do of the search in the folder ``path``. Raises UserError as ``read_study`` does."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    if next(iter(ledger.replay()), None) is None:
        raise _empty(path)
    ends = list(ledger.only("finished", "resumed", "extended"))
    return bool(ends) and isinstance(ends[-1], Finished)


def unfinished_ablation(path: Path) -> int | None:
    """The number of the ablation that was interrupted, of the study in the folder ``path``; None without one.

    There is one at most: no other begins before it is finished.
    """
    last = None
    for event in Ledger(StudyFolder.existing(path).ledger).only("ablated"):
        if isinstance(event, Ablated):
            last = None if isinstance(event.event, Finished) else event.ablation
    return last


def read_study(path: Path) -> StudyRecord:
    """The record of the study in the folder ``path``. Raises UserError where there is none, or it is damaged."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    record = ledger.whole(lambda: _long(ledger)) or StudyRecord.of(ledger.read())
    if record.opened is None:
        raise _empty(path)
    return record


def read_searched(path: Path) -> StudyRecord:
    """Likewise; raises UserError, too, where an ablation of the study was interrupted: nothing else begins before it is
    finished.
    """
    if unfinished_ablation(path) is not None:
        raise UserError(f"{path}: an ablation of the study was interrupted (allowed: `{_resume(path)}` first)")
    return read_study(path)


def read_finished(path: Path) -> StudyRecord:
    """Likewise; raises UserError, too, where anything is left to do of the study."""
    record = read_searched(path)
    if not record.finished:
        raise UserError(
            f"{path}: the study is not finished (allowed: `{_resume(path)}` first; with --enough it starts no further "
            "trial)"
        )
    return record


def _resume(path: Path) -> str:
    return shlex.join(["skipstack", "resume", str(path)])


def is_long(ledger: Ledger) -> bool:
    """Whether it is worth its time to read it as columns; for a reading within ``Ledger.whole``."""
    return sum(file.stat().st_size for file in ledger.files()) >= LONG


def _long(ledger: Ledger) -> StudyRecord | None:
    """The record of a long ledger; None of a short one, and where it can be made of events alone."""
    return columnar_record(ledger.lines()) if is_long(ledger) else None


def _empty(path: Path) -> UserError:
    return UserError(f"{path}: the ledger is empty (allowed: a folder that `skipstack search --out` made)")
