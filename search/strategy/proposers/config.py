"""Configs of proposers: a kind and its options. This module imports neither torch nor optuna."""

from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig
from skipstack.spaces.domains import Json

PlainName = Literal["grid", "one_at_a_time", "random"]
"""Kinds of proposers without options."""

ModelName = Literal["tpe", "gp", "prior"]
"""Kinds of proposers that fit a model to the trials so far."""

WALKS: Final = ("grid", "one_at_a_time")
"""Kinds of proposers that enumerate points of the space in a fixed order, known in advance."""


class PlainProposerConfig(Frozen):
    """A proposer without options."""

    kind: PlainName


class ModelBasedConfig(Frozen):
    """A proposer that fits a model to the trials so far.

    ``per_second``: whether the expected improvement of a point (a value for each axis) is divided by the predicted time
    of an epoch at that point. The weight of the time falls to 0 over the study's trials.
    """

    kind: ModelName = "tpe"
    per_second: bool = False


class EvolutionConfig(Frozen):
    """Regularised evolution (Real et al., 2019).

    The last ``population`` trials that got a score form the population. For each new trial, ``sample`` of them are
    drawn at random, and the best of these is changed on one axis.
    """

    kind: Literal["evolution"] = "evolution"
    population: PositiveInt = 16
    sample: PositiveInt = 4


class ListedConfig(Frozen):
    """Proposes the listed points in order. Each point has a value for every axis that is active at that point."""

    kind: Literal["listed"] = "listed"
    points: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]

    @property
    def most(self) -> int:
        """The number of points to propose."""
        return len(self.points)


class PathConfig(Frozen):
    """Proposes the listed points, and after them a greedy path from ``starts``. Each step of the path tries all
    ``changes`` that are left, and adopts the change with the highest mean score over the corpora.

    ``starts``: the point from which the path starts, once for each corpus. ``changes``: the new value of each axis.
    """

    kind: Literal["path"] = "path"
    points: tuple[dict[str, Json], ...] = ()
    starts: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]
    changes: Annotated[dict[str, Json], Field(min_length=1)]

    @property
    def most(self) -> int:
        """The maximum number of points to propose. Fewer are proposed if points of the path are also listed, or if a
        change is not possible.
        """
        return len(self.points) + len(self.starts) * (1 + len(self.changes) * (len(self.changes) + 1) // 2)


OurProposerConfig = Annotated[
    PlainProposerConfig | ModelBasedConfig | EvolutionConfig | ListedConfig | PathConfig, Field(discriminator="kind")
]

ProposerConfig = Annotated[OurProposerConfig | OwnConfig, OpenTo("proposer", OurProposerConfig)]

ProposerName = Literal[PlainName, ModelName, "evolution"]
"""The built-in proposers that a study can name by a single word. All others need a list of points."""

ProposerWord = Annotated[ProposerName, OpenTo("proposer", ProposerName)]
"""A word that names a proposer, built-in or of the user's own, in the schema of study files."""
