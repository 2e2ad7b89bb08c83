"""Reads the runs of a Weights & Biases project from a table, which the project's web page exports as CSV.

The axes may be given as the parameters of the sweep that started the runs.
"""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

import pandas as pd

from skipstack.data.basis.errors import UserError, undecodable, unknown, unreadable
from skipstack.data.basis.explain import shown
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import FinishedSearch, FinishedTrial
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json
from skipstack.spaces.function import Direction
from skipstack.spaces.python_space import choice, lognormal, loguniform, normal, randint, uniform

STATE, CREATED, RUNTIME = "State", "Created", "Runtime"
"""The optional columns of the table, besides the columns of configs and metrics."""

FAILED = ("crashed", "failed")

SPELLED: Mapping[str, Json] = {"None": None, "True": True, "False": False}
"""Values as Python spells them. JSON's ``null``, ``true`` and ``false`` are read as well."""


DISTRIBUTIONS: Final = (
    *("constant", "categorical", "int_uniform", "uniform", "q_uniform"),
    *("log_uniform", "log_uniform_values", "q_log_uniform_values", "normal", "log_normal"),
)
"""The distributions of a sweep that axes can have."""


def wandb_axes(parameters: Mapping[str, Any], above: str = "") -> dict[str, Axis]:
    """Return the axes of the ``parameters`` in the configuration of a sweep, by dotted path. Constants have no axis.

    ``above``: the path above nested parameters, with a dot at its end. Raises UserError for a distribution that no axis
    can have, and for a parameter that is not described as W&B documents it.
    """
    axes: dict[str, Axis] = {}
    for name, given in parameters.items():
        if isinstance(given, Mapping) and isinstance(inner := given.get("parameters"), Mapping):
            axes |= wandb_axes(inner, f"{above}{name}.")
        elif (axis := _axis(f"{above}{name}", given)) is not None:
            axes[f"{above}{name}"] = axis
    return axes


def _axis(name: str, given: Any) -> Axis | None:
    """Return the axis of a parameter of a sweep; None for a constant. If ``distribution`` is missing, the other keys
    determine it.
    """
    where = f"from_wandb: space: {name}"
    if not isinstance(given, Mapping):
        raise UserError(f"{where}: got {shown(given)} (allowed: a mapping, as in {{'min': 0.0, 'max': 1.0}})")
    whole = isinstance(given.get("min"), int) and isinstance(given.get("max"), int)
    implied = {"value": "constant", "values": "categorical"}
    ours = next((implied[key] for key in implied if key in given), "int_uniform" if whole else "uniform")
    kind = given.get("distribution", ours)
    try:
        match kind:
            case "constant":
                return None
            case "categorical":
                return choice(list(given["values"]))
            case "int_uniform":
                return randint(given["min"], given["max"])
            case "uniform":
                return uniform(given["min"], given["max"])
            case "log_uniform":
                return loguniform(math.exp(given["min"]), math.exp(given["max"]))
            case "log_uniform_values":
                return loguniform(given["min"], given["max"])
            case "q_uniform" | "q_log_uniform_values":
                step = given.get("q", 1)
                low, high = (_multiple(given[end], step) for end in ("min", "max"))
                return (uniform if kind == "q_uniform" else loguniform)(low, high, step=step)
            case "normal":
                return normal(given.get("mu", 0.0), given.get("sigma", 1.0))
            case "log_normal":
                return lognormal(given.get("mu", 0.0), given.get("sigma", 1.0))
    except KeyError as error:
        raise UserError(f"{where}: distribution {kind} without {error} (allowed: with it)") from None
    except (UserError, TypeError, OverflowError, ZeroDivisionError) as error:
        raise UserError(f"{where}: {error}") from None
    raise UserError(f"{where}: {unknown('distribution', kind, DISTRIBUTIONS)}")


def _multiple(number: float, step: float) -> float:
    nearest = round(number / step) * step
    return number if math.isclose(number, nearest) else nearest


