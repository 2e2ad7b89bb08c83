"""Proposers as a study names them: a kind, and the options of that kind. Torch-free, optuna-free."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.frozen import Frozen

PlainName = Literal["grid", "one_at_a_time", "random", "tpe", "gp"]
"""The proposers without options."""


class PlainProposerConfig(Frozen):
    """A proposer without options."""

    kind: PlainName = "tpe"


class EvolutionConfig(Frozen):
    """Regularised evolution (Real et al., 2019).

    The last ``population`` trials are alive; of ``sample`` of them, drawn at random, the best has a child.
    """

    kind: Literal["evolution"] = "evolution"
    population: PositiveInt = 16
    sample: PositiveInt = 4


ProposerConfig = Annotated[PlainProposerConfig | EvolutionConfig, Field(discriminator="kind")]

ProposerName = Literal[PlainName, "evolution"]
"""All kinds."""
