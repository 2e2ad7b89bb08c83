"""What a function of one's own is called with: its values, and how it reports an epoch."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, final

from skipstack.data.basis.errors import unknown
from skipstack.spaces.domains import Json
from skipstack.spaces.function import SEED
from skipstack.spaces.paths import present, read
from skipstack.spaces.subject import leaves

SCORE, TEST, EPOCH = "score", "test", "epoch"
"""What a report may say beside metrics of any other name."""

TAKEN: Final = ("dev_score", "test_score", "seconds", "best_score", "best_epoch")
"""Names under which the study itself keeps something."""


class TrialOver(BaseException):
    """The trial goes on no more, or not here. It passes ``except Exception``, so the function ends."""


class ReportError(Exception):
    """What a function reported is no report."""


@final
class Values(Mapping[str, Any]):
    """What a function is called with, read-only: the values of its study by dotted path, and its seed under ``seed``.

    Listed are the leaves; a path that has several below it gives them as a mapping.
    """

    def __init__(self, values: Mapping[str, Json], seed: int) -> None:
        self._tree = {**values, SEED: seed}

    def __getitem__(self, path: str) -> Any:
        if not present(self._tree, path):
            raise KeyError(unknown("value", path, self))
        return read(self._tree, path)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and present(self._tree, path)

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in leaves(self._tree))

    def __len__(self) -> int:
        return len(leaves(self._tree))

    def __repr__(self) -> str:
        return f"Values({dict(self)})"


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What a seed reported of an epoch: its score as the function measures it, and what else it told."""

    epoch: int
    score: float
    metrics: Mapping[str, float]
    seconds: float


@final
class Report:
    """What a function reports to, one for each of its seeds: ``report(score=0.93)`` ends an epoch.

    ``folder``: of this seed of this trial, which outlives an interruption; made when it is asked for. ``epoch``: of the
    last report, 0 before it. A call returns once it is known that the trial goes on, and raises TrialOver where it
    does not: the function then ends, as it does where it returns by itself.
    """

    def __init__(self, folder: Path, hand_over: Callable[[int, float, Mapping[str, float]], None]) -> None:
        self.epoch = 0
        self._folder = folder
        self._hand_over = hand_over

    @property
    def folder(self) -> Path:
        """Where the function may keep what it goes on from, or leaves behind."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def __call__(self, score: float, *, epoch: int | None = None, test: float | None = None, **metrics: float) -> None:
        """End an epoch.

        ``score``: what trials are ranked by. ``test``: the same measure on what nothing is chosen by; where it is
        reported, ablations are confirmed on it. ``epoch``: which one it is, counted from 1, of a function that goes on
        from what it kept in ``folder``; one that has been reported counts for nothing. ``metrics``: whatever else is a
        number. Raises ReportError for what is none.
        """
        for name in metrics:
            if name in TAKEN:
                raise ReportError(f"report({name}=...): the study keeps its own under this name (allowed: another)")
        told = {"test_score": test} if test is not None else {}
        numbers = {name: _number(name, value) for name, value in {SCORE: score, **told, **metrics}.items()}
        following = self.epoch + 1 if epoch is None else epoch
        if isinstance(following, bool) or not isinstance(following, int) or following < 1:
            raise ReportError(f"report(epoch=...): got {epoch!r} (allowed: an epoch counted from 1)")
        if self.epoch and following != self.epoch + 1:
            raise ReportError(f"report(epoch=...): got {following} after {self.epoch} (allowed: {self.epoch + 1})")
        self.epoch = following
        self._hand_over(following, numbers.pop(SCORE), numbers)


class Objective(Protocol):
    """A function of one's own: it is called once for each seed of each trial."""

    def __call__(self, config: Mapping[str, Any], report: Report, /) -> object:
        """Train with the values of ``config``, and report each epoch."""


def _number(name: str, value: Any) -> float:
    """A number of any library as one of Python's."""
    try:
        return float(value)
    except (TypeError, ValueError):
        shown = "test" if name == "test_score" else name
        raise ReportError(f"report({shown}=...): got {value!r} (allowed: a number)") from None