def wandb_search(table: Path, score: str, direction: Direction, axes: Mapping[str, Axis]) -> FinishedSearch:
    """Read the runs in ``table`` that have finished with a score or have failed.

    ``score``: the column of the score. ``direction``: whether scores are maximised or minimised. ``axes``: the axes, by
    the names of their columns. An empty cell is a missing value. A run without ``Created`` counts as created with the
    first run. Raises UserError if a column is missing, if a cell that must hold a number does not, or if the file
    cannot be read.
    """
    rows = list(_rows(table, (score, *axes)))
    created = {row.line: time for row in rows if (time := row.number(CREATED, _seconds, "a time")) is not None}
    left_out: Counter[str] = Counter()
    trials: list[FinishedTrial] = []
    for number, row in enumerate(rows):
        state = row.cells.get(STATE, "finished")
        failed = state in FAILED
        if not failed and (state != "finished" or not row.cells[score]):
            left_out["have not finished with a score"] += 1
            continue
        reached = None if failed else row.number(score, float, "a number")
        began = created.get(row.line, min(created.values(), default=float(number)))
        trials.append(
            FinishedTrial(
                values={name: _value(row.cells[name], axis) for name, axis in axes.items() if row.cells[name]},
                curve=[] if reached is None else [reached],
                began=began,
                ended=began + (row.number(RUNTIME, _finite, "seconds") or 0.0),
                reason="failed" if failed else "completed",
                message=f"{state} in W&B" if failed else "",
            )
        )
    return FinishedSearch(
        name=table.stem,
        source=f"the table {table.name!r} of W&B",
        direction=direction,
        axes=axes,
        trials=trials,
        left_out=left_out,
        unknown="seeds, rungs and curves",
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table. ``line``: its last line in the file. ``cells``: its texts, by column."""

    table: str
    line: int
    cells: Mapping[str, str]

    def number(self, column: str, read: Callable[[str], float], allowed: str) -> float | None:
        """Read a cell as a number by ``read``; None if it is empty or missing. Raises UserError for other texts."""
        if not (text := self.cells.get(column, "")):
            return None
        try:
            return read(text)
        except ValueError:
            raise UserError(
                f"from_wandb: {self.table}, line {self.line}: {column}: got {text!r} (allowed: {allowed})"
            ) from None


def _rows(table: Path, needed: tuple[str, ...]) -> Iterator[_Row]:
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", restval="", strict=True)
            for name in needed:
                if name not in (columns := list(reader.fieldnames or ())):
                    raise UserError(f"from_wandb: {table.name}: {unknown('column', name, columns)}")
                if columns.count(name) > 1:
                    raise UserError(f"from_wandb: {table.name}: got the column {name!r} twice (allowed: once)")
            for row in reader:
                yield _Row(table.name, reader.line_num, {name: str(cell).strip() for name, cell in row.items()})
    except UserError:
        raise
    except OSError as error:
        raise unreadable(table, error) from None
    except UnicodeDecodeError as error:
        raise UserError(f"from_wandb: {table}: {undecodable(error)}") from None
    except (ValueError, csv.Error) as error:
        raise UserError(f"from_wandb: {table}: {error} (allowed: a table in CSV)") from None


def _value(text: str, axis: Axis) -> Json:
    """Return the axis value that a cell's ``text`` stands for: a number, the text itself, or a value in the spelling of
    JSON or Python. If the axis contains none of these, the first of them is returned.
    """
    readings: list[Json] = [text]
    with suppress(ValueError):
        number = _finite(text)
        readings = [*([int(number)] if number.is_integer() else []), number, text]
    with suppress(ValueError):
        readings.append(json.loads(text, parse_constant=_finite))
    readings += [SPELLED[text]] if text in SPELLED else []
    return next((each for each in readings if axis.domain.contains(each)), readings[0])


def _seconds(text: str) -> float:
    return float(pd.Timestamp(text).timestamp())


def _finite(text: str) -> float:
    """A finite number. Raises ValueError for other texts, also for ``NaN`` and ``Infinity``."""
    if not isfinite(number := float(text)):
        raise ValueError(f"got {shown(text)}")
    return number
