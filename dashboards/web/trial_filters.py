"""Filters for the charts of trials, by state, value and axis. Without filters, charts show the whole search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from skipstack.dashboards.charts.axes import is_quantity, ordered, text_of
from skipstack.dashboards.web.elements import folded, form, kept, select, sentence, several
from skipstack.dashboards.web.view import View
from skipstack.data.basis.counted import counted
from skipstack.search.analysis.frames.columns import axis_column
from skipstack.search.ledger.events import Reason
from skipstack.spaces.domains import Choice, Domain
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration

MOST_AXES: Final = 6
"""The maximum number of axes that are drawn before the user chooses axes."""

STATES: Final = ("running", "paused", *get_args(Reason))
"""The states in which a trial may be."""

WIDE: Final = 20
"""A list of numbers has a logarithmic scale if its largest number is more than this many times the smallest."""

END: Final = "end"
"""The choice of each trial's best score, however long it was trained."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The trials that pass the filters, and the axes to draw them over, in the order of the study.

    ``trials``: the table of these trials. ``axes``: the columns of the chosen axes. ``names``: the short names of all
    axes, by column. ``log``: the columns of the axes with a logarithmic scale. ``after``: the number of
    epochs after which the scores of values are compared; None for the best scores of the whole training.
    """

    trials: "pd.DataFrame"
    axes: list[str]
    names: dict[str, str]
    log: frozenset[str]
    after: int | None


def short_names(seen: "Exploration") -> dict[str, str]:
    """The short names of the axes, by their columns in the table of trials."""
    return {axis_column(path): name for path, name in names_by_path(seen.domains).items()}


def chosen_of(view: View, seen: "Exploration") -> Chosen:
    """The trials and axes that the address of a page chooses. Raises UserError for a state that no trial can have, and
    for a value, an axis or a rung that the study lacks.
    """
    trials, short = seen.seen.trials, short_names(seen)
    states, values = view.chosen("states", STATES, "state"), _values_of(seen, short)
    only = [values[each] for each in view.chosen("only", values, "value")]
    named = view.chosen("axes", list(short.values()), "axis")
    axes = [axis for axis, name in short.items() if name in named] or list(short)[:MOST_AXES]
    left = trials[trials["state"].isin(states)] if states else trials
    for axis in dict.fromkeys(axis for axis, _ in only):
        left = left[left[axis].isin([value for own, value in only if own == axis])]
    return Chosen(left, axes, short, logarithmic(seen.domains), _after(view, seen))


def alike(seen: "Exploration", chosen: Chosen) -> "pd.DataFrame":
    """The chosen trials, each with its best score up to the epoch ``chosen.after``. A trial that was stopped earlier
    has no score. If ``chosen.after`` is None, the whole training counts.
    """
    if chosen.after is None:
        return chosen.trials
    score = seen.reached[chosen.after].reindex(chosen.trials.index)
    return chosen.trials.assign(score=score, dev=seen.seen.sign * score)


def _after(view: View, seen: "Exploration") -> int | None:
    """The number of epochs that the address chooses; None for the scores of the whole training. If trials were stopped,
    the default is the last rung that at least half of the trials reached, since scores of the whole training depend
    mostly on how long a trial was trained.
    """
    rungs = {str(rung): rung for rung in seen.compared}
    if asked := view.chosen("after", [END, *rungs], "number of epochs"):
        return rungs.get(asked[-1])
    reached = (rung for rung in seen.compared if rung in seen.reached)
    half = [rung for rung in reached if seen.reached[rung].count() * 2 >= len(seen.reached)]
    return max(half) if half and "stopped" in seen.ends else None


def filters(view: View, seen: "Exploration", chosen: Chosen) -> str:
    """The form with the filters, folded unless one is set. They do not affect the additive model, which uses all
    trials.
    """
    trials, short = seen.seen.trials, chosen.names
    states, values = sorted(set(trials["state"])), list(_values_of(seen, short))
    named = [short[axis] for axis in chosen.axes]
    fields = (
        kept({"study": view.every("study"), "question": view.every("question")}),
        several("states", "States", dict(zip(states, states, strict=True)), view.every("states")),
        *([several("only", "Only with", dict(zip(values, values, strict=True)), view.every("only"))] if values else []),
        several("axes", "Axes", {name: name for name in short.values()}, named),
        *(
            [select("after", "Value by value, scores", _epochs(seen), str(chosen.after or END))]
            if seen.compared
            else []
        ),
    )
    told = f"{len(chosen.trials):,} of {counted(len(trials), 'trial')} pass. Effects and importance are of all trials."
    is_set = any(view.every(each) for each in ("states", "only", "axes", "after"))
    return folded("Filters and axes", form(*fields, name="filters"), opened=is_set) + sentence(told, pale=True)


def _epochs(seen: "Exploration") -> dict[str, str]:
    return {END: "at the end of each trial", **{str(rung): f"after {counted(rung, 'epoch')}" for rung in seen.compared}}


def logarithmic(domains: Mapping[str, Domain]) -> frozenset[str]:
    """The columns of the axes to draw on a logarithmic scale: ranges that are sampled on a log scale, and lists of
    numbers that differ widely (``WIDE``). ``domains``: the domain of each axis by its path.
    """
    return frozenset(axis_column(axis) for axis, domain in domains.items() if domain.log or _is_wide(domain))


def _is_wide(domain: Domain) -> bool:
    """Whether a domain lists positive numbers that are too far apart for a linear scale."""
    values = domain.values if isinstance(domain, Choice) else ()
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) > 0 and min(numbers) > 0 and max(numbers) > WIDE * min(numbers)


def _values_of(seen: "Exploration", short: dict[str, str]) -> dict[str, tuple[str, Any]]:
    """The entries of the filter by value, such as ``depth 3``, each with its axis and value. Axes with a numeric scale
    have none. ``short``: the short names of axes, by column.
    """
    found = dict[str, tuple[str, Any]]()
    for axis, name in short.items():
        column = seen.seen.trials[axis]
        if not is_quantity(column):
            known = {text_of(value): value for value in column.dropna().unique().tolist()}
            found |= {f"{name} {text}": (axis, known[text]) for text in ordered(column)}
    return found
