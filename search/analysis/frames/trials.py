"""Frames of trials and of their seeds, with their scores."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.frames.columns import COLUMNS, axis_column, typed_frame
from skipstack.search.ledger.events import SCORELESS, Reported
from skipstack.search.statistics.descriptive import deviation, mean
from skipstack.search.strategy.objectives.objectives import Further
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Choice, Domain, Integer, Ordinal


def trials(record: StudyRecord, of: Sequence[TrialRecord] | None = None) -> pd.DataFrame:
    """Return the frame ``trials`` (see ``COLUMNS``). ``of``: the trials, in order; None means all of the study."""
    chosen = list(record.trials.values()) if of is None else of
    rows = [_row(record, trial) for trial in chosen]
    columns = [*(column.name for column in COLUMNS["trials"]), *(each.column for each in _reported(record))]
    frame = typed_frame("trials", {name: [row[name] for row in rows] for name in columns})
    for path, domain in record.space.domains.items():
        values = [cell(domain, trial.point[path]) if path in trial.point else None for trial in chosen]
        frame[axis_column(path)] = pd.Series(values, dtype=_dtype(domain), index=frame.index)
    return frame.set_index("trial")


ScoreRow = tuple[str, float, float]
"""The columns ``state``, ``score`` and ``dev`` of a trial in the frame ``trials``."""


def score_row(record: StudyRecord, trial: TrialRecord) -> ScoreRow:
    """Return the columns of ``ScoreRow`` for a trial; this is much faster than computing its whole row."""
    if (best := _scored(trial)) is None:
        return trial.state, math.nan, math.nan
    return trial.state, best.score, record.measure.score(1.0) * mean(tuple(trial.dev_of(best).values()))


def seeds(record: StudyRecord) -> pd.DataFrame:
    """Return the frame ``seeds`` (see ``COLUMNS``)."""
    sign, rows = record.measure.score(1.0), []
    for trial in record.trials.values():
        best = trial.best
        if best is None or trial.reason in SCORELESS:
            continue
        dev, test, places = trial.dev_of(best), trial.test, _places(trial)
        epochs = trial.reports.epochs
        rows += [
            {
                "trial": trial.number,
                "seed": seed,
                "best_epoch": int(epochs[places[seed]]),
                "dev": sign * dev[seed],
                "test": sign * test.get(seed, math.nan),
                "best_event": trial.reports.events[places[seed]],
                "tested_event": _tested_event(trial, test, trial.reports.events[places[seed]]),
            }
            for seed in trial.seeds
        ]
    return typed_frame("seeds", {column.name: [row[column.name] for row in rows] for column in COLUMNS["seeds"]})


def _row(record: StudyRecord, trial: TrialRecord) -> dict[str, Any]:
    sign, best = record.measure.score(1.0), _scored(trial)
    best_event = None if best is None else trial.reports.events[_places(trial)[trial.seeds[0]]]
    test = trial.test
    return {
        "trial": trial.number,
        "state": trial.state,
        "score": math.nan if best is None else best.score,
        **_spread("dev", () if best is None else trial.dev_of(best).values(), sign),
        **_spread("test", test.values(), sign),
        "best_epoch": None if best is None else best.epoch,
        "epochs": trial.epochs,
        "seconds": trial.seconds,
        "seeds": len(trial.seeds),
        "parameters": trial.parameters,
        "latency": trial.latency if record.study.search.measures("latency") else math.nan,
        **{each.column: math.nan if best is None else trial.value(each) for each in _reported(record)},
        "reused": trial.reused is not None,
        "message": trial.message,
        "point": canonical_json(trial.point),
        "proposed_event": trial.happened["proposed"],
        "best_event": best_event,
        "ended_event": trial.happened.get("ended"),
        "tested_event": _tested_event(trial, test, best_event),
    }


def _scored(trial: TrialRecord) -> Reported | None:
    """Return the report of the trial's best epoch; None if the trial has no score."""
    return None if trial.reason in SCORELESS else trial.best


def _reported(record: StudyRecord) -> Sequence[Further]:
    """Return the objectives besides the score that a user's function reports; empty for a search of networks."""
    return record.study.search.further if record.study.search.reported else ()


def _tested_event(trial: TrialRecord, test: Mapping[int, float], best: int | None) -> int | None:
    """Return the number of the event with a trial's measure on test; None if the trial was not measured on test.

    ``test``: the measure on test by seed. ``best``: the number of the event of the trial's best report. If a user's
    function reported the measure on test, the result is ``best``.
    """
    return trial.happened.get("tested", best if test else None)


def _places(trial: TrialRecord) -> dict[int, int]:
    """Return the index of the best report for each seed; empty if no report has a score.

    If seeds race (a trial trains them in groups), each seed gets the best report of its group.
    """
    reports = trial.reports
    place = reports.best()
    if place is None or not trial.raced:
        return {} if place is None else dict.fromkeys(trial.seeds, place)
    best: dict[tuple[int, ...], int] = {}
    for place, report in enumerate(reports):
        group = report.seeds
        if math.isfinite(report.score) and (group not in best or report.score > reports.scores[best[group]]):
            best[group] = place
    return {seed: place for group, place in best.items() for seed in group}


def cell(domain: Domain, value: Any) -> Any:
    """Return the entry of an axis's column for a value of the axis: the value's name, the value itself, or its JSON."""
    if (name := domain.name(value)) is not None:
        return name
    return value if _kind(domain) != "str" or isinstance(value, str) else canonical_json(value)


def _dtype(domain: Domain) -> str | pd.CategoricalDtype:
    """Return the dtype of an axis's column. For an ordinal of texts, it is a category with the order of the texts."""
    if isinstance(domain, Ordinal) and _kind(domain) == "str":
        return pd.CategoricalDtype([cell(domain, value) for value in domain.values], ordered=True)
    return _kind(domain)


def _kind(domain: Domain) -> str:
    """Return the plain dtype that fits all values of an axis's domain."""
    match domain:
        case Integer():
            return "Int64"
        case Choice(values=values, names=()):
            kinds = {type(value) for value in values}
            if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
                return "str"  # more digits than an integer or a float of a frame has
            if kinds == {bool}:
                return "boolean"
            if kinds == {int}:
                return "Int64"
            return "float64" if kinds <= {int, float} else "str"
        case Choice():
            return "str"
        case _:
            return "float64"


def _spread(name: str, scores: Iterable[float], sign: float) -> dict[str, float]:
    """Return the columns ``name`` and ``name``_deviation: the mean and the standard deviation of ``scores`` over seeds.

    ``sign`` converts the mean score to the measure: -1 if a smaller measure is better, else 1.
    """
    values = tuple(scores)
    return {name: sign * mean(values), f"{name}_deviation": deviation(values)}
