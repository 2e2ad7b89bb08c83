"""From the trials that a number of a report is about to the events of the ledger that it is computed from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import pandas as pd

from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.frames.curves import curves
from skipstack.search.analysis.frames.trace import made_of
from skipstack.search.analysis.frames.trials import seeds, trials
from skipstack.search.study.record.study_record import StudyRecord

Kind = Literal["proposed", "reported", "best", "tested", "ended"]
"""``reported``: every epoch; ``best``: the epoch that gives the score, of several groups of seeds one each."""

STATUS: Final[tuple[Kind, ...]] = ("proposed", "best", "ended")
"""These events tell what trials are, which of them have a score, and how they ended."""

SCORES: Final[tuple[Kind, ...]] = ("best", "ended")
"""These tell which trials have a score, and which score."""


@dataclass(frozen=True)
class TrialEvents:
    """The numbers of the events of trials, from the frames ``trials``, ``seeds`` and ``curves`` of their study."""

    trials: pd.DataFrame
    seeds: pd.DataFrame
    make_curves: Callable[[], pd.DataFrame]

    @classmethod
    def of_search(cls, seen: Exploration) -> "TrialEvents":
        """Those of a search."""
        return cls(seen.seen.trials, seen.seen.seeds, seen.curves)

    @classmethod
    def of_record(cls, record: StudyRecord) -> "TrialEvents":
        """Those of a study, or of an ablation by its own record."""
        return cls(trials(record), seeds(record), lambda: curves(record))

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The largest frame, which only some numbers need."""
        return self.make_curves()

    def of(self, chosen: Iterable[int | None], *kinds: Kind, epochs: tuple[int, int] | None = None) -> tuple[int, ...]:
        """The events of these kinds of the chosen trials; ``epochs``: with reports of this range of epochs alone."""
        wanted = [number for number in chosen if number is not None]
        columns: list[pd.Series[Any]] = []
        for kind in kinds:
            if kind == "reported":
                reports = self.curves[self.curves["trial"].isin(wanted)]
                columns.append(
                    reports["event"] if epochs is None else reports["event"][reports["epoch"].between(*epochs)]
                )
            elif kind in ("best", "tested"):
                columns.append(self.seeds[f"{kind}_event"][self.seeds["trial"].isin(wanted)])
            else:
                columns.append(self.trials[f"{kind}_event"][self.trials.index.isin(wanted)])
        return made_of(*columns)


def of_kind(seen: Exploration, kind: str, said: str = "") -> tuple[int, ...]:
    """The events of a search of this kind, with ``said`` in their JSON."""
    events = seen.events()
    return made_of(events["event"][(events["kind"] == kind) & events["json"].str.contains(said, regex=False)])
