"""The subject of a trial that calls a user's function instead of training a network."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import ConfigDict, JsonValue, PositiveInt

from skipstack.data.basis.frozen import UNSAID, Brief
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.reported import SCORE, reported_score
from skipstack.spaces.domains import Json
from skipstack.spaces.subject import Subject

FUNCTION: Final = "function"
"""The key of a base that names the function to call; it marks a function's base."""

SEED: Final = "seed"
"""The argument in which a function gets its seed."""

ELSEWHERE: Final = ""
"""The source of a function that another tool has called."""

RESERVED: Final = (FUNCTION, SEED)

Direction = Literal["maximize", "minimize"]

RecordedDirection = Literal["maximise", "minimise"]
"""A direction as ledgers have it, in the identity of every config."""

RECORDED: Final[Mapping[str, RecordedDirection]] = {
    "maximize": "maximise",
    "minimize": "minimise",
    "maximise": "maximise",
    "minimise": "minimise",
}
"""The record of each name of a direction; the last two are those of earlier versions."""

EPOCHS: Final = 100
"""The default maximum of reports per seed; of a function that returns its one score, 1."""


class FunctionSource(Brief):
    """The function to call, ``name`` in the file ``file``; and 16 digits of a SHA-256 of its ``source``."""

    name: str
    file: str
    source: str
    direction: RecordedDirection = "maximise"
    """Whether a higher score is better, or a lower one."""
    score: Annotated[str, UNSAID] = SCORE
    """The name of the score."""
    epochs: PositiveInt = EPOCHS
    """The number of reports of a complete trial; a function may return earlier."""


class FunctionConfig(Subject):
    """The subject of a trial that calls a function: the function, and the arguments of the call.

    The arguments are the values of the base and the axes, as nested mappings: ``model.depth`` is ``depth`` inside
    ``model``.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]
    keeps_weights: ClassVar[bool] = False

    function: FunctionSource

    @property
    def values(self) -> dict[str, Json]:
        """The arguments of the function, without its seed."""
        return {name: value for name, value in self.model_dump(mode="json").items() if name != FUNCTION}

    @property
    def epochs(self) -> int:
        """The number of reports of a complete trial."""
        return self.function.epochs

    @property
    def title(self) -> str:
        """The function and its file."""
        return f"{self.function.name} in {self.function.file}" if self.function.file else self.function.name

    @property
    def measure(self) -> Measure:
        """The measure of the function's reports."""
        return reported_score(self.function.score, larger_is_better=self.function.direction == "maximise")
