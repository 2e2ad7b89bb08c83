"""Replicates: the seed, and the fold of a data set or the value of a list, with which each call of a trial is made.

A trial of a function is one call for each seed; with replicates, one for each replicate of each seed. Calls are
numbered, and a ledger has these numbers as the trial's seeds: call c of k replicates has the seed c // k and the
replicate c % k. Without replicates the number is the seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from skipstack.data.basis.counted import counted
from skipstack.data.basis.explain import shown
from skipstack.spaces.domains import Json
from skipstack.spaces.function import RESERVED, SEED

MOST_FOLDS: Final = 10_000
"""The largest number of folds."""

TAKEN: Final = (
    *("trial", "epoch", "best_epoch", "score", "dev", "test", "seconds"),
    *("event", "best_event", "tested_event"),
)
"""The names of columns of the tables that have a row for each call."""

ALLOWED: Final = "allowed: one name, with the number of folds or a list of values, such as {fold: 5}"


@final
@dataclass(frozen=True, slots=True)
class Replicates:
    """The replicates of each seed.

    ``name``: the argument in which a call gets one of the ``values``; empty: a call gets its seed alone. ``folds``:
    the values are folds of one data set, of which each call trains on all but one.
    """

    name: str = ""
    values: tuple[Json, ...] = (None,)
    folds: bool = False

    @classmethod
    def of(cls, given: Mapping[str, int | Sequence[Json]]) -> "Replicates":
        """The replicates that a study states, such as ``{"fold": 5}`` or ``{"corpus": ["a", "b"]}``; or none."""
        for name, value in given.items():
            return cls(name, tuple(range(value)), True) if isinstance(value, int) else cls(name, tuple(value))
        return SEEDS_ALONE

    @property
    def number(self) -> int:
        """The number of calls for each seed."""
        return len(self.values)

    def counted(self, calls: int) -> str:
        """A number of calls in words: ``2 seeds``, ``5 folds of each of 2 partitions``, ``3 values of corpus``."""
        if not self.name:
            return counted(calls, "seed")
        seeds = max(calls // self.number, 1)
        own = counted(calls // seeds, "fold" if self.folds else "value")
        if self.folds:
            return f"{own} of each of {seeds} partitions" if seeds > 1 else own
        return f"{own} of {self.name}, each with {seeds} seeds" if seeds > 1 else f"{own} of {self.name}"

    def calls(self, seeds: range) -> range:
        """The numbers of all calls with these seeds."""
        return range(seeds.start * self.number, seeds.stop * self.number)

    def seed(self, call: int) -> int:
        """The seed of a call."""
        return call // self.number

    def value(self, call: int) -> Json:
        """The replicate of a call."""
        return self.values[call % self.number]

    def arguments(self, call: int) -> dict[str, Json]:
        """The arguments of a call beside the values of its trial."""
        return {SEED: self.seed(call), **({self.name: self.value(call)} if self.name else {})}

    def words(self, call: int) -> str:
        """A call in words: ``seed 3``, or ``seed 0, fold 2``."""
        return ", ".join(f"{name} {value}" for name, value in self.arguments(call).items())

    def folder(self, call: int) -> Path:
        """The folder of a call inside that of its trial."""
        own = Path(f"{SEED}-{self.seed(call)}")
        return own / f"{self.name}-{call % self.number}" if self.name else own


SEEDS_ALONE: Final = Replicates()
"""The replicates of a study that states none: each seed is one call."""


def checked(given: Any) -> Any:
    """The replicates as a study states them; empty if it states none. Raises ValueError for invalid ones."""
    if given is None or given == {}:
        return {}
    if not isinstance(given, Mapping) or len(given) != 1:
        raise ValueError(f"got {shown(given)} ({ALLOWED})")
    ((name, value),) = given.items()
    if not isinstance(name, str) or not name.isidentifier() or name in (*RESERVED, *TAKEN):
        raise ValueError(
            f"got the name {shown(name)} (allowed: a Python name other than {', '.join(RESERVED + TAKEN)})"
        )
    if isinstance(value, int) and not isinstance(value, bool):
        if not 2 <= value <= MOST_FOLDS:
            raise ValueError(f"{name}: got {value} (allowed: 2 to {MOST_FOLDS:,} folds)")
        return given
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: got {shown(value)} ({ALLOWED})")
    if wrong := [each for each in value if isinstance(each, bool) or not isinstance(each, str | int | float)]:
        raise ValueError(f"{name}: got {shown(wrong[0])} (allowed: a list of texts or numbers)")
    if len(set(value)) < max(len(value), 2):
        raise ValueError(f"{name}: got {shown(list(value))} (allowed: two values or more, each once)")
    return given
