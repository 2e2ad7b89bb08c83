"""The mark of a running study: a file with a random word in the folder of the study's trials. A machine that reads the
same word sees the same folder.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from skipstack.data.basis.errors import one_line

MARK: Final = ".preflight"
"""Name of the file with the word."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a study. ``trials``: the folder of its trials on the driver's machine. ``word``: the random word."""

    trials: Path
    word: str

    @classmethod
    def made(cls, trials: Path) -> Self:
        """Write a new mark into ``trials``, which is created if it does not exist."""
        trials.mkdir(parents=True, exist_ok=True)
        word = secrets.token_hex(8)
        (trials / MARK).write_text(word)
        return cls(trials.resolve(), word)

    def unseen(self) -> str | None:
        """The reason, in one line, why this machine does not see the folder of the study's trials; None if it does.
        Another folder at the same path, such as a copy, does not count.
        """
        try:
            found = (self.trials / MARK).read_text()
        except (OSError, ValueError) as error:
            return f"{self.trials} cannot be read ({one_line(error)})"
        return None if found == self.word else f"{self.trials} is another folder there"


def unwritable(folder: Path) -> str | None:
    """Return the reason, in one line, why this machine cannot write files in a folder; None if it can."""
    beside = folder / f"{MARK}.{secrets.token_hex(8)}"
    try:
        beside.write_text(str(os.getpid()))
        beside.unlink()
    except OSError as error:
        return f"{folder} cannot be written ({one_line(error)})"
    return None
