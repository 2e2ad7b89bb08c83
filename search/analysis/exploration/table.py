"""The table of a search: a row for each value of each axis, with rows for the base, the best trial and the baseline.

A value is represented by its selected trial: the best on dev of the trials that have the value. The more trials have
the value, the more the selected trial's score is biased upwards. Therefore scores are not tested here and have no
intervals. Not all trials are measured on test (``search/study/record/selection.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from skipstack.search.analysis.exploration.effects import Effect, Effects
from skipstack.search.analysis.exploration.levels import Domains
from skipstack.search.analysis.frames.columns import AXIS, axis_column
from skipstack.search.study.record.domain_parts import parts as parts_of

BASELINE, BASE, BEST = "baseline", "base", "best"
"""The values of ``ValueRow.axis`` in the rows that belong to no axis."""


def named(axis: str) -> str:
    """Return the name of an axis in ``ValueRow.axis``: its path. A path that could be mistaken for a row of no axis
    (``baseline``, ``base``, ``best``), or that begins with ``axis.``, is prefixed with ``axis.``.
    """
    return axis_column(axis) if axis in (BASELINE, BASE, BEST) or axis.startswith(AXIS) else axis


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueRow:
    """A row of the table: a value of an axis, and its selected trial. Scores are those of ``data.tasks.measure``.

    ``axis``, ``value``: the axis's name (``named``), and the text of the value or range of values.
    ``trials``, ``members``: how many trials have the value, and their numbers. For the row ``best``, these are all.
    ``scored``: how many of the members have a score.
    ``selected``: the best of the members on dev; None if none has a score.
    ``state``, ``epoch``, ``seeds``: the selected trial's state, best epoch and seeds.
    ``whole``, ``is_base``: whether the selected trial was trained to its end, and whether it is the trial of the base.
    ``leads``: whether no other value of the axis has a selected trial of a better rank; False if fewer than two values
    have a selected trial. ``dev``, ``test``: the selected trial's scores, in the order of ``seeds``; empty if unknown.
    ``effect``: the effect of the value on the final score; None if the trials do not support one (``effects.py``).
    ``epochs``, ``seconds``: the total epochs and seconds of all trials with the value.
    ``parameters``, ``latency``: the selected trial's values of these objectives; None if they are not objectives.
    ``on_front``: whether the selected trial is on the Pareto front of several objectives.
    ``reported``: the selected trial's values in the objectives that a user's function reports after the score.
    ``reused``: whether the selected trial was reused instead of trained in this study.
    """

    axis: str
    value: str
    trials: int
    scored: int
    members: tuple[int, ...] = ()
    selected: int | None = None
    state: str | None = None
    whole: bool = True
    epoch: int | None = None
    seeds: tuple[int, ...] = ()
    is_base: bool = False
    leads: bool = False
    dev: tuple[float, ...] = ()
    effect: Effect | None = None
    test: tuple[float, ...] = ()
    epochs: int = 0
    seconds: float = 0.0
    parameters: int | None = None
    latency: float | None = None
    reported: Mapping[str, float | None] = field(default_factory=dict)
    on_front: bool = False
    reused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchData:
    """The data of a search from which the rows of its table are computed.

    ``trials``, ``seeds``: the frames of these names; ``trials`` is indexed by trial number.
    ``points``: the columns of the axes in ``trials``, named by the axes' paths.
    ``parts``: the part of each axis (a value of a choice, or a range of numbers) that each trial has, from
    ``levels.levels``.
    ``whole``: whether each trial was trained to its end.
    ``ranked``: the numbers of the trials with a score, the best first.
    ``base``: the number of the base's trial; None if it has no score.
    ``front``: the numbers of the trials on the Pareto front.
    ``reported``: the columns of the objectives that a user's function reports after the score.
    ``sign``: the factor from a measured value to a score: -1 if a smaller measure is better, else 1.
    """

    trials: pd.DataFrame
    points: pd.DataFrame
    seeds: pd.DataFrame
    parts: pd.DataFrame
    whole: "pd.Series[bool]"
    ranked: Sequence[int]
    base: int | None
    front: frozenset[int]
    reported: Sequence[str]
    sign: float
    effects: Effects


def rows(
    seen: SearchData, axes: Sequence[str], domains: Domains, baseline: tuple[str, float, float] | None
) -> tuple[ValueRow, ...]:
    """Return the rows of the table in order: baseline, base and best (if known), then the values of each axis.

    ``axes``: the axes to show. ``domains``: the domains of all axes. ``baseline``: the baseline's name and its scores
    on dev and test; None without a baseline.
    """
    found: list[ValueRow] = []
    if baseline is not None:
        name, dev, test = baseline
        found.append(ValueRow(axis=BASELINE, value=name, trials=0, scored=0, dev=(dev,), test=(test,)))
    if seen.base is not None:
        found.append(_row(seen, BASE, f"trial {seen.base}", seen.trials.index == seen.base))
    if seen.ranked:
        found.append(_row(seen, BEST, f"trial {seen.ranked[0]}", seen.trials.index >= 0))
    for axis in axes:
        found.extend(_axis(seen, axis, domains))
    return tuple(found)


def _axis(seen: SearchData, axis: str, domains: Domains) -> Iterator[ValueRow]:
    """Yield the rows of an axis in the order of its domain. Trials in which the axis is inactive are in no row."""
    own = seen.parts[axis].to_numpy()
    found = [
        replace(_row(seen, named(axis), part.label, own == place), effect=seen.effects.of.get((axis, place)))
        for place, part in enumerate(parts_of(domains[axis]))
    ]
    reached = {row.selected: (len(row.seeds), _mean(row.dev)) for row in found if row.dev}
    best = next((reached[number] for number in seen.ranked if number in reached), None)
    for row in found:
        yield replace(row, leads=len(reached) > 1 and bool(row.dev) and reached[row.selected] == best)


def _row(seen: SearchData, axis: str, value: str, member: Any) -> ValueRow:
    if not member.any():  # true for most values of an axis with many values
        return ValueRow(axis=axis, value=value, trials=0, scored=0, reported=dict.fromkeys(seen.reported))
    group = seen.trials.loc[member, ["score", "epochs", "seconds"]]
    scored = group["score"].notna()
    row = ValueRow(
        axis=axis,
        value=value,
        trials=len(group),
        scored=int(scored.sum()),
        members=tuple(group.index),
        epochs=int(group["epochs"].sum()),
        seconds=sum(group["seconds"].tolist()),
        reported=dict.fromkeys(seen.reported),
    )
    if not scored.any():
        return row
    numbers = set(group.index[scored])
    selected = next(number for number in seen.ranked if number in numbers)
    trial: Any = seen.trials.loc[selected]
    seeds = seen.seeds[seen.seeds["trial"] == selected]
    return replace(
        row,
        selected=int(selected),
        state=trial["state"],
        whole=bool(seen.whole[selected]),
        epoch=int(trial["best_epoch"]),
        seeds=tuple(seeds["seed"].tolist()),
        is_base=selected == seen.base,
        dev=_scores(seeds["dev"], seen.sign),
        test=_scores(seeds["test"], seen.sign),
        parameters=None if pd.isna(trial["parameters"]) else int(trial["parameters"]),
        latency=None if pd.isna(trial["latency"]) else float(trial["latency"]),
        reported={name: None if pd.isna(trial[name]) else float(trial[name]) for name in seen.reported},
        on_front=selected in seen.front,
        reused=bool(trial["reused"]),
    )


def _scores(values: "pd.Series[float]", sign: float) -> tuple[float, ...]:
    return tuple(sign * value for value in values.tolist()) if values.notna().any() else ()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
