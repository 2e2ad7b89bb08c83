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
"""The key under which a base names the function to call. Only the base of a function has this key."""

SEED: Final = "seed"
"""The name of the argument in which a function gets its seed."""

ELSEWHERE: Final = ""
"""The ``source`` of a function that another tool called, in a study that was imported from that tool."""

RESERVED: Final = (FUNCTION, SEED)

Direction = Literal["maximize", "minimize"]

RecordedDirection = Literal["maximise", "minimise"]
"""A direction as spelled in ledgers, and in the JSON whose hash identifies a config."""

RECORDED: Final[Mapping[str, RecordedDirection]] = {
    "maximize": "maximise",
    "minimize": "minimise",
    "maximise": "maximise",
    "minimise": "minimise",
}
"""The recorded spelling of each direction. Earlier versions used the last two names."""

EPOCHS: Final = 100
"""The default maximum number of reports of each call of a function. A function that only returns a score makes one
report."""


class FunctionSource(Brief):
    """The function to call.

    ``name``: its name. ``file``: the file that defines it. ``source``: the first 16 hexadecimal digits of the SHA-256
    of its source text, or ``ELSEWHERE``.
    """

    name: str
    file: str
    source: str
    direction: RecordedDirection = "maximise"
    """``maximise`` if a higher score is better, ``minimise`` if a lower score is better."""
    score: Annotated[str, UNSAID] = SCORE
    """The name of the score."""
    epochs: PositiveInt = EPOCHS
    """The maximum number of reports of each call in a trial. A function may return after fewer reports."""


class FunctionConfig(Subject):
    """The config of a trial that calls a function. Dots in the names of arguments become nested mappings."""

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
        """The maximum number of reports of each call in a trial."""
        return self.function.epochs

    @property
    def direction(self) -> Direction:
        """The direction of the score, as spelled in Python."""
        return "maximize" if self.function.direction == "maximise" else "minimize"

    @property
    def title(self) -> str:
        """The name of the function and of its file, as text."""
        return f"{self.function.name} in {self.function.file}" if self.function.file else self.function.name

    @property
    def measure(self) -> Measure:
        """The measure of the scores that the function reports."""
        return reported_score(self.function.score, larger_is_better=self.function.direction == "maximise")


def is_imported(base: Subject) -> bool:
    """Whether the study with this base was read from another tool. Such a study has no base of its own, and ``base`` is
    the config of its first trial.
    """
    return isinstance(base, FunctionConfig) and base.function.source == ELSEWHERE
