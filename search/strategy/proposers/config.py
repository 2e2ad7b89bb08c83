"""Configs of proposers: a kind, and the options of that kind. Torch-free, optuna-free."""

from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen
from skipstack.spaces.domains import Json

PlainName = Literal["grid", "one_at_a_time", "random"]
"""The proposers without options."""

ModelName = Literal["tpe", "gp", "prior"]
"""The proposers that fit a model to the trials so far."""

WALKS: Final = ("grid", "one_at_a_time")
"""The proposers that enumerate the space: their points are known in advance."""


class PlainProposerConfig(Frozen):
    """A proposer without options."""

    kind: PlainName


class ModelBasedConfig(Frozen):
    """Proposers that fit a model to the trials so far.

    ``per_second``: divide the expected improvement at a point by the predicted time of an epoch there; the weight of
    the time falls to 0 over the study's trials.
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
    """The listed points in order; each has a value for every axis that is active there."""

    kind: Literal["listed"] = "listed"
    points: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]

    @property
    def most(self) -> int:
        """The number of points."""
        return len(self.points)


class PathConfig(Frozen):
    """The listed points, then a greedy path: from ``starts``, each step takes the one of the ``changes`` that helps
    most.

    ``starts``: the same config on one corpus or on several; a change is judged by the mean over them. ``changes``:
    values by axis.
    """

    kind: Literal["path"] = "path"
    points: tuple[dict[str, Json], ...] = ()
    starts: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]
    changes: Annotated[dict[str, Json], Field(min_length=1)]

    @property
    def most(self) -> int:
        """The maximum number of points; some points of the path may be listed already."""
        return len(self.points) + len(self.starts) * (1 + len(self.changes) * (len(self.changes) + 1) // 2)


ProposerConfig = Annotated[
    PlainProposerConfig | ModelBasedConfig | EvolutionConfig | ListedConfig | PathConfig, Field(discriminator="kind")
]

ProposerName = Literal[PlainName, ModelName, "evolution"]
"""The kinds that can be given as a word; the others need a list of points."""
