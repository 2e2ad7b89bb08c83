"""Reads the runs of a Weights & Biases project from a table, which the project's web page exports as CSV."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import FinishedSearch, FinishedTrial
from skipstack.spaces.config import Axis
from skipstack.spaces.function import Direction

STATE, CREATED, RUNTIME = "State", "Created", "Runtime"
"""The optional columns of the table beside those of configs and metrics."""

FAILED = ("crashed", "failed")


def wandb_search(table: Path, score: str, direction: Direction, axes: Mapping[str, Axis]) -> FinishedSearch:
    """Read from ``table`` the runs that have finished with a score or have failed.

    ``score``: the column of the score. ``direction``: whether scores are maximised or minimised. ``axes``: the axes, by
    the names of their columns. Raises UserError if a column is missing or the file cannot be read.
    """
    try:
        frame = pd.read_csv(table)
    except (OSError, ValueError) as error:
        raise UserError(f"from_wandb: {table}: {error}") from None
    for name in (score, *axes):
        if name not in frame:
            raise UserError(f"from_wandb: {table.name}: {unknown('column', name, list(frame))}")
    left_out: Counter[str] = Counter()
    trials: list[FinishedTrial] = []
    for number, row in enumerate(frame.to_dict("records")):
        state = row.get(STATE, "finished")
        failed = state in FAILED
        if not failed and (state != "finished" or pd.isna(row[score])):
            left_out["have not finished with a score"] += 1
            continue
        began = pd.Timestamp(row[CREATED]).timestamp() if CREATED in frame else float(number)
        trials.append(
            FinishedTrial(
                values={name: _plain(row[name], axis) for name, axis in axes.items() if not pd.isna(row[name])},
                curve=[] if failed else [float(row[score])],
                began=began,
                ended=began + (float(row[RUNTIME]) if RUNTIME in frame else 0.0),
                reason="failed" if failed else "completed",
                message=f"{state} in W&B" if failed else "",
            )
        )
    return FinishedSearch(
        name="objective",
        source=f"the table {table.name!r} of W&B",
        direction=direction,
        axes=axes,
        trials=trials,
        left_out=left_out,
        unknown="seeds, rungs and curves",
    )


def _plain(value: Any, axis: Axis) -> Any:
    """Convert a cell to a value of its axis. pandas reads a column of integers with empty cells as floats, so 3.0
    becomes 3 if the axis has only integers.
    """
    value = value.item() if hasattr(value, "item") else value
    whole = isinstance(value, float) and value.is_integer() and not axis.domain.contains(value)
    return int(value) if whole and axis.domain.contains(int(value)) else value
