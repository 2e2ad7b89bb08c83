"""Builds the proposer and the scheduler of a study from its config."""

from collections.abc import Set as AbstractSet

from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.proposers.proposer import Proposer
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.config import StudyConfig
from skipstack.spaces.space import Space


def study_proposer(study: StudyConfig, space: Space, trials: int) -> Proposer:
    """Build the study's proposer for the points of ``space``. ``trials``: the number of trials that it may propose.
    Raises UserError if the proposer does not support the space, or is the user's own and its code is not loaded.
    """
    search = study.search
    return proposer(search.proposer, space, seed=search.seed, objectives=len(search.objectives), trials=trials)


def study_scheduler(study: StudyConfig, spared: AbstractSet[int] = frozenset()) -> Scheduler:
    """Build the study's scheduler. ``spared``: the numbers of trials that are never stopped by a comparison. Raises
    UserError if the scheduler does not suit the numbers of epochs and seeds of a trial.
    """
    search, epochs = study.search, study.space.base.epochs
    return scheduler(search.scheduler, epochs, frozenset(spared), seeds=search.lanes_of_a_trial)
