"""A study as pandas frames, of columns with names and types that stay.

Measured values are those of the study's measure, in its own unit: accuracy, F1 and LAS in [0, 1], the larger the
better; a perplexity as it is, the smaller the better. What is not known is NaN or NA.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Final

import pandas as pd

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.statistics.spreads import Spread
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.domains import Choice, Domain, Integer


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame: its name, its pandas type, and what it holds."""

    name: str
    dtype: str
    about: str


COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "trials": (
        Column("trial", "int64", "number of the trial, in the order of proposal; the index"),
        Column("state", "str", "why it ended: completed, stopped, diverged or a fault; else running or paused"),
        Column("score", "float64", "what it is ranked by, the larger the better; NaN without one"),
        Column("dev", "float64", "the measure on dev, the mean over its seeds at its best epoch"),
        Column("dev_error", "float64", "the standard error of that mean; NaN of a single seed"),
        Column("test", "float64", "the measure on test, of the trials that were selected for it"),
        Column("test_error", "float64", "the standard error of that mean"),
        Column("best_epoch", "Int64", "the epoch with the best score"),
        Column("epochs", "int64", "epochs that this study trained; 0 of a trial that was taken over"),
        Column("seconds", "float64", "seconds of training and evaluation, over all its epochs and seeds"),
        Column("seeds", "int64", "how many seeds it has"),
        Column("parameters", "Int64", "parameters of one seed's network, where they are an objective"),
        Column("latency", "float64", "seconds that 1,000 tokens take, where they are an objective"),
        Column("reused", "bool", "whether it was taken over from another trial and not trained"),
        Column("message", "str", "what failed, of a trial that a fault ended; empty otherwise"),
    ),
    "curves": (
        Column("trial", "int64", "number of the trial"),
        Column("epoch", "int64", "number of the epoch, from 1"),
        Column("seed", "int64", "the seed, whose values stand in this row"),
        Column("score", "float64", "the trial's score at this epoch: over all its seeds, the larger the better"),
        Column("dev", "float64", "the measure on dev, of this seed"),
        Column("seconds", "float64", "seconds that the epoch took, of all seeds that were trained together"),
    ),
    "seeds": (
        Column("trial", "int64", "number of the trial"),
        Column("seed", "int64", "the seed"),
        Column("best_epoch", "Int64", "the trial's best epoch"),
        Column("dev", "float64", "the measure on dev, of this seed at that epoch"),
        Column("test", "float64", "the measure on test, of the trials that were selected for it"),
    ),
}
"""The columns of each frame, in their order.

``trials`` has one more for each axis, by its path: whole numbers as Int64, others as float64, truth as boolean, text,
names and whatever else as str, its JSON; NaN or NA where the axis is not active. ``curves`` has one more, float64, for
each other metric that the trials reported, by its name, such as ``train_loss``.
"""


def trials(record: StudyRecord, of: Sequence[TrialRecord] | None = None) -> pd.DataFrame:
    """A row for each trial, or for each of ``of``, in this order; see ``COLUMNS``."""
    chosen = list(record.trials.values()) if of is None else of
    sign = record.measure.score(1.0)
    rows = [
        {
            "trial": trial.number,
            "state": trial.state,
            "score": _number(trial.score),
            **_spread("dev", _of(trial.dev.values() if trial.score is not None else ()), sign),
            **_spread("test", _of(trial.test.values()), sign),
            "best_epoch": None if trial.score is None or trial.best is None else trial.best.epoch,
            "epochs": trial.epochs,
            "seconds": trial.seconds,
            "seeds": len(trial.seeds),
            "parameters": trial.parameters,
            "latency": _number(trial.latency),
            "reused": trial.reused is not None,
            "message": trial.message,
        }
        for trial in chosen
    ]
    frame = _frame("trials", rows)
    for path, domain in record.space.domains.items():
        values = [_value(domain, trial.point[path]) if path in trial.point else None for trial in chosen]
        frame[path] = pd.Series(values, dtype=_dtype(domain), index=frame.index)
    return frame.set_index("trial")


def curves(record: StudyRecord) -> pd.DataFrame:
    """A row for each epoch of each seed of each trial; see ``COLUMNS``."""
    return _frame("curves", [row for trial in record.trials.values() for row in _curve(record, trial)])


def seeds(record: StudyRecord) -> pd.DataFrame:
    """A row for each seed of each trial that has a score; see ``COLUMNS``."""
    sign = record.measure.score(1.0)
    rows = []
    for trial in record.trials.values():
        if trial.score is None or trial.best is None:
            continue
        dev, test = trial.dev, trial.test
        rows += [
            {
                "trial": trial.number,
                "seed": seed,
                "best_epoch": trial.best.epoch,
                "dev": sign * dev[seed],
                "test": sign * test[seed] if seed in test else nan,
            }
            for seed in trial.seeds
        ]
    return _frame("seeds", rows)


def _curve(record: StudyRecord, trial: TrialRecord) -> Iterator[dict[str, Any]]:
    dev = f"dev_{record.measure.name}"
    for report in trial.reports:
        for place, seed in enumerate(report.seeds or trial.seeds):
            metrics = {name: lanes[place] for name, lanes in report.metrics.items() if place < len(lanes)}
            yield {
                "trial": trial.number,
                "epoch": report.epoch,
                "seed": seed,
                "score": report.score,
                "dev": metrics.pop(dev, nan),
                "seconds": report.seconds,
                **metrics,
            }


def _frame(name: str, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows as a frame of the columns of ``name``, and of whatever others the rows have, as numbers."""
    columns = COLUMNS[name]
    known = {column.name for column in columns}
    others = dict.fromkeys(key for row in rows for key in row if key not in known)
    dtypes = {**{column.name: column.dtype for column in columns}, **dict.fromkeys(others, "float64")}
    return pd.DataFrame({key: pd.Series([row.get(key) for row in rows], dtype=dtype) for key, dtype in dtypes.items()})


def _value(domain: Domain, value: Any) -> Any:
    if isinstance(domain, Choice) and (name := domain.name(value)) is not None:
        return name
    return value if _dtype(domain) != "str" or isinstance(value, str) else canonical_json(value)


def _dtype(domain: Domain) -> str:
    """The type of an axis's column, by all values that its domain has."""
    match domain:
        case Integer():
            return "Int64"
        case Choice(values=values, names=()):
            kinds = {type(value) for value in values}
            if kinds == {bool}:
                return "boolean"
            if kinds == {int}:
                return "Int64"
            return "float64" if kinds <= {int, float} else "str"
        case Choice():
            return "str"
        case _:
            return "float64"


def _spread(name: str, spread: Spread | None, sign: float) -> dict[str, float]:
    if spread is None:
        return {name: nan, f"{name}_error": nan}
    return {name: sign * spread.mean, f"{name}_error": _number(spread.standard_error)}


def _of(values: Iterable[float]) -> Spread | None:
    found = tuple(values)
    return Spread(found) if found else None


def _number(value: float | None) -> float:
    return nan if value is None else value
