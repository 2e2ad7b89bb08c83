"""Sends the files that trials have on a machine when the user interrupts: during epochs, which may take long."""

import re
from contextlib import suppress
from typing import Final

from skipstack.search.execution.engines.ray.carrying.keeper import Keeping
from skipstack.search.execution.engines.ray.carrying.parcels import parcels
from skipstack.search.execution.engines.ray.carrying.place import files_of
from skipstack.search.execution.engines.ray.carrying.scratch import Scratch, is_used
from skipstack.search.execution.workers.attempts import SupersededError

HALF_WRITTEN: Final = re.compile(r"(.*/)?\.[^/]*\.[0-9a-f]{16}")
"""Temporary names of files that are still being written (``data/basis/atomic_files.py``)."""


def gathered(word: str, keeper: Keeping) -> None:
    """Send all files of the trials that train on this machine, in the study with the mark ``word``."""
    if not is_used(word):
        return
    with Scratch(word) as scratch:
        for number, attempt, folder in scratch.trials():
            names = [name for name in files_of(folder) if not HALF_WRITTEN.fullmatch(name)]
            with suppress(SupersededError):
                for parcel in parcels(folder, names):
                    keeper.take(number, attempt, parcel)
