"""The arguments of a user's function: its values, and the object by which it reports an epoch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, Protocol, final

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import shown
from skipstack.search.objectives.objectives import column
from skipstack.search.record.folder import make_trial_folder
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import present, read
from skipstack.spaces.subject import leaves

SCORE, TEST, EPOCH = "score", "test", "epoch"
"""The named arguments of a report; all others are metrics."""

TAKEN: Final = ("dev_score", "test_score", "seconds", "best_score", "best_epoch")
"""Metric names that the study itself uses."""


class TrialOver(BaseException):
    """The trial ended, or continues elsewhere. Not caught by ``except Exception``, so that the function ends."""


class ReportError(Exception):
    """A function made an invalid report."""


@final
class Values(Mapping[str, Any]):
    """The values that a function is called with, read-only: by dotted path; ``own``: those of this call alone, its seed
    under ``seed``, and its replicate.

    Iteration yields the paths of leaves; a path with several below it gives them as a mapping.
    """

    def __init__(self, values: Mapping[str, Json], own: Mapping[str, Json]) -> None:
        self._tree = {**values, **own}

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
    """A seed's report of an epoch: its score as the function measures it, and further metrics."""

    epoch: int
    score: float
    metrics: Mapping[str, float]
    seconds: float


@final
class Report:
    """The second argument of a function, one for each of its seeds: ``report(score=0.93)`` ends an epoch.

    ``folder``: a folder for this seed of this trial, which survives interruptions; created on first access. ``epoch``:
    of the last report, 0 before the first. A call returns if the trial goes on, and raises TrialOver if not, which ends
    the function. In a study of several objectives it has a value for each: ``report(accuracy=0.93, seconds=12.0)``.
    """

    def __init__(
        self,
        folder: Path,
        hand_over: Callable[[int, float, Mapping[str, float]], None],
        objectives: Sequence[str] = (),
    ) -> None:
        self.epoch = 0
        self._folder = folder
        self._hand_over = hand_over
        self._score, *self._further = objectives or (SCORE,)
        self._taken = {*TAKEN, *map(column, self._further)}

    @property
    def folder(self) -> Path:
        """The folder where the function may save its state and results."""
        make_trial_folder(self._folder)
        return self._folder

    def __call__(
        self, score: float | None = None, *, epoch: int | None = None, test: float | None = None, **metrics: float
    ) -> None:
        """End an epoch.

        ``score``: ranks the trials; it may be given by the name that the study's objectives have for it. ``test``: the
        same measure on test data, by which nothing is selected; ablations are confirmed on it if it is reported.
        ``epoch``: its number, counted from 1, for a function that continues from its state in ``folder``; an epoch that
        was reported before is ignored. ``metrics``: the further objectives, and any other numbers. Raises ReportError
        for a value that is no number, and for an objective without a value.
        """
        if score is not None and self._score != SCORE:
            if self._score in metrics:
                raise ReportError(
                    f"report({self._score}=...): got it twice (allowed: once, by its name or as the first)"
                )
            metrics[self._score] = score
        elif score is not None:
            metrics[SCORE] = score
        self._check_objectives(metrics)
        numbers = {SCORE: _number(self._score, metrics.pop(self._score))}
        for name in self._further:
            numbers[column(name)] = _finite(name, metrics.pop(name))
        for name in metrics:
            if name in self._taken:
                raise ReportError(f"report({name}=...): the study keeps its own under this name (allowed: another)")
        told = {"test_score": test} if test is not None else {}
        numbers |= {name: _number(name, value) for name, value in {**told, **metrics}.items()}
        following = self.epoch + 1 if epoch is None else epoch
        if isinstance(following, bool) or not isinstance(following, int) or following < 1:
            raise ReportError(f"report(epoch=...): got {epoch!r} (allowed: an epoch counted from 1)")
        if self.epoch and following != self.epoch + 1:
            raise ReportError(f"report(epoch=...): got {following} after {self.epoch} (allowed: {self.epoch + 1})")
        self.epoch = following
        self._hand_over(following, numbers.pop(SCORE), numbers)

    def returned(self, value: Any) -> None:
        """End the only epoch of a function that returned ``value``: its score, or a mapping of arguments."""
        if isinstance(value, Mapping):
            self(**value)
        elif self._further:
            form = ", ".join(f'"{name}": ...' for name in (self._score, *self._further))
            raise ReportError(f"the function returned {shown(value)} (allowed: {{{form}}})")
        else:
            self(value)

    def _check_objectives(self, given: Mapping[str, object]) -> None:
        """Raises ReportError where an objective has no value."""
        wanted = (self._score, *self._further)
        missing = [name for name in wanted if name not in given]
        if missing:
            near = get_close_matches(missing[0], [name for name in given if name not in wanted], n=1)
            raise ReportError(
                f"report(...): got {', '.join(given) or 'nothing'} without {', '.join(missing)} "
                f"({f'nearest: {near[0]!r}; ' if near else ''}allowed: {', '.join(wanted)}, and others beside)"
            )


class Reporting(Protocol):
    """A user's function that reports."""

    def __call__(self, config: Mapping[str, Any], report: Report, /) -> object:
        """Train with the values of ``config``, and report each epoch."""


class Scoring(Protocol):
    """A user's function of one epoch."""

    def __call__(self, config: Mapping[str, Any], /) -> float | Mapping[str, float]:
        """Train with the values of ``config``, and return the score, or the named arguments of a report."""


Objective = Reporting | Scoring
"""A user's function, called once for each seed of each trial, or each replicate of each seed."""


def _finite(name: str, value: Any) -> float:
    """A number by which trials can be ranked."""
    if isfinite(number := _number(name, value)):
        return number
    raise ReportError(f"report({name}=...): got {number} (allowed: a finite number)")


def _number(name: str, value: Any) -> float:
    """Convert a number of any library to a Python float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        shown = "test" if name == "test_score" else name
        raise ReportError(f"report({shown}=...): got {value!r} (allowed: a number)") from None
