"""What is to be written in one run of MLflow, and by what runs are known."""

from dataclasses import dataclass, field
from typing import Final, Literal

RunKey = tuple[int | None, int | None]
"""By ablation and trial: a trial of the search is ``(None, number)``, an ablation ``(number, None)``."""

STUDY: Final[RunKey] = (None, None)

Status = Literal["RUNNING", "FINISHED", "FAILED", "KILLED"]

LONGEST: Final = 6000
"""Characters of a value at most; MLflow takes 6000 of a parameter and 8000 of a tag."""


@dataclass(frozen=True, slots=True)
class Read:
    """A corpus that a run reads: its name, the fingerprint of its content, and its config as JSON."""

    name: str
    fingerprint: str
    config: str


@dataclass(slots=True)
class Entry:
    """What is to be written in one run. ``name`` and ``start`` are there only before it was first written.

    ``status`` is None where it stays as it is. ``start`` and ``end`` are Unix milliseconds. ``files``: texts by the
    names that they have among the run's artifacts.
    """

    name: str = ""
    start: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    corpus: Read | None = None
    status: Status | None = None
    end: int | None = None

    @property
    def says(self) -> bool:
        """Whether there is anything in it for a run that is there already."""
        return bool(self.tags or self.params or self.metrics or self.files or self.corpus or self.status)


def note(text: str) -> dict[str, str]:
    """The tag that MLflow shows as a run's description."""
    return {"mlflow.note.content": text[:LONGEST]} if text else {}
