"""The last sentence of a study: what its numbers carry, and no more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from skipstack.dashboards.report.quantities import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.confirmation.confirmation import ConfirmedRow
from skipstack.search.exploration.exploration import Exploration
from skipstack.search.exploration.table import BASE, BEST, Row
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.study.records.parts import value_text
from skipstack.spaces.changes import changes, chosen
from skipstack.spaces.trial import Scalar


def search_in_a_sentence(found: Exploration) -> str:
    """What the best trial of a search has beside the base.

    A search describes: the best of many trials is the more flattered, the more there were. Whether it holds, an
    ablation finds out.
    """
    rows = {row.axis: row for row in found.rows if row.axis in (BASE, BEST)}
    base, best = rows.get(BASE), rows.get(BEST)
    if best is None or found.best_config is None:
        return "No trial has a score, so nothing can be said of what was varied."
    reached = _score(best, found.measure)
    if best.is_base:
        others = best.scored - 1
        why = f"none of {counted(others, 'other')} reaches more" if others else "no other trial has a score"
        return f"The base itself is the best on dev, with {reached}: {why}."
    named = f"Trial {best.selected}{f', the best of {best.scored} on dev,' if best.scored > 1 else ''}"
    if base is None:
        return f"{named} reaches {reached}; the base has no score that it could be compared with."
    theirs = _score(base, found.measure)
    against = f"what the base reaches, {theirs}" if reached == theirs else f"{reached}, where the base reaches {theirs}"
    cut = "" if base.whole and best.whole else ", although not both were trained to the end"
    differs = listed(settings(chosen(changes(found.best_config, found.base), found.best_config)))
    return (
        f"{named} reaches {against}{cut}; it differs by {differs}. "
        "That is what the search saw: whether it holds, `skipstack ablate` finds out on fresh seeds."
    )


def ablation_in_a_sentence(winner: ConfirmedRow, without: Mapping[str, ConfirmedRow], measure: Measure) -> str:
    """Which of the winner's changes earn their place.

    ``winner``: the row that is measured from the base. ``without``: by its change, each row that lacks this one, which
    is measured from the winner; together they are a family. A change earns its place where the row without it is
    worse, and by more than chance.
    """
    known = {
        change: row.difference for change, row in without.items() if row.difference is not None and row.p is not None
    }
    earned = [each for each in known if without[each].marked and known[each].value < 0]
    costly = [each for each in known if without[each].marked and known[each].value > 0]
    unclear = [each for each in known if each not in earned and each not in costly]
    said = [
        *_said(earned, "earns its place", "earn their place", known, measure),
        *_said(costly, "does harm", "do harm", known, measure),
        *_said(unclear, "shows no effect beyond chance", "show no effect beyond chance"),
        *(f"of {each} nothing is known ({_why(row)})" for each, row in without.items() if each not in known),
        *_together(winner, measure),
    ]
    opening = "The winner's one change" if len(without) == 1 else f"Of the winner's {len(without)} changes"
    return f"{opening}: {'; '.join(said)}."


def _said(
    which: Sequence[str],
    one: str,
    several: str,
    known: Mapping[str, Estimate] | None = None,
    measure: Measure | None = None,
) -> Iterator[str]:
    """``depth 5 (without it -6.21 ± 1.10 points) earns its place``; nothing of none."""
    if which:
        shown = [
            each if known is None or measure is None else f"{each} (without it {with_half(known[each], measure)})"
            for each in which
        ]
        yield f"{listed(shown)} {one if len(which) == 1 else several}"


def _together(winner: ConfirmedRow, measure: Measure) -> Iterator[str]:
    """How far the winner is from the base, where that has an interval."""
    if winner.difference is not None and winner.difference.half is not None:
        verdicts = {1: "ahead of", 0: "not shown to differ from", -1: "behind"}
        verdict = verdicts[winner.difference.sign]
        yield f"the winner is {verdict} the base, {with_half(winner.difference, measure)}"


def _why(row: ConfirmedRow) -> str:
    return row.why or (row.difference.why if row.difference is not None else "")


def with_half(difference: Estimate, measure: Measure) -> str:
    """``-6.21 ± 1.10 points``."""
    assert difference.half is not None
    unit = " points" if measure.in_points else ""
    return f"{measure.factor * difference.value:+.2f} ± {abs(measure.factor) * difference.half:.2f}{unit}"


def settings(changes: Mapping[str, Scalar]) -> list[str]:
    """``depth 5`` for ``model.stack.depth=5``, with as much of the path as tells the changes apart."""
    return [f"{name} {_value(value)}" for name, value in zip(names(changes), changes.values(), strict=True)]


def names(paths: Iterable[str]) -> list[str]:
    """The last parts of dotted paths, as few as tell them apart; a ``kind`` is named by what it is the kind of."""
    parts = [path.removesuffix(".kind").split(".") for path in paths]
    return [next(name for name in _longer(own) if sum(_ends(each, name) for each in parts) == 1) for own in parts]


def listed(things: Sequence[str]) -> str:
    """``one``, ``one and two``, ``one, two and three``."""
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last


def _longer(parts: Sequence[str]) -> list[str]:
    return [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


def _ends(parts: Sequence[str], name: str) -> bool:
    return f".{'.'.join(parts)}".endswith(f".{name}")


def _value(value: Scalar) -> str:
    return f"{value:.3g}" if isinstance(value, float) else value_text(value)


def _score(row: Row, measure: Measure) -> str:
    """``97.31 %``, ``F1 88.10``, ``perplexity 71.02``."""
    number = f"{measure.factor * fmean(row.dev):.2f}"
    return f"{number} %" if measure.unit == "%" else f"{measure.unit} {number}"
