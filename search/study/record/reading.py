"""Reads a study from its folder: the whole record, or only the part that a command needs."""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ablated, AblationPlanned, Event, Finished, StudyOpened
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.ledger.lines import Line
from skipstack.search.study.record.columnar_record import columnar_record
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.next_event import WrongEventError
from skipstack.search.study.record.study_record import StudyRecord

LONG: Final = 1 << 22
"""The minimum size, in bytes, of a ledger that is read as columns."""

ABOUT: Final = re.compile(rb'"kind":"(?:suggested|warm_started)"|"trial":(\d+)\b')
"""Matches the number of each trial in a line, and events about earlier studies. The trial numbers in such an event are
those of the earlier study, so its line is always read.
"""


def space_of(folder: StudyFolder) -> Mapping[str, Any]:
    """Read the config of the space from the first event of a study's ledger, as plain data; empty if there is none."""
    first = next(iter(Ledger(folder.ledger).replay()), None)
    space = first.study.get("space") if isinstance(first, StudyOpened) else None
    return space if isinstance(space, Mapping) else {}


def is_finished(path: Path) -> bool:
    """Whether the search in the folder ``path`` is finished. Raises UserError for no study or a damaged ledger."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    if next(iter(ledger.replay()), None) is None:
        raise empty_ledger(path)
    ends = list(ledger.only("finished", "resumed", "extended"))
    return bool(ends) and isinstance(ends[-1], Finished)


@dataclass(slots=True)
class LastAblation:
    """The last ablation of a study. No earlier one can be unfinished, since none starts before the previous one ends.

    ``number``: its number. ``plan``: its plan; None if it was interrupted before it was planned. ``finished``: whether
    it is finished. If the ablation has several parts (``AblationPlanned``), each with its own number, these fields
    describe the last part so far.
    """

    number: int
    plan: AblationPlanned | None = None
    finished: bool = False

    @property
    def may_go_on(self) -> bool:
        """Whether another part may follow this one: an arm, the comparison of the arms, or more seeds."""
        plan = self.plan
        return plan is not None and (bool(plan.looks) or plan.continues is not None or plan.arm is not None)

    @property
    def is_interrupted(self) -> bool:
        """Whether this part is unfinished, or another one must follow it."""
        return not self.finished or (self.plan is not None and self.plan.arm is not None)


def last_ablation(path: Path) -> LastAblation | None:
    """Return the last ablation of the study in the folder ``path``; None if it has none."""
    last: LastAblation | None = None
    for event in Ledger(StudyFolder.existing(path).ledger).only("ablated"):
        if isinstance(event, Ablated):
            if last is None or last.number != event.ablation:
                last = LastAblation(event.ablation)
            last.finished = isinstance(event.event, Finished)
            last.plan = event.event if isinstance(event.event, AblationPlanned) else last.plan
    return last


def unfinished_ablation(path: Path) -> int | None:
    """Return the number of the unfinished ablation of the study in the folder ``path``; None if there is none."""
    last = last_ablation(path)
    return None if last is None or last.finished else last.number


def read_study(path: Path) -> StudyRecord:
    """Read the record of the study in the folder ``path``. Raises UserError if it is damaged or does not exist."""
    ledger = Ledger(StudyFolder.existing(path).ledger)
    try:
        columns = ledger.whole(lambda: columnar_record(ledger.lines()) if is_long(ledger) else None)
        record = columns or StudyRecord.of(ledger.read())
    except WrongEventError as error:
        raise UserError(f"{ledger.folder}: {error}") from None
    if record.opened is None:
        raise empty_ledger(path)
    record.cut = ledger.cut
    return record


def read_searched(path: Path) -> StudyRecord:
    """Read a study as ``read_study`` does. Also raises UserError if one of its ablations is unfinished."""
    if (last := last_ablation(path)) is not None and last.is_interrupted:
        raise UserError(f"{path}: an ablation of the study was interrupted (allowed: `{_resume(path)}` first)")
    return read_study(path)


def read_finished(path: Path) -> StudyRecord:
    """Read a study as ``read_searched`` does. Also raises UserError if the study is not finished."""
    record = read_searched(path)
    if not record.finished:
        enough = "; with --enough it starts no further trial" if record.ranked() else ""
        raise UserError(f"{path}: the study is not finished (allowed: `{_resume(path)}` first{enough})")
    return record


def _resume(path: Path) -> str:
    return shlex.join(["skipstack", "resume", str(path)])


def is_long(ledger: Ledger) -> bool:
    """Whether the ledger is large enough to be read as columns. Call this only within ``Ledger.whole``."""
    return sum(file.stat().st_size for file in ledger.files()) >= LONG


def empty_ledger(path: Path) -> UserError:
    """The error for a study whose ledger has no event."""
    return UserError(f"{path}: the ledger is empty (allowed: a folder that `skipstack search --out` made)")


def events_of_trials(ledger: Ledger, trials: Collection[int] | None, ablation: int | None = None) -> list[Event]:
    """Read the events of the given ``trials`` (None means all trials), and events about the study itself, in order.

    ``ablation``: the number of an ablation whose events to read; None means the events of the search. Raises UserError
    as ``Ledger.whole`` does, and if the study does not have the ablation.
    """
    found = ledger.whole(lambda: list(_found(ledger, trials, ablation)))
    if not found and ablation is not None:
        raise UserError(f"{ledger.folder}: got ablation {ablation}, which the study does not have")
    return found


def _found(ledger: Ledger, trials: Collection[int] | None, ablation: int | None) -> Iterator[Event]:
    for line in ledger.lines():
        for event in events_of(line) if _is_about(line, trials, ablation) else ():
            number, own = (event.ablation, event.event) if isinstance(event, Ablated) else (None, event)
            if number == ablation and (trials is None or getattr(own, "trial", None) in (None, *trials)):
                yield own


def _is_about(line: Line, trials: Collection[int] | None, ablation: int | None) -> bool:
    payload = line.payload or b""
    if ablation is not None:
        return b'"kind":"ablated"' in payload and b'"ablation":%d,' % ablation in payload
    numbers = ABOUT.findall(payload)
    return trials is None or not numbers or any(not each or int(each) in trials for each in numbers)
