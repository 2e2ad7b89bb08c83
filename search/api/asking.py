"""Requests of a user to a study, also while another process runs it: points to try, an early end, notes and titles.

A process that runs the study carries a request out when it next looks for some. Without such a process, notes and
titles are written at once, and points are tried when the study is resumed.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.surrogates import half_pair
from skipstack.search.api.provenance import user
from skipstack.search.ledger.events import Noted, Renamed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.extension import new_points
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_searched, read_study, unfinished_ablation
from skipstack.search.study.record.requests import Request, Requests
from skipstack.spaces.domains import Json

LONGEST_NOTE: Final = 5000
LONGEST_TITLE: Final = 200
"""The maximum numbers of characters: ``LONGEST_NOTE`` of a note, ``LONGEST_TITLE`` of a title."""


def ask_for(path: Path, points: Sequence[Mapping[str, Json]]) -> None:
    """Request that the study in the folder ``path`` tries ``points`` next. They are tried by the process that runs the
    study now, or else by the next process that resumes it. Raises UserError as ``read_searched`` and ``new_points`` do.
    """
    record = read_searched(path)
    asked = new_points(record.trials.values(), record.space, points)
    Requests(StudyFolder(path).asked).ask(Request(points=asked, asked_by=user()))


def ask_to_stop(path: Path, trials: Sequence[int] = ()) -> None:
    """Request that the process that runs the study in ``path`` ends ``trials`` at their next report. Without trials,
    request that the process starts no further trial: trials in training go on, and the study ends as usual. Raises
    UserError if no process runs the study, if its search is over, and for a trial that does not exist or has ended.
    """
    record, folder = read_searched(path), StudyFolder(path)
    if record.finished and not trials:
        raise UserError(f"{path}: its search is over (allowed: a study that still starts trials)")
    left = [number for number, trial in record.trials.items() if trial.reason is None]
    for number in trials:
        if number not in left:
            have = "has ended" if number in record.trials else "is not in this study"
            raise UserError(f"trial {number} {have} (allowed: {', '.join(map(str, left)) or 'none, all have ended'})")
    if not Ledger(folder.ledger).is_written:
        raise UserError(
            f"{path}: no process runs this study now (allowed: a study that runs; `skipstack resume {path} --enough` "
            "ends this one)"
        )
    Requests(folder.asked).ask(Request(stop=tuple(trials), enough=not trials, asked_by=user()))


def noted(path: Path, text: str, trial: int | None = None) -> None:
    """Write a note on the study in ``path``, or on a trial, in place of an earlier one; an empty text removes it.

    Raises UserError for a trial that does not exist, for too long a text, for half a surrogate pair, and while an
    ablation runs.
    """
    text, trials = text.strip(), read_study(path).trials
    if trial is not None and trial not in trials:
        allowed = f"0 to {len(trials) - 1}" if trials else "none, no trial has started"
        raise UserError(f"trial {trial} is not in this study (allowed: {allowed})")
    if len(text) > LONGEST_NOTE:
        raise UserError(f"the note: got {len(text):,} characters (allowed: up to {LONGEST_NOTE:,})")
    _check_whole("the note", text)
    _write_about(path, Noted(time=time.time(), trial=trial, text=text, asked_by=user()))


def renamed(path: Path, title: str) -> None:
    """Give the study in ``path`` another title. Raises UserError for an empty or too long title, for half a surrogate
    pair, and while an ablation runs.
    """
    title = " ".join(title.split())
    if not 0 < len(title) <= LONGEST_TITLE:
        raise UserError(f"the title: got {len(title):,} characters (allowed: 1 to {LONGEST_TITLE:,})")
    _check_whole("the title", title)
    _write_about(path, Renamed(time=time.time(), title=title, asked_by=user()))


def _check_whole(name: str, text: str) -> None:
    if half_pair(text) is not None:
        raise UserError(f"{name}: got half a surrogate pair in {text!a} (allowed: whole characters)")


def _write_about(path: Path, event: Noted | Renamed) -> None:
    """Write the event into the study's ledger. If a process runs the study, ask that process to write it instead.
    Raises UserError while an ablation runs.
    """
    folder = StudyFolder.existing(path)
    ledger = Ledger(folder.ledger)
    if not ledger.is_written:
        with ledger:
            ledger.append(event)
    elif unfinished_ablation(path) is None:
        Requests(folder.asked).ask(Request(written=event, asked_by=event.asked_by))
    else:
        raise UserError(f"{path}: an ablation of the study runs (allowed: once it has ended)")


def write_requested(folder: StudyFolder, ledger: Ledger) -> None:
    """Write the notes and titles that were requested while no driver looked: after the end of the study, or during
    ``sync``. Requests that cannot be written wait on.
    """
    requests = Requests(StudyFolder(folder.path).asked)
    with suppress(OSError):
        for name, request in requests.waiting().items():
            if request.written is not None:
                ledger.append(request.written.model_copy(update={"time": time.time()}))
                requests.took(name)
