"""Replicates: repeated calls of a user's function with the same seed, each on another fold or another value of a list.

A trial of a function is one call for each seed or, with replicates, one call for each replicate of each seed. Calls are
numbered, and ledgers record these numbers as the seeds of the trial. With k replicates, call c has the seed c // k and
the replicate c % k. Without replicates, the number of a call is its seed.
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
"""The maximum number of folds."""

TAKEN: Final = (
    *("trial", "epoch", "best_epoch", "score", "dev", "test", "seconds"),
    *("event", "best_event", "tested_event"),
)
"""Names that replicates cannot have. They are columns of the tables that have a row for each call."""

ALLOWED: Final = "allowed: one name, with the number of folds or a list of values, such as {fold: 5}"


@final
@dataclass(frozen=True, slots=True)
class Replicates:
    """The replicates of each seed.

    ``name``: the argument in which a call gets its replicate; empty if there are none. ``values``: the replicates.
    ``folds``: whether the replicates are folds of one data set. Each call then trains on all folds but one.
    """

    name: str = ""
    values: tuple[Json, ...] = (None,)
    folds: bool = False

    @classmethod
    def of(cls, given: Mapping[str, int | Sequence[Json]]) -> "Replicates":
        """Return the replicates of a config such as ``{"fold": 5}`` or ``{"corpus": ["a", "b"]}``; none for ``{}``."""
        for name, value in given.items():
            return cls(name, tuple(range(value)), True) if isinstance(value, int) else cls(name, tuple(value))
        return SEEDS_ALONE

    @property
    def number(self) -> int:
        """The number of calls for each seed."""
        return len(self.values)

    def counted(self, calls: int) -> str:
        """Describe a number of calls: ``2 seeds``, ``5 folds of each of 2 partitions``, ``3 values of corpus``."""
        if not self.name:
            return counted(calls, "seed")
        seeds = max(calls // self.number, 1)
        own = counted(calls // seeds, "fold" if self.folds else "value")
        if self.folds:
            return f"{own} of each of {seeds} partitions" if seeds > 1 else own
        return f"{own} of {self.name}, each with {seeds} seeds" if seeds > 1 else f"{own} of {self.name}"

    def calls(self, seeds: range) -> range:
        """Return the numbers of all calls with these seeds."""
        return range(seeds.start * self.number, seeds.stop * self.number)

    def seed(self, call: int) -> int:
        """Return the seed of the call with this number."""
        return call // self.number

    def value(self, call: int) -> Json:
        """Return the replicate of the call with this number."""
        return self.values[call % self.number]

    def arguments(self, call: int) -> dict[str, Json]:
        """Return the arguments of a call apart from the values of its trial: its seed, and its replicate if any."""
        return {SEED: self.seed(call), **({self.name: self.value(call)} if self.name else {})}

    def words(self, call: int) -> str:
        """Describe a call: ``seed 3``, or ``seed 0, fold 2``."""
        return ", ".join(f"{name} {value}" for name, value in self.arguments(call).items())

    def folder(self, call: int) -> Path:
        """Return the folder of a call, relative to the folder of its trial."""
        own = Path(f"{SEED}-{self.seed(call)}")
        return own / f"{self.name}-{call % self.number}" if self.name else own


SEEDS_ALONE: Final = Replicates()
"""The value for studies without replicates, in which each seed is one call."""


def checked(given: Any) -> Any:
    """Check the replicates in a config, and return them ({} for none). Raises ValueError if they are invalid."""
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
