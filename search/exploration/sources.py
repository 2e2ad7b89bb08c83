"""Which events of the ledger made a number of a report: each can be followed to what happened."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import final

import pandas as pd

from skipstack.search.exploration.exploration import Exploration
from skipstack.search.exploration.table import BASE, BASELINE, BEST, Row
from skipstack.search.study.records.parts import parts

Numbers = tuple[int, ...]
"""Of events, ascending: their places in the ledger, from 0."""

ByTrial = Mapping[int, list[int]]


@final
class Sources:
    """The events behind what a search saw. ``events``: the frame of all of them."""

    def __init__(self, exploration: Exploration, events: pd.DataFrame) -> None:
        self._seen = exploration.seen
        self._domains = exploration.domains
        trials = self._seen.trials
        self._prepared = tuple(events.loc[events["kind"] == "corpus_prepared", "event"].tolist())
        self._begun = _by_trial(
            pd.concat([trials["proposed_event"], events[events["kind"] == "reused"].set_index("trial")["event"]])
        )
        self._reported = _by_trial(exploration.curves.set_index("trial")["event"])
        self._scored = _by_trial(self._seen.seeds.set_index("trial")["best_event"])
        self._ended = _by_trial(trials["ended_event"])
        self._tested = _by_trial(trials["tested_event"])

    def of(self, row: Row) -> Mapping[str, Numbers]:
        """The events of each number of a row, by the name that the number has there.

        A trial is there by its proposal, its score by the report of its best epoch; where seeds race, of each group.
        """
        if row.axis == BASELINE:
            return {"dev": self._prepared, "test": self._prepared}
        own = self._trials(row)
        scored = _made(own, self._begun, self._reported, self._ended)
        if row.axis in (BASE, BEST):  # which are there for a score
            found = dict.fromkeys(("trials", "scored", "epochs", "seconds"), scored)
        else:
            spent = _made(own, self._begun, self._reported)
            found = {"trials": _made(own, self._begun), "scored": scored, "epochs": spent, "seconds": spent}
        if row.selected is not None:
            found["dev"] = _made([row.selected], self._begun, self._scored)
            if row.test:
                found["test"] = _made([row.selected], self._begun, self._scored, self._tested)
        if row.effect is not None:
            found["effect"] = self.everything
        return found

    @property
    def everything(self) -> Numbers:
        """What the model of effects is made from, and all that rests on it or on all trials."""
        return _made(self._seen.trials.index, self._begun, self._reported, self._ended)

    def _trials(self, row: Row) -> Iterable[int]:
        if row.axis == BEST:
            return self._seen.trials.index
        if row.axis == BASE:
            return [] if row.selected is None else [row.selected]
        labels = [part.label for part in parts(self._domains[row.axis])]
        own = self._seen.parts[row.axis]
        return own.index[own == labels.index(row.value)]


def _by_trial(events: "pd.Series[int]") -> ByTrial:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for trial, event in events.dropna().items():
        found[int(str(trial))].append(int(event))
    return found


def _made(trials: Iterable[int], *kinds: ByTrial) -> Numbers:
    return tuple(sorted({number for trial in trials for kind in kinds for number in kind.get(trial, ())}))
