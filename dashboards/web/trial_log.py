"""Shows the last lines of a trial's log on a page."""

from pathlib import Path
from typing import Final

import streamlit as st

from skipstack.dashboards.web.elements import sentence
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.log_file import LogFile

SHOWN: Final = 200
"""The maximum number of lines that are shown, from the end of the log."""


def trial_log(path: Path, number: int, ablation: int | None = None) -> None:
    """Show the end of a trial's log. ``path``: the study's folder. ``ablation``: None means a trial of the search."""
    folder = StudyFolder(path, ablation)
    lines = LogFile(folder.log(number)).whole().splitlines()
    if not lines:
        sentence(f"Trial {number} has printed nothing.", pale=True)
        return
    st.code("\n".join(lines[-SHOWN:]), language=None, height=None if len(lines) < 25 else 480)
    if len(lines) > SHOWN:
        sentence(f"The last {SHOWN} of {len(lines):,} lines{folder.log_named(number)}.", pale=True)
