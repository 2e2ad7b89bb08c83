"""Finds spaces so small that a scheduler saves little: every config could be trained to its end."""

from dataclasses import dataclass
from itertools import islice
from typing import Final

from skipstack.search.api.planning.epoch_totals import epoch_totals
from skipstack.search.study.config import StudyConfig
from skipstack.spaces.space import Space

FEW: Final = 12
"""The maximum number of configs of a small space. Of 12 trials, a scheduler that keeps a third at each of two rungs
trains only one to its end.
"""

LISTED: Final = 1_000
"""A space with more points than this (allowed or not) is large; its configs are not counted."""


@dataclass(frozen=True, slots=True)
class SmallSpace:
    """The cost of a small space. ``configs``: the number of its configs. ``epochs``: the epochs to train all of them to
    their ends. ``expected``: the epochs that the study's scheduler is expected to spend. ``str`` gives a hint for the
    user.
    """

    configs: int
    epochs: int
    expected: int

    def __str__(self) -> str:
        return (
            f"hint: the space has only {self.configs} configs; `scheduler: none`, under `search` in the study file, "
            f"trains each to its end, for {self.epochs} epochs in all instead of about {self.expected}"
        )


def small_space(study: StudyConfig) -> SmallSpace | None:
    """The cost of training every config of a small space to its end. None if the space is large, has only one config,
    or has more configs than the study has trials. None also if the scheduler would save no epochs, or races seeds.
    """
    search, space = study.search, Space(study.space)
    if search.stops_nothing or search.seeds_race or not space.finite:
        return None
    one_by_one = search.proposer.kind == "one_at_a_time"
    listed = list(islice(space.one_at_a_time() if one_by_one else space.everything(), LISTED + 1))
    configs = len(listed) if one_by_one else sum(map(space.allowed, listed))
    if len(listed) > LISTED or configs > min(FEW, search.trials) or configs < 2:
        return None
    totals = epoch_totals(study, configs, space)
    return SmallSpace(configs, totals.worst, totals.typical) if totals.typical < totals.worst else None
