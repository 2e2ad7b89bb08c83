"""Converts ledgers of earlier formats to the current one as they are read. The files do not change.

========  =====================================================================================================
format    its ``study_opened`` event
========  =====================================================================================================
1         no format; schedulers under ``search.asha``, ``hyperband``, ``median`` and ``keep_best``, at most one of
          which is not null; the proposer as a word, the options of evolution under ``search.evolution``
2         ``format``; ``search.scheduler`` and ``search.proposer``, each a mapping with a ``kind``
3         as 2; ``tested`` events also have counts by sentence, and ``corpus_prepared`` events a health report
========  =====================================================================================================

Since version 0.3.0 a fault may also be ``lost`` or ``preempted``, a corpus may have ``documents``, and events say when
a worker takes a trial up (``begun``) and measures it (``measuring``); no earlier version reads a ledger that has one of
these.

All other events of earlier formats are read unchanged, so a driver of this version can continue an older ledger.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from skipstack.data.basis.errors import newer
from skipstack.data.basis.frozen import identity

FORMAT: Final = 3
"""The format of new ledgers."""

OPENED: Final = "study_opened"
"""The kind of the first event, which has the format."""

SCHEDULERS: Final = ("asha", "hyperband", "median", "keep_best")
"""The keys of a search that named a scheduler in format 1."""

REPLACED: Final = (*SCHEDULERS, "evolution")
"""The keys of a search that were removed in format 2."""


def upgraded(text: str | bytes) -> str | bytes:
    """Convert the JSON of events to the current format; text that is not JSON is returned unchanged.

    Raises UserError for a format that is newer than this version.
    """
    if (OPENED.encode() if isinstance(text, bytes) else OPENED) not in text:  # type: ignore[operator]
        return text
    try:
        events = json.loads(text)
    except ValueError:
        return text
    return json.dumps([_opened(event) if _is_opened(event) else event for event in events])


def upgraded_search(search: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a search of format 1, or a part of one, to the current keys."""
    kept = {key: value for key, value in search.items() if key not in REPLACED}
    given = {key: search[key] for key in SCHEDULERS if key in search}
    chosen = [{"kind": key, **options} for key, options in given.items() if options is not None]
    if given:
        kept["scheduler"] = chosen[0] if chosen else {"kind": "none"}
    if search.get("proposer", "evolution") == "evolution" and "evolution" in search:
        kept["proposer"] = {"kind": "evolution", **search["evolution"]}
    elif isinstance(search.get("proposer"), str):
        kept["proposer"] = {"kind": search["proposer"]}
    return kept


def _is_opened(event: Any) -> bool:
    return isinstance(event, dict) and event.get("kind") == OPENED


def _opened(event: dict[str, Any]) -> dict[str, Any]:
    written = event.get("format", 1)
    if isinstance(written, int) and written > FORMAT:
        raise newer("a ledger", written, FORMAT)
    if written != 1:
        return event
    study = event["study"]
    return {
        **event,
        "format": FORMAT,
        "earlier_identity": identity(event),
        "study": {**study, "search": upgraded_search(study["search"])},
    }
