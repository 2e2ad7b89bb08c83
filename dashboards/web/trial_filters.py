"""Filters for the charts of trials: by state, value and axis; at first they show the whole search."""

from typing import TYPE_CHECKING

import streamlit as st

from skipstack.dashboards.web.addresses import trial_addresses
from skipstack.dashboards.web.elements import heading

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration


def chosen_trials(seen: "Exploration") -> "pd.DataFrame":
    """The trials that pass a filter by state and value; the additive model is still of all trials."""
    trials = seen.seen.trials
    with st.expander("Filter trials", icon=":material/filter_alt:"):
        states = st.multiselect("State", sorted(set(trials["state"])), key="states", placeholder="all")
        axis = st.selectbox("Axis", list(seen.domains), index=None, key="filtered axis", placeholder="none")
        values = (
            []
            if axis is None
            else sorted(trials[axis].dropna().unique().tolist(), key=lambda value: (str(type(value)), value))
        )
        shown = st.multiselect("Values", values, key=f"values of {axis}", placeholder="all") if axis else []
        kept = trials
        if states:
            kept = kept[kept["state"].isin(states)]
        if shown:
            kept = kept[kept[axis].isin(shown)]
        st.caption(f"{len(kept):,} of {len(trials):,} trials are drawn one by one. Effects and importance are of all.")
    return kept


def chosen_axes(
    seen: "Exploration", most: int, *, key: str = "axes", label: str = "Axes", exactly: int | None = None
) -> list[str]:
    """The selected axes; at first the ``most`` most important ones."""
    ranked = [str(axis) for axis in seen.importances["axis"]]
    every = [*ranked, *(axis for axis in seen.domains if axis not in ranked)]
    return st.multiselect(label, every, default=every[:most], key=key, max_selections=exactly or len(every))


def trials_table(seen: "Exploration", trials: "pd.DataFrame") -> None:
    """A sortable and searchable table of the trials with their values, the best first."""
    heading("Trials", level=3)
    columns = ["state", "dev", "best_epoch", "epochs", "seconds", *seen.domains]
    shown = trials.sort_values("score", ascending=False, na_position="last")[columns]
    shown = shown.assign(dev=shown["dev"] * abs(seen.measure.factor))
    if (address := trial_addresses()) is not None:
        shown.insert(0, "page", [address((None, number)) for number in shown.index])
    st.dataframe(shown, key="trials", column_config={"page": st.column_config.LinkColumn(display_text="open")})
