"""The last sentence of a study: what its numbers carry, and no more."""

from collections.abc import Iterable, Mapping, Sequence

from skipstack.dashboards.report.quantities import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.ablation.ablation import BASE, BEST, Ablation, Row
from skipstack.search.study.records.parts import value_text
from skipstack.spaces.changes import chosen
from skipstack.spaces.trial import Scalar


def search_in_a_sentence(ablation: Ablation, ablate: str) -> str:
    """What the best trial of a search has beside the base.

    A search describes: the best of many trials is the more flattered, the more there were. ``ablate`` is the command
    that finds out whether it holds.
    """
    rows = {row.axis: row for row in ablation.rows if row.axis in (BASE, BEST)}
    base, best = rows.get(BASE), rows.get(BEST)
    if best is None or best.dev is None or ablation.best is None:
        return "No trial has a score, so nothing can be said of what was varied."
    reached = _score(best, ablation.measure)
    if best.is_base:
        others = best.scored - 1
        why = f"none of {counted(others, 'other')} reaches more" if others else "no other trial has a score"
        return f"The base itself is the best on dev, with {reached}: {why}."
    named = f"Trial {best.selected}{f', the best of {best.scored} on dev,' if best.scored > 1 else ''}"
    if base is None or base.dev is None:
        return f"{named} reaches {reached}; the base has no score that it could be compared with."
    theirs = _score(base, ablation.measure)
    against = f"what the base reaches, {theirs}" if reached == theirs else f"{reached}, where the base reaches {theirs}"
    unequal = ", although the two were not trained equally long" if best.unequal else ""
    changes = listed(settings(chosen(ablation.changes, ablation.best.config)))
    return (
        f"{named} reaches {against}{unequal}; it differs by {changes}. "
        f"That is what the search saw: whether it holds is found on fresh seeds by `{ablate}`."
    )


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
    assert row.dev is not None
    number = f"{measure.factor * row.dev.mean:.2f}"
    return f"{number} %" if measure.unit == "%" else f"{measure.unit} {number}"
