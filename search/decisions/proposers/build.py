"""From a config to a proposer: the one place that knows which class a kind means."""

from typing import assert_never

from skipstack.search.decisions.proposers.config import (
    EvolutionConfig,
    ListedConfig,
    PathConfig,
    PlainName,
    ProposerConfig,
)
from skipstack.search.decisions.proposers.evolution import Evolution
from skipstack.search.decisions.proposers.gaussian_process import GaussianProcess
from skipstack.search.decisions.proposers.path import Path
from skipstack.search.decisions.proposers.prior import Prior
from skipstack.search.decisions.proposers.proposer import Grid, Listed, OneAtATime, Proposer, Random
from skipstack.search.decisions.proposers.tpe import Tpe
from skipstack.spaces.space import Space


def proposer(config: ProposerConfig, space: Space, *, seed: int, objectives: int) -> Proposer:
    """The proposer of a study with this ``seed`` and so many ``objectives``.

    Raises UserError where it cannot work on the space.
    """
    match config:
        case EvolutionConfig():
            return Evolution(space, seed, config)
        case ListedConfig():
            return Listed(space, config.points)
        case PathConfig():
            return Path(space, config)
        case _:
            return _plain(config.kind, space, seed=seed, objectives=objectives)


def _plain(kind: PlainName, space: Space, *, seed: int, objectives: int) -> Proposer:
    match kind:
        case "grid":
            return Grid(space)
        case "one_at_a_time":
            return OneAtATime(space)
        case "random":
            return Random(space, seed)
        case "tpe":
            return Tpe(space, seed, objectives)
        case "gp":
            return GaussianProcess(space, seed, objectives)
        case "prior":
            return Prior(space, seed, objectives)
        case _:
            assert_never(kind)
