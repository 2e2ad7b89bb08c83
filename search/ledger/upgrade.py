"""Ledgers of earlier formats, brought to today's form as they are read. What is written stays as it is.

========  =====================================================================================================
format    what its ``study_opened`` says
========  =====================================================================================================
1         no format; who stops trials under ``search.asha``, ``hyperband``, ``median`` and ``keep_best``, at most
          one of which is not null; the proposer as a word, the options of evolution under ``search.evolution``
2         ``format``; ``search.scheduler`` and ``search.proposer``, each a mapping with a ``kind``
3         as 2; what is tested says it sentence by sentence, too, and corpora what they are made of
========  =====================================================================================================

All other events of earlier formats are read as they are, so a driver of today's version goes on with an older ledger.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from skipstack.data.basis.errors import newer
from skipstack.data.basis.frozen import identity

FORMAT: Final = 3
"""Of the ledgers that this version begins."""

OPENED: Final = "study_opened"
"""The kind of the event that says the format: the first."""

SCHEDULERS: Final = ("asha", "hyperband", "median", "keep_best")
"""The keys of a search that named a scheduler in format 1."""

REPLACED: Final = (*SCHEDULERS, "evolution")
"""The keys of a search that formats from 2 on do not have."""


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


def upgraded_search(search: Mapping[str, Any]) -> dict[str, Any]:
    """What a search of format 1 says, or a part of it, with the keys that it has today."""
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
