"""What ``make gpu-check`` measures, row by row, in the order of its worth: what the budget ends comes last."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from skipstack.search.study.study_files.document import presets

Kind = Literal["machine", "losses", "memory", "neighbours", "trials", "side_by_side", "compiling", "steps", "tests"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

SECONDS: Final[dict[Kind, float]] = {
    "machine": 5,
    "losses": 5,
    "memory": 10,
    "neighbours": 20,
    "trials": 60,
    "side_by_side": 20,
    "compiling": 15,
    "steps": 10,
    "tests": 60,
}
"""What a row takes, about: none begins with less left."""

PATIENCE: Final = 6
"""After so many times that, a row is ended; tests may take all that is left."""

MOST: Final[dict[Kind, float]] = {"losses": 150, "memory": 60, "side_by_side": 150, "compiling": 60, "steps": 240}
"""Seconds for all rows of a kind, so that a slow machine tells something of each."""

TIMED = ("quickstart", "tagger", "collins/taggers", "chen2017/default", "wu2017/default", "gui2019/ner", "gui2019/lm")

GENERATED = ("quickstart", "wu2017/quick", "gui2019/numbers")
"""Presets whose corpora need not be fetched."""

LANES = (1, 4, 16)

ALONE: Final = frozenset({"memory", "compiling", "tests"})
"""Kinds of which each row has a process of its own: what was done before would show in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row: what is measured, of which preset, with how many lanes in how many processes."""

    kind: Kind
    preset: str = ""
    lanes: int = 0
    processes: int = 0
    mps: bool = False

    @property
    def named(self) -> dict[str, Any]:
        """What the row is called in a line: ``row`` for its kind, and what is not empty."""
        given = {name: value for name, value in asdict(self).items() if value and name != "kind"}
        return {"row": self.kind, **given}


def planned(kinds: Sequence[Kind] = KINDS, timed: Sequence[str] = TIMED, lanes: Sequence[int] = LANES) -> list[Row]:
    """The rows of these kinds, in the order of ``KINDS``."""
    most = [each for each in lanes if each > 1]
    of_kind: dict[Kind, list[Row]] = {
        "machine": [Row(kind="machine")],
        "losses": [Row(kind="losses", preset=preset) for preset in presets()],
        "memory": [Row(kind="memory", preset=preset) for preset in GENERATED],
        "neighbours": [Row(kind="neighbours", preset=GENERATED[0])],
        "trials": [Row(kind="trials", preset=GENERATED[0])],
        "side_by_side": [
            *(Row(kind="side_by_side", preset=timed[0], lanes=each, processes=1) for each in lanes),
            *(Row(kind="side_by_side", preset=timed[0], lanes=1, processes=each) for each in most),
            *(Row(kind="side_by_side", preset=timed[0], lanes=1, processes=each, mps=True) for each in most),
        ],
        "compiling": [Row(kind="compiling", preset=preset) for preset in timed[:3]],
        "steps": [Row(kind="steps", preset=preset, lanes=each) for each in lanes for preset in timed],
        "tests": [Row(kind="tests")],
    }
    return [row for kind in KINDS if kind in kinds for row in of_kind[kind]]
