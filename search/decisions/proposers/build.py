"""From a config to a proposer: the one place that knows which class a name means."""

from typing import assert_never

from skipstack.search.config import SearchConfig
from skipstack.search.decisions.proposers.evolution import Evolution
from skipstack.search.decisions.proposers.gaussian_process import GaussianProcess
from skipstack.search.decisions.proposers.proposer import Grid, OneAtATime, Proposer, Random
from skipstack.search.decisions.proposers.tpe import Tpe
from skipstack.spaces.space import Space


def proposer(config: SearchConfig, space: Space) -> Proposer:
    """The proposer of a study. Raises UserError where it cannot work on the space."""
    match config.proposer:
        case "grid":
            return Grid(space)
        case "one_at_a_time":
            return OneAtATime(space)
        case "random":
            return Random(space, config.seed)
        case "tpe":
            return Tpe(space, config.seed, len(config.objectives))
        case "gp":
            return GaussianProcess(space, config.seed, len(config.objectives))
        case "evolution":
            return Evolution(space, config.seed, config.evolution)
        case _:
            assert_never(config.proposer)
