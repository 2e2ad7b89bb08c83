"""Ledgers of earlier formats, brought to today's form as they are read. What is written stays as it is.

========  ==========================================================
format    what its ``study_opened`` says
========  ==========================================================
1         no format: that of skipstack 0.1.0
2         ``format``
========  ==========================================================

All other events are the same in both, so a driver of today's version goes on with an older ledger as it is.
"""

import json
from typing import Any, Final

from skipstack.data.basis.errors import newer
from skipstack.data.basis.frozen import identity

FORMAT: Final = 2
"""Of the ledgers that this version begins."""

OPENED: Final = "study_opened"
"""The kind of the event that says the format: the first."""


def upgraded(text: str | bytes) -> str | bytes:
    """The JSON of events that belong together, in today's form; text that is no JSON as it is.

    Raises UserError for a format that is newer than this version.
    """
    if (OPENED.encode() if isinstance(text, bytes) else OPENED) not in text:  # type: ignore[operator]
        return text
    try:
        events = json.loads(text)
    except ValueError:
        return text
    return json.dumps([_opened(event) if _is_opened(event) else event for event in events])


def _is_opened(event: Any) -> bool:
    return isinstance(event, dict) and event.get("kind") == OPENED


def _opened(event: dict[str, Any]) -> dict[str, Any]:
    written = event.get("format", 1)
    if isinstance(written, int) and written > FORMAT:
        raise newer("a ledger", written, FORMAT)
    if written != 1:
        return event
    return {**event, "format": FORMAT, "earlier_identity": identity(event)}
