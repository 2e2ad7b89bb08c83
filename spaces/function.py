"""What a function of one's own is called with: the subject of a trial that is not trained here."""

from typing import ClassVar, Final, Literal

from pydantic import ConfigDict, JsonValue, PositiveInt

from skipstack.data.basis.frozen import Frozen
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.reported import HIGHER, LOWER
from skipstack.spaces.domains import Json
from skipstack.spaces.subject import Subject

FUNCTION: Final = "function"
"""The key of a base that says which function is called: a base with it is that of a function."""

SEED: Final = "seed"
"""The key under which a function is given its seed."""

RESERVED: Final = (FUNCTION, SEED)

Direction = Literal["maximise", "minimise"]

EPOCHS: Final = 100
"""Reports of a seed, at most, where nobody says how many."""


class FunctionSource(Frozen):
    """Which function is called, ``name`` in the file ``file``; and 16 digits of a SHA-256 of its ``source``."""

    name: str
    file: str
    source: str
    direction: Direction = "maximise"
    """Whether a higher score is better, or a lower one."""
    epochs: PositiveInt = EPOCHS
    """Reports after which a trial is complete; a function may return before."""


class FunctionConfig(Subject):
    """The subject of a trial that calls a function: which one, and beside it the values that it is called with.

    The values are the base's and the axes', as nested mappings: ``model.depth`` is ``depth`` inside ``model``.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]
    keeps_weights: ClassVar[bool] = False

    function: FunctionSource

    @property
    def values(self) -> dict[str, Json]:
        """What the function is called with, its seed aside."""
        return {name: value for name, value in self.model_dump(mode="json").items() if name != FUNCTION}

    @property
    def epochs(self) -> int:
        """Reports after which a trial is complete."""
        return self.function.epochs

    @property
    def title(self) -> str:
        """The function and its file."""
        return f"{self.function.name} in {self.function.file}" if self.function.file else self.function.name

    @property
    def measure(self) -> Measure:
        """What the function reports."""
        return HIGHER if self.function.direction == "maximise" else LOWER
