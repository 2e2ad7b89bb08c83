"""Converts the analysis of a search to frames, in the measure's own unit and with the names of values."""

from dataclasses import fields
from math import nan
from typing import Any, Final

import pandas as pd

from skipstack.search.analysis.exploration.effects import Effect
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.statistics.descriptive import deviation, mean
from skipstack.search.study.record.domain_parts import parts

COLUMNS: Final = {
    "axis": ("str", "the axis; baseline, base and best are rows of their own, and an axis called best is axis.best"),
    "value": ("str", "the value, or the range of values, of the axis"),
    "trials": ("int64", "how many trials have the value"),
    "scored": ("int64", "how many of them have a score"),
    "selected": ("Int64", "the trial that stands for the value: the best of them on dev"),
    "state": ("str", "of the selected trial; empty without one"),
    "whole": ("bool", "whether the selected trial was trained to its end"),
    "best_epoch": ("Int64", "of the selected trial"),
    "seeds": ("int64", "of the selected trial"),
    "dev": ("float64", "the measure on dev, of the selected trial"),
    "deviation": ("float64", "the standard deviation of dev over its seeds; NaN of a single one"),
    "effect": ("float64", "the value's effect on the final score, other axes being equal; NaN if trials carry none"),
    "effect_low": ("float64", "the lower end of its band"),
    "effect_high": ("float64", "the upper end of its band"),
    "effect_whole": ("Int64", "how many whole trials have the value, where it has an effect"),
    "test": ("float64", "the measure on test, of the selected trial"),
    "leads": ("bool", "whether no other value of the axis has a better selected trial"),
    "is_base": ("bool", "whether the selected trial is the base itself"),
    "on_front": ("bool", "whether it lies on the Pareto front of several objectives"),
    "epochs": ("int64", "epochs of all trials that have the value"),
    "seconds": ("float64", "seconds of all trials that have the value"),
    "parameters": ("Int64", "of the selected trial, where they are an objective"),
    "latency": ("float64", "of the selected trial, where it is an objective"),
    "reused": ("bool", "whether the selected trial was reused and not trained"),
}
"""The pandas dtype and the description of each column, in order.

If the study tunes a user's function, the frame has a further float64 column for each objective after the score, such as
``objective_seconds``: the value of the selected trial.
"""


def exploration_frame(exploration: Exploration) -> pd.DataFrame:
    """Return the table of the search as a frame, with the columns ``COLUMNS``."""
    sign = exploration.measure.score(1.0)
    rows: list[dict[str, Any]] = [
        {
            **{each.name: getattr(row, each.name) for each in fields(row)},  # columns with the names of fields
            "state": row.state or "",
            "best_epoch": row.epoch,
            "seeds": len(row.seeds),
            "dev": sign * mean(row.dev),
            "deviation": deviation(row.dev),
            **_effect(row.effect, sign),
            "test": sign * mean(row.test),
            **row.reported,
        }
        for row in exploration.rows
    ]
    dtypes = {name: dtype for name, (dtype, _) in COLUMNS.items()} | dict.fromkeys(exploration.seen.reported, "float64")
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in dtypes.items()})


def _effect(effect: Effect | None, sign: float) -> dict[str, Any]:
    """Return the columns of an effect in the measure's own unit. ``sign``: -1 if a smaller measure is better."""
    if effect is None:
        return {"effect": nan, "effect_low": nan, "effect_high": nan, "effect_whole": None}
    low, high = sorted((sign * effect.low, sign * effect.high))
    return {"effect": sign * effect.value, "effect_low": low, "effect_high": high, "effect_whole": effect.whole}


def pairs(exploration: Exploration) -> pd.DataFrame:
    """Return the frame ``Exploration.pairs`` in the measure's own unit, with names of parts instead of numbers."""
    labels = {axis: [part.label for part in parts(domain)] for axis, domain in exploration.domains.items()}
    frame, sign = exploration.pairs, exploration.measure.score(1.0)
    named = {
        f"value_{which}": [
            labels[axis][part] for axis, part in zip(frame[f"axis_{which}"], frame[f"part_{which}"], strict=True)
        ]
        for which in ("one", "two")
    }
    columns = ["axis_one", "value_one", "axis_two", "value_two", "n", "whole", "interaction", "stands_out"]
    return frame.assign(**named, interaction=sign * frame["interaction"])[columns]
