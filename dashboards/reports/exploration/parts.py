"""The details of a search's report, below its table: importance of axes, pairs of values, rungs, and forecasts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from skipstack.dashboards.formats.page import (
    Block,
    Cell,
    Column,
    FoldedPart,
    Listing,
    Numbers,
    Sentence,
    Table,
    TableRow,
)
from skipstack.dashboards.reports.wording import NONE, scored, size_of
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.exploration.exploration_frame import pairs
from skipstack.search.analysis.exploration.shuffled import TIMES_EACH
from skipstack.search.analysis.exploration.standing_out import LEVEL

NAMED: Final = 3
"""The maximum number of pairs of values that the page lists."""

STANDS_OUT: Final = "›"
"""Marks an axis with an importance that chance does not explain."""

Content = Mapping[str, Any]


def contents(exploration: Exploration) -> Content:
    """The numbers of all details, by name. Scores are unscaled, and larger if better (``data.tasks.measure``)."""
    model, continued = exploration.effects, exploration.continued
    return {
        "effects": {
            "whole_trials": model.whole,
            "stopped_trials": model.stopped,
            "columns": model.columns,
            "deviation": model.model.deviation if model.of else None,
        },
        "importances": _records(exploration.importances),
        "pairs": _records(pairs(exploration).assign(interaction=exploration.pairs["interaction"])),
        "rungs": _records(exploration.rungs),
        "expected_best": _records(exploration.budgets),
        "continued": continued and {**asdict(continued), "worth_it": continued.worth_it},
    }


def parts(content: Content, measure: Measure) -> Iterator[FoldedPart]:
    """Yield the details that are not empty. ``content``: the result of ``contents``."""
    if content["importances"]:
        yield FoldedPart("importance", (_importances(content["importances"]),))
    if content["pairs"]:
        yield FoldedPart("pairs", (_pairs(content, measure),))
    if reached := [rung for rung in content["rungs"] if rung["n"]]:
        yield FoldedPart("rungs", (_rungs(reached),))
    if len(content["expected_best"]) > 1:
        told = [_expected(content["expected_best"], measure)]
        if content["continued"] is not None:
            told.append(_continued(content["continued"], measure))
        yield FoldedPart("forecasts", ((Sentence(" ".join(told)),),))


def _importances(found: Sequence[Numbers]) -> tuple[Block, ...]:
    rows = [
        TableRow(
            names=(str(each["axis"]),),
            label=str(each["axis"]),
            cells=(Cell(f"{each['trials']:,}"), Cell(_share(each["fanova"])), Cell(_share(each["by_chance"]))),
            mark=Cell(STANDS_OUT if each["stands_out"] else ""),
            style="bold" if each["stands_out"] else "",
            code=True,
        )
        for each in found
    ]
    columns = (Column("n"), Column("fANOVA"), Column("by chance"))
    note = (
        "fANOVA: the share of the variance of all scores that the axis alone explains, in the n trials in which it is "
        "active; by chance: the same where its own values are shuffled among these trials, the mean of "
        f"{TIMES_EACH} times."
    )
    said = (
        f"{STANDS_OUT}: its share is larger than by chance, and scores differ along it by more than along any axis in "
        f"{1 / LEVEL - 1:.0f} of {1 / LEVEL:,.0f} searches in which none matters."
        if any(each["stands_out"] for each in found)
        else "Nothing stands out: along no axis do scores differ by more than chance alone may make them."
    )
    table = Table(names=("axis",), columns=columns, rows=tuple(rows))
    return table, Sentence(f"{said} {note}", style="dim")


def _pairs(content: Content, measure: Measure) -> tuple[Block, ...]:
    """List at most ``NAMED`` pairs of values: pairs whose joint effect differs from the sum of the two effects by more
    than chance explains in any pair. Without such pairs, a sentence says so.
    """
    named = sorted(
        (pair for pair in content["pairs"] if pair["stands_out"]), key=lambda pair: -abs(pair["interaction"])
    )
    if not named:
        return (Sentence("No pair of values is further from the sum of its effects than pairs are by chance."),)
    heading = "Pairs of values further from the sum of their effects than pairs are by chance:"
    return Sentence(heading), Listing(tuple(_pair(pair, measure) for pair in named[:NAMED]))


def _pair(pair: Numbers, measure: Measure) -> str:
    values = f"{pair['axis_one']}={pair['value_one']} with {pair['axis_two']}={pair['value_two']}"
    return f"{values}: {scored(pair['interaction'], measure, '+')} ({counted(int(pair['whole'] or 0), 'whole trial')})"


def _rungs(found: Sequence[Numbers]) -> tuple[Block, ...]:
    heading = (
        "Rungs, and the rank correlation of scores there with those of the last epoch, with its 95 % interval, among "
        "trials that were not stopped:"
    )
    return Sentence(heading), Listing(tuple(map(_rung, found)))


def _rung(rung: Numbers) -> str:
    told = [f"epoch {rung['rung']}: {counted(int(rung['n'] or 0), 'trial')}, {rung['stopped']:,} stopped"]
    if rung["correlation"] is not None:
        told.append(
            f"correlation {rung['correlation']:+.2f} ({rung['low']:+.2f} to {rung['high']:+.2f}, n {rung['whole']:,})"
        )
    if rung["place_of_best"] is not None:
        told.append(f"best at place {rung['place_of_best']:,}")
    return "; ".join(told)


def _expected(found: Sequence[Numbers], measure: Measure) -> str:
    shown = [found[place] for place in sorted({0, len(found) // 3, 2 * len(found) // 3, len(found) - 1})]
    best = ", ".join(scored(each["expected_best"], measure) for each in shown)
    trials, epochs = (", ".join(f"{each[name]:,.0f}" for each in shown) for name in ("trials", "epochs"))
    drawn = f"{trials} of these trials, drawn at random, which take {epochs} epochs"
    return f"The best dev {measure.label} of {drawn}: {best}."


def _continued(found: Content, measure: Measure) -> str:
    """The sentences on the gain from the last trials, and on the gain to expect from as many more trials."""
    said = f"The last {counted(found['trials'], 'trial')} improved the best by {size_of(found['last'], measure)}"
    if found["most"] is not None:
        said += (
            f". As many more, in {found['epochs']:,.0f} epochs, would improve it by {size_of(found['most'], measure)} "
            f"at most, on average; no more came in {100 * found['held']:.0f} of 100 searches by the same proposer"
        )
    if found["seed_deviation"] is None:
        return f"{said}."
    deviation = size_of(found["seed_deviation"], measure)
    if found["worth_it"]:
        return f"{said}; seeds of one config deviate by {deviation}."
    return f"{said}: less than a tenth of what seeds of one config deviate by, {deviation}, and hardly worth the time."


def _share(value: Any) -> str:
    return NONE if value is None else f"{100 * value:.0f} %"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries. Missing values are None."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in rows]
