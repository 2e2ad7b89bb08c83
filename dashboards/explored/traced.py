"""Of each number in the table of what a search saw, the events of the ledger that it was made of."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.explored.exploration_table import numbers_of
from skipstack.search.exploration.exploration import Exploration
from skipstack.search.exploration.table import BASE, BASELINE, BEST, Row
from skipstack.search.study.records.parts import parts

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.frames.study_frames import StudyFrames
    from skipstack.search.frames.trace import Traced

SHOWN: Final = ("proposed_event", "best_event", "ended_event")


def traced(frames: "StudyFrames", seen: Exploration) -> Iterator["Traced"]:
    """Every number of every row of the table, in its order; of the baseline, which is no trial, its scores alone."""
    from skipstack.search.frames.trace import Traced, made_of

    for row in seen.rows:
        rows = _rows(frames, seen, row)
        for name, value in numbers_of(row).items():
            about = row.axis != BASELINE or name.endswith("_mean")
            if about and isinstance(value, int | float) and not isinstance(value, bool):
                yield Traced(f"{row.axis} {row.value}: {name}", f"{value:.6g}", made_of(rows[name]()))


def _rows(frames: "StudyFrames", seen: Exploration, row: Row) -> "Mapping[str, Callable[[], pd.DataFrame]]":
    """By the name of a number, the rows of frames that it was made of: columns of events are enough."""
    if row.axis == BASELINE:
        return dict.fromkeys(numbers_of(row), lambda: _prepared(frames))
    group, selected = _group(seen, row), [] if row.selected is None else [row.selected]

    def trials(chosen: "list[int]", *columns: str) -> "pd.DataFrame":
        return frames.trials.loc[chosen, list(columns)]

    def of(frame: "pd.DataFrame", chosen: "list[int]", *columns: str) -> "pd.DataFrame":
        return frame.loc[frame["trial"].isin(chosen), list(columns)]

    def own(*columns: str) -> "pd.DataFrame":
        return of(frames.seeds, selected, *columns)

    trained = [number for number in group if not frames.trials.loc[number, "reused"]]
    return {
        "trials": lambda: trials(group, "proposed_event"),
        "scored_trials": lambda: trials(group, *SHOWN),
        "selected_trial": lambda: trials(group, "best_event", "ended_event"),
        **dict.fromkeys(("selected_epoch", "seeds", "dev_mean", "dev_deviation"), lambda: own("best_event")),
        "effect": lambda: trials(list(frames.trials.index), *SHOWN),
        **dict.fromkeys(("test_mean", "test_deviation"), lambda: own("tested_event")),
        **dict.fromkeys(("epochs", "seconds"), lambda: of(frames.curves, trained, "event")),
        "selected_parameters": lambda: trials(selected, "proposed_event"),
        "selected_latency": lambda: of(frames.curves, selected, "event"),
    }


def _group(seen: Exploration, row: Row) -> list[int]:
    """The trials that a row is about."""
    trials = seen.seen.trials.index
    if row.axis == BASE:
        return [] if seen.seen.base is None else [seen.seen.base]
    if row.axis == BEST:
        return list(trials)
    labels = [part.label for part in parts(seen.domains[row.axis])]
    return list(trials[seen.seen.parts[row.axis] == labels.index(row.value)])


def _prepared(frames: "StudyFrames") -> "pd.DataFrame":
    """The events that say what the baseline reaches, on each corpus."""
    events = frames.events
    return events.loc[events["kind"] == "corpus_prepared", ["event"]]
