"""The history of some trials of a study: their own events and those of the study, without reading those of others."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ablated, Event
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.ledger.lines import Line

ABOUT: Final = re.compile(rb'"kind":"(?:suggested|warm_started)"|"trial":(\d+)\b')
"""Matches what tells which trials a line is about; events on earlier studies name trials of those studies."""


def events_of_trials(ledger: Ledger, trials: Collection[int] | None, ablation: int | None = None) -> list[Event]:
    """The events of these trials, or of all (None), and those about the study itself, in order; of an ablation, those
    of its own study.

    Raises UserError as ``Ledger.whole`` does, and for an ablation that is not there.
    """
    found = ledger.whole(lambda: list(_found(ledger, trials, ablation)))
    if not found and ablation is not None:
        raise UserError(f"{ledger.folder}: got ablation {ablation}, which the study does not have")
    return found


def _found(ledger: Ledger, trials: Collection[int] | None, ablation: int | None) -> Iterator[Event]:
    for line in ledger.lines():
        for event in events_of(line) if _is_about(line, trials, ablation) else ():
            if isinstance(event, Ablated):
                own: Event | None = event.event if event.ablation == ablation else None
            else:
                own = event if ablation is None else None
            if own is not None and (trials is None or getattr(own, "trial", None) in (None, *trials)):
                yield own


def _is_about(line: Line, trials: Collection[int] | None, ablation: int | None) -> bool:
    payload = line.payload or b""
    if ablation is not None:
        return b'"kind":"ablated"' in payload and b'"ablation":%d,' % ablation in payload
    numbers = ABOUT.findall(payload)
    return trials is None or not numbers or any(not each or int(each) in trials for each in numbers)
