"""The ablation table as a frame."""

from collections.abc import Sequence
from math import nan
from typing import Final

import pandas as pd

from skipstack.search.ablation.ablation import ablation as table
from skipstack.search.ablation.statistics import Spread
from skipstack.search.frames.columns import Column
from skipstack.search.study.records.study_record import StudyRecord

ABLATION: Final = (
    Column("axis", "str", "the axis; baseline, base and best are rows of their own"),
    Column("value", "str", "the value, or the range of values, of the axis"),
    Column("trials", "int64", "how many trials have the value"),
    Column("scored", "int64", "how many of them have a score"),
    Column("selected", "Int64", "the trial that stands for the value: the best of them on dev"),
    Column("state", "str", "of the selected trial; empty without one"),
    Column("best_epoch", "Int64", "of the selected trial"),
    Column("seeds", "int64", "of the selected trial"),
    Column("dev", "float64", "the measure on dev, of the selected trial"),
    Column("dev_error", "float64", "the standard error of that mean"),
    Column("difference", "float64", "to the base's value on dev, the mean over the seeds of both"),
    Column("difference_error", "float64", "the standard error of that mean"),
    Column("unequal", "bool", "whether that compares trainings of different length"),
    Column("test", "float64", "the measure on test, of the selected trial"),
    Column("test_error", "float64", "the standard error of that mean"),
    Column("leads", "bool", "whether no other value of the axis is better"),
    Column("is_base", "bool", "whether the selected trial is the base itself"),
    Column("on_front", "bool", "whether it lies on the Pareto front of several objectives"),
    Column("epochs", "int64", "epochs of all trials that have the value"),
    Column("seconds", "float64", "seconds of all trials that have the value"),
    Column("parameters", "Int64", "of the selected trial, where they are an objective"),
    Column("latency", "float64", "of the selected trial, where it is an objective"),
    Column("reused", "bool", "whether the selected trial was taken over and not trained"),
)
"""Its columns."""


def ablation(record: StudyRecord, by: Sequence[str] = ()) -> pd.DataFrame:
    """What each value of each axis reaches, or of the axes ``by``; see ``ABLATION``. Raises UserError for no axis."""
    sign = record.measure.score(1.0)
    rows = [
        {
            "axis": row.axis,
            "value": row.value,
            "trials": row.trials,
            "scored": row.scored,
            "selected": row.selected,
            "state": row.state or "",
            "best_epoch": row.epoch,
            "seeds": len(row.seeds),
            **_spread("dev", row.dev, sign),
            **_spread("difference", row.difference, sign),
            "unequal": row.unequal,
            **_spread("test", row.test, sign),
            "leads": row.leads,
            "is_base": row.is_base,
            "on_front": row.on_front,
            "epochs": row.epochs,
            "seconds": row.seconds,
            "parameters": row.parameters,
            "latency": nan if row.latency is None else row.latency,
            "reused": row.reused,
        }
        for row in table(record, by).rows
    ]
    return pd.DataFrame({each.name: pd.Series([row[each.name] for row in rows], dtype=each.dtype) for each in ABLATION})


def _spread(name: str, spread: Spread | None, sign: float) -> dict[str, float]:
    if spread is None:
        return {name: nan, f"{name}_error": nan}
    error = spread.standard_error
    return {name: sign * spread.mean, f"{name}_error": nan if error is None else error}
