"""The table of a search: each value of each axis, with the base, the best trial and the baseline.

A value is represented by its selected trial, the best on dev of those with the value. Its score is biased upwards, the
more so the more trials it was selected from. So nothing here is tested, and no number has an interval. Only selected
trials, and those of a grid, are measured on test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from skipstack.search.analysis.exploration.effects import Effect, Effects
from skipstack.search.analysis.exploration.levels import Domains
from skipstack.search.study.record.domain_parts import parts as parts_of

BASELINE, BASE, BEST = "baseline", "base", "best"
"""The ``axis`` of the rows that belong to no axis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueRow:
    """A value of an axis. Scores are those of ``data.tasks.measure``, by seed, in the order of ``seeds``.

    ``trials``: how many trials have the value, ``members``: their numbers, ``scored``: how many have a score.
    ``selected``: the best of these; ``epoch``: its best epoch, ``seeds``: its seeds, ``whole``: whether it was trained
    to its end. ``effect``: of the value on the final score; None if the trials cannot carry it (``effects.py``).
    ``epochs``, ``seconds``: of all ``trials``. ``leads``: no other value of the axis has a better selected trial.
    ``state``, ``parameters``, ``latency`` and ``on_front`` (the Pareto front): of the selected trial, the latter three
    if they are objectives; ``reported``: its values in those that a function reports after the score. ``reused``: the
    selected trial was not trained here.
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
    """The data from which the rows are computed.

    ``trials`` (by number), ``seeds``: the frames; ``parts``: from ``levels.levels``; ``whole``: whether each trial was
    trained to its end; ``ranked``: the trials with a score, the best first; ``base``: the base's trial, if any;
    ``front``: the trials on the Pareto front; ``reported``: the columns of the objectives that a function reports after
    the score. ``sign``: the factor from a measured value to a score.
    """

    trials: pd.DataFrame
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
    """The rows in the order they are shown: baseline, base, best, then axis by axis.

    ``baseline``: its name, and its scores on dev and test.
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
    """The rows of an axis in the order of its domain; trials in which it is inactive are in none."""
    own = seen.parts[axis].to_numpy()
    found = [
        replace(_row(seen, axis, part.label, own == place), effect=seen.effects.of.get((axis, place)))
        for place, part in enumerate(parts_of(domains[axis]))
    ]
    reached = {place: _mean(row.dev) for place, row in enumerate(found) if row.dev}
    for place, row in enumerate(found):
        best = place in reached and reached[place] == max(reached.values())
        yield replace(row, leads=len(reached) > 1 and best)


def _row(seen: SearchData, axis: str, value: str, member: Any) -> ValueRow:
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
