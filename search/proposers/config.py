"""Proposers as a study names them: a kind, and the options of that kind. Torch-free, optuna-free."""

from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen
from skipstack.spaces.domains import Json

PlainName = Literal["grid", "one_at_a_time", "random"]
"""The proposers without options."""

ModelName = Literal["tpe", "gp", "prior"]
"""Those that model what they have seen."""

WALKS: Final = ("grid", "one_at_a_time")
"""Those that walk through the space: which points they try is known beforehand."""


class PlainProposerConfig(Frozen):
    """A proposer without options."""

    kind: PlainName


class ModelBasedConfig(Frozen):
    """Proposers that model what they have seen.

    ``per_second``: they weigh what a point promises against what an epoch takes there, the less the more of the study's
    trials there are already.
    """

    kind: ModelName = "tpe"
    per_second: bool = False


class EvolutionConfig(Frozen):
    """Regularised evolution (Real et al., 2019).

    The last ``population`` trials are alive; of ``sample`` of them, drawn at random, the best has a child.
    """

    kind: Literal["evolution"] = "evolution"
    population: PositiveInt = 16
    sample: PositiveInt = 4


class ListedConfig(Frozen):
    """The points that are listed, in their order; each has a value for every axis that is active there."""

    kind: Literal["listed"] = "listed"
    points: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]

    @property
    def most(self) -> int:
        """How many points come of it."""
        return len(self.points)


class PathConfig(Frozen):
    """The points that are listed, then a path: from ``starts``, one of the ``changes`` at each step, the one that helps
    most.

    ``starts``: the same config on one corpus or on several; what helps is measured by the mean over them. ``changes``:
    values by axis.
    """

    kind: Literal["path"] = "path"
    points: tuple[dict[str, Json], ...] = ()
    starts: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]
    changes: Annotated[dict[str, Json], Field(min_length=1)]

    @property
    def most(self) -> int:
        """How many points come of it, at most: those on the way may be listed already."""
        return len(self.points) + len(self.starts) * (1 + len(self.changes) * (len(self.changes) + 1) // 2)


ProposerConfig = Annotated[
    PlainProposerConfig | ModelBasedConfig | EvolutionConfig | ListedConfig | PathConfig, Field(discriminator="kind")
]

ProposerName = Literal[PlainName, ModelName, "evolution"]
"""The kinds that a word alone can name: the others list what they propose."""
