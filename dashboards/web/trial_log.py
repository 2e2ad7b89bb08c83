"""The last lines of a trial's log, on a page."""

from pathlib import Path
from typing import Final

from skipstack.dashboards.web.elements import code, sentence
from skipstack.data.basis.errors import UserError
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.log_file import LogFile

SHOWN: Final = 200
"""The maximum number of lines that are shown, from the end of the log."""


def log_size(path: Path, number: int, ablation: int | None = None) -> int:
    """The bytes of a trial's log. ``path``, ``ablation``: as for ``trial_log``."""
    try:
        return StudyFolder(path, ablation).log(number).stat().st_size
    except OSError:  # there is none yet
        return 0


def trial_log(path: Path, number: int, ablation: int | None = None) -> str:
    """The end of a trial's log. ``path``: the study's folder. ``ablation``: None means a trial of the search."""
    folder = StudyFolder(path, ablation)
    try:
        lines = LogFile(folder.log(number)).whole().splitlines()
    except UserError as error:  # the rest of the page does not need the log
        return sentence(str(error))
    if not lines:
        return sentence(f"Trial {number} has printed nothing.", pale=True)
    told = f"The last {SHOWN} of {len(lines):,} lines{folder.log_named(number)}."
    return code("\n".join(lines[-SHOWN:])) + (sentence(told, pale=True) if len(lines) > SHOWN else "")
