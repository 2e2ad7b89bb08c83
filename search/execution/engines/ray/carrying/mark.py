"""The mark of a running study: a word among its trials, which a machine reads only if it sees that very folder."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from skipstack.data.basis.errors import one_line

MARK: Final = ".preflight"
"""The file with the word."""


@dataclass(frozen=True, slots=True)
class Mark:
    """``trials``: the folder of the study's trials, as the driver's machine has it; ``word``: what stands there."""

    trials: Path
    word: str

    @classmethod
    def made(cls, trials: Path) -> Self:
        """A new mark in ``trials``, which is made where it is not there yet."""
        trials.mkdir(parents=True, exist_ok=True)
        word = secrets.token_hex(8)
        (trials / MARK).write_text(word)
        return cls(trials.resolve(), word)

    def unseen(self) -> str | None:
        """Why this machine does not see the folder, in one line; None where it sees the driver's own, and no copy."""
        try:
            found = (self.trials / MARK).read_text()
        except (OSError, ValueError) as error:
            return f"{self.trials} cannot be read ({one_line(error)})"
        return None if found == self.word else f"{self.trials} is another folder there"


def unwritable(folder: Path) -> str | None:
    """Why this machine cannot write in a folder, in one line; None where it can."""
    beside = folder / f"{MARK}.{secrets.token_hex(8)}"
    try:
        beside.write_text(str(os.getpid()))
        beside.unlink()
    except OSError as error:
        return f"{folder} cannot be written ({one_line(error)})"
    return None
