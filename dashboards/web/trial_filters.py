"""Filters for the charts of trials, by state, value and axis. Without filters, charts show the whole search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import streamlit as st

from skipstack.dashboards.charts.axes import is_quantity, ordered, text_of
from skipstack.dashboards.web.addresses import trial_addresses
from skipstack.dashboards.web.elements import heading
from skipstack.search.analysis.frames.columns import axis_column
from skipstack.spaces.domains import Choice, Log
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration

MOST_AXES: Final = 6
"""The maximum number of axes that are drawn before the user chooses axes."""


WIDE: Final = 20
"""A list of numbers has a logarithmic scale if its largest number is more than this many times the smallest."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The trials that pass the filters, and the axes to draw them over, in the order of the study.

    ``trials``: the table of these trials. ``axes``: the columns of the chosen axes. ``names``: the short names of all
    axes, by column. ``log``: the columns of the axes with a logarithmic scale.
    """

    trials: "pd.DataFrame"
    axes: list[str]
    names: dict[str, str]
    log: frozenset[str]


def unfiltered(seen: "Exploration") -> Chosen:
    """The choice without filters: all trials, over the first ``MOST_AXES`` axes."""
    short = short_names(seen)
    return Chosen(seen.seen.trials, list(short)[:MOST_AXES], short, logarithmic(seen.domains))


def short_names(seen: "Exploration") -> dict[str, str]:
    """The short names of the axes, by their columns in the table of trials."""
    return {axis_column(path): name for path, name in names_by_path(seen.domains).items()}


def chosen_of(seen: "Exploration") -> Chosen:
    """Show the filters, and return the chosen trials and axes.

    The filters are parameters of the page's address. They do not affect the additive model, which uses all trials.
    """
    trials, short = seen.seen.trials, short_names(seen)
    named = {name: axis for axis, name in short.items()}
    states = st.multiselect(
        "States", sorted(set(trials["state"])), key="states", bind="query-params", placeholder="All"
    )
    values = _values_of(seen, short)
    only = st.multiselect("Only with", list(values), key="only", bind="query-params", placeholder="Any value")
    axes = st.multiselect("Axes", list(named), default=list(named)[:MOST_AXES], key="axes", bind="query-params")
    kept = trials[trials["state"].isin(states)] if states else trials
    for axis in dict.fromkeys(values[each][0] for each in only):
        kept = kept[kept[axis].isin([values[each][1] for each in only if values[each][0] == axis])]
    st.caption(f"{len(kept):,} of {len(trials):,} trials are drawn one by one. Effects and importance are of all.")
    return Chosen(kept, [axis for axis, name in short.items() if name in axes], short, logarithmic(seen.domains))


def logarithmic(domains: Mapping[str, object]) -> frozenset[str]:
    """The columns of the axes to draw on a logarithmic scale: logarithmic ranges, and lists of numbers that differ
    widely (``WIDE``). ``domains``: the domain of each axis by its path.
    """
    return frozenset(
        axis_column(axis) for axis, domain in domains.items() if isinstance(domain, Log) or _is_wide(domain)
    )


def _is_wide(domain: object) -> bool:
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


def trials_table(seen: "Exploration", trials: "pd.DataFrame") -> None:
    """Show a table of the trials with their values, the best first. The user can sort and search it."""
    heading("Trials", level=3)
    measure, value = seen.measure, f"dev {seen.measure.unit}"
    results = {"state": "state", "dev": value, "best_epoch": "best epoch", "epochs": "epochs", "seconds": "seconds"}
    short = short_names(seen)
    taken = {*results.values(), "page", trials.index.name, *short}
    axes = {column: column if name in taken else name for column, name in short.items()}
    shown = trials.sort_values("score", ascending=False, na_position="last")[[*results, *axes]]
    shown = shown.assign(dev=shown["dev"] * abs(measure.factor)).rename(columns={**results, **axes})
    if (address := trial_addresses()) is not None:
        shown.insert(0, "page", [address((None, number)) for number in shown.index])
    st.dataframe(
        shown,
        key="trials",
        column_config={
            "page": st.column_config.LinkColumn(display_text="open"),
            value: st.column_config.NumberColumn(format="%.2f"),
            "seconds": st.column_config.NumberColumn(format="%.1f"),
        },
    )
