"""What the runs of a study show beside its numbers, once there is something to show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skipstack.search.tracking.entry import RunKey


@dataclass(frozen=True, kw_only=True, slots=True)
class BestBundle:
    """The best network of a study: ``name`` tells it from any other of the study, ``write`` writes its bundle.

    ``write`` takes a new folder and raises UserError where the weights are gone.
    """

    name: str
    trial: int
    write: Callable[[Path], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """What is shown: ``notes``, in Markdown, and ``metrics`` and ``tags`` by run; ``files`` of the study's own run.

    ``made_of``: what says whether the files are others than those that are there.
    """

    made_of: str

    notes: Mapping[RunKey, str] = field(default_factory=dict)
    metrics: Mapping[RunKey, Mapping[str, float]] = field(default_factory=dict)
    tags: Mapping[RunKey, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    best: BestBundle | None = None
