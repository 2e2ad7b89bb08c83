"""Of the trials of a search, the rows of frames that name their events."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, TypeAlias

import pandas as pd

from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.frames.study_frames import StudyFrames
from skipstack.search.analysis.frames.trace import made_of

Column: TypeAlias = "pd.Series[Any]"
"""A column of numbers of events."""


@dataclass(frozen=True)
class TrialEvents:
    """The columns of events in the ``frames`` of a study, by trial; ``seen``: what is reported of the trials."""

    frames: StudyFrames
    seen: Exploration

    @cached_property
    def every(self) -> list[int]:
        """The numbers of all trials."""
        return list(self.frames.trials.index)

    @cached_property
    def model(self) -> tuple[int, ...]:
        """The events that the additive model was made of: of each trial that it has, what it gained epoch by epoch."""
        taken = self.seen.effects.expected.index
        return made_of(self.proposed(taken), self.reports(taken), self.ended(taken))

    def known(self, trials: Collection[int]) -> tuple[int, ...]:
        """The events that say what trials are, which of them have a score, and how they ended."""
        return made_of(self.proposed(trials), self.best(trials), self.ended(trials))

    def ranked(self, trials: Collection[int]) -> tuple[int, ...]:
        """The events that say which of the trials have a score, and which score."""
        return made_of(self.best(trials), self.ended(trials))

    def proposed(self, trials: Collection[int]) -> Column:
        """The proposal of each."""
        return _of(self.frames.trials, trials, "proposed_event")

    def ended(self, trials: Collection[int]) -> Column:
        """The end of each that has ended."""
        return _of(self.frames.trials, trials, "ended_event")

    def best(self, trials: Collection[int]) -> Column:
        """The report of the best epoch of each that has a score; of several groups of seeds, one each."""
        return _of(self.frames.seeds, trials, "best_event")

    def tested(self, trials: Collection[int]) -> Column:
        """The measurement on test of each that has one."""
        return _of(self.frames.seeds, trials, "tested_event")

    def reports(self, trials: Collection[int], first: float = 1, last: float = inf) -> Column:
        """What each reported from the epoch ``first`` to the epoch ``last``."""
        events = _of(self.frames.curves, trials, "event")
        return events[self.frames.curves["epoch"][events.index].between(first, last)]

    def of_kind(self, kind: str, said: str = "") -> Column:
        """The events of the search of this kind that have ``said`` in their JSON."""
        events = self.frames.events[self.frames.events["kind"] == kind]
        return events["event"][events["json"].str.contains(said, regex=False)]


def _of(frame: pd.DataFrame, trials: Collection[int], column: str) -> Column:
    own = frame.index if frame.index.name == "trial" else frame["trial"]
    return frame[column][own.isin(list(trials))]
