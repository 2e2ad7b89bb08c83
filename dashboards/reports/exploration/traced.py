"""Of each number in the report of what a search saw, the events of the ledger that it was made of."""

from collections.abc import Iterator
from typing import Any

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.exploration.table import numbers_of
from skipstack.dashboards.reports.exploration.traced_parts import traced_parts
from skipstack.dashboards.reports.exploration.trial_events import TrialEvents
from skipstack.data.basis.frozen import identity
from skipstack.search.analysis.exploration.exploration import Exploration, Trial
from skipstack.search.analysis.exploration.table import BASE, BASELINE, BEST, Row
from skipstack.search.analysis.frames.study_frames import StudyFrames
from skipstack.search.analysis.frames.trace import Traced, made_of, of_numbers
from skipstack.search.record.domain_parts import parts
from skipstack.spaces.trial import as_network


def traced(frames: StudyFrames, seen: Exploration) -> Iterator[Traced]:
    """Every number in its order: the table, all trials together, the Pareto front, and what else the trials tell.

    Of the baseline, which is no trial, there are its scores alone.
    """
    of = TrialEvents(frames, seen)
    for row in seen.rows:
        yield from _row(of, row)
    together: dict[str, Any] = {"trials": len(of.every), **seen.ends, "reused": seen.reused, "epochs": seen.epochs}
    together |= {"seconds": seen.seconds, "on_front": len(seen.front) or None, "best_trial": seen.best}
    yield from of_numbers("search", together, lambda name: _together(of, name))
    if seen.enough is not None:
        found = of.of_kind("shortened", '"gain":{').tail(1)
        yield from of_numbers("enough", seen.enough.model_dump(), lambda _: made_of(found))
    for trial in seen.front:
        yield from _on_front(of, trial)
    yield from traced_parts(of)


def _row(of: TrialEvents, row: Row) -> Iterator[Traced]:
    values, about = numbers_of(row), f"{row.axis} {row.value}"
    if row.axis == BASELINE:
        scores = {name: value for name, value in values.items() if name.endswith("_mean")}
        corpus = identity(as_network(of.frames.study.space.base).data.corpus)
        return of_numbers(about, scores, lambda _: made_of(of.of_kind("corpus_prepared", f'"corpus":"{corpus}"')))
    group, selected = _group(of.seen, row), [] if row.selected is None else [row.selected]
    return of_numbers(about, values, lambda name: _of_group(of, name, group, selected))


def _of_group(of: TrialEvents, name: str, group: list[int], selected: list[int]) -> tuple[int, ...]:
    """The events of a number of trials that have a value, and of the one that was selected from them."""
    match name:
        case "trials":
            return made_of(of.proposed(group))
        case "scored_trials":
            return of.known(group)
        case "selected_trial":
            return of.ranked(group)
        case "effect":
            return of.model
        case "test_mean" | "test_deviation":
            return made_of(of.tested(selected))
        case "epochs" | "seconds":
            return _trained(of, group)
        case "selected_parameters":
            return made_of(of.proposed(selected))
        case "selected_latency":
            return made_of(of.reports(selected))
        case _:  # the best epoch and what was reached there
            return made_of(of.best(selected))


def _together(of: TrialEvents, name: str) -> tuple[int, ...]:
    """The events of a number of all trials."""
    match name:
        case "trials":
            return made_of(of.proposed(of.every))
        case "reused":
            return made_of(of.of_kind("reused"))
        case "epochs" | "seconds":
            return _trained(of, of.every)
        case "best_trial":
            return of.ranked(of.every)
        case "on_front":
            return made_of(of.proposed(of.every), of.reports(of.every), of.ended(of.every))
        case "paused":
            return made_of(of.of_kind("decided", '"decision":"pause"'), of.of_kind("promoted"), of.of_kind("ended"))
        case state:
            own = of.frames.trials.index[of.frames.trials["state"] == state]
            return made_of(of.proposed(own), of.ended(own))


def _on_front(of: TrialEvents, trial: Trial) -> Iterator[Traced]:
    own = [trial.number]
    rows = {"score": of.best(own), "parameters": of.proposed(own), "latency": of.reports(own)}
    values = {"score": trial.score, "parameters": trial.parameters, "latency": trial.latency}
    asked: Numbers = {name: values[name] for name in of.seen.objectives}
    return of_numbers(f"Pareto front, trial {trial.number}", asked, lambda name: made_of(rows[name]))


def _trained(of: TrialEvents, trials: list[int]) -> tuple[int, ...]:
    """All that those reported which were trained, not taken over."""
    reused = of.frames.trials["reused"]
    return made_of(of.reports(reused.index[~reused & reused.index.isin(trials)]))


def _group(seen: Exploration, row: Row) -> list[int]:
    """The trials that a row is about."""
    trials = seen.seen.trials.index
    if row.axis == BASE:
        return [] if seen.seen.base is None else [seen.seen.base]
    if row.axis == BEST:
        return list(trials)
    labels = [part.label for part in parts(seen.domains[row.axis])]
    return list(trials[seen.seen.parts[row.axis] == labels.index(row.value)])
