"""Builds a proposer from its config. No other module maps a kind of proposer to its class."""

from collections.abc import Callable
from typing import assert_never

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.search.strategy.proposers.config import (
    EvolutionConfig,
    ListedConfig,
    ModelBasedConfig,
    ModelName,
    PathConfig,
    PlainProposerConfig,
    ProposerConfig,
)
from skipstack.search.strategy.proposers.evolution import Evolution
from skipstack.search.strategy.proposers.own import OwnCodeProposer
from skipstack.search.strategy.proposers.path import Path
from skipstack.search.strategy.proposers.prior import Prior
from skipstack.search.strategy.proposers.proposer import Listed, Proposer, Random, Walk
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.spaces.space import Space


def proposer(config: ProposerConfig, space: Space, *, seed: int, objectives: int, trials: int) -> Proposer:
    """Build the proposer of a study. ``seed``: the study's seed. ``objectives`` and ``trials``: the numbers of
    objectives and trials of the study. Raises UserError if the proposer does not support the space, or if it is the
    user's own proposer and its code is not loaded.
    """
    match config:
        case EvolutionConfig():
            return Evolution(space, seed, config)
        case ListedConfig():
            return Listed(space, config.points)
        case PathConfig():
            return Path(space, config)
        case PlainProposerConfig(kind="grid"):
            return Walk(space, space.enumerate())
        case PlainProposerConfig(kind="one_at_a_time"):
            return Walk(space, space.one_at_a_time())
        case PlainProposerConfig():
            return Random(space, seed)
        case ModelBasedConfig():
            return _model(config.kind)(space, seed, objectives, trials if config.per_second else None)
        case OwnConfig():
            return OwnCodeProposer(config, space, seed)
        case _:
            assert_never(config)


def _model(kind: ModelName) -> Callable[[Space, int, int, int | None], Proposer]:
    match kind:
        case "tpe":
            return Tpe
        case "gp":
            from skipstack.search.strategy.proposers.gaussian_process import (
                GaussianProcess,  # scipy takes a while to load
            )

            return GaussianProcess
        case "prior":
            return Prior
        case _:
            assert_never(kind)
