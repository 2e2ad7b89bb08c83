"""The table of all trials, which the reader sorts and searches, a page at a time, and fetches as CSV."""

from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pandas.api.types import is_float_dtype, is_numeric_dtype

from skipstack.dashboards.charts.axes import text_of
from skipstack.dashboards.charts.titles import decimals
from skipstack.dashboards.reports.wording import NONE
from skipstack.dashboards.web.elements import form, heading, kept, link, scrolling, shown, sorted_heading, text_field
from skipstack.dashboards.web.trial_filters import short_names
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError, unknown

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

AT_ONCE: Final = 100
"""The number of rows of a page of the table."""

RESULTS: Final = {"state": "state", "dev": "dev", "best_epoch": "best epoch", "epochs": "epochs", "seconds": "seconds"}
"""The columns of results, before the columns of the axes, with their headings."""


def trials_table(view: View, seen: "Exploration", trials: pd.DataFrame) -> str:
    """A page of the table of ``trials``, the best first. Parameters of the address: ``sort`` is another order, ``find``
    a text that a row must contain, and ``from`` the first row.
    """
    frame = _found(listed(seen, trials), view.one("find"))
    if order := view.one("sort"):
        column, columns = order.removeprefix("-"), ["trial", *frame.columns]
        if column not in columns:
            raise UserError(unknown("column", column, columns))
        frame = frame.sort_values(column, ascending=order == column, kind="stable", na_position="last")
    first = min(view.number("from", 0), max(0, len(frame) - 1)) // AT_ONCE * AT_ONCE
    rows = frame.iloc[first : first + AT_ONCE]
    search = form(
        kept(view.without("find", "from")),
        text_field("find", "Find", view.one("find"), placeholder="such as lstm"),
        name="find",
    )
    return (
        heading("Trials", level=3) + search + scrolling(_table(view, rows), "trials") + _places(view, first, len(frame))
    )


def listed(seen: "Exploration", trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with their results and values under the headings of the table, the best first."""
    short, measure = short_names(seen), seen.measure
    results = {**RESULTS, "dev": f"dev {measure.unit}".strip()}
    taken = {*results.values(), "trial"}
    axes = {column: column if name in taken else name for column, name in short.items()}
    ranked = trials.sort_values("score", ascending=False, na_position="last", kind="stable")[[*results, *axes]]
    return ranked.assign(dev=ranked["dev"] * abs(measure.factor)).rename(columns={**results, **axes})


def _found(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """The rows in which some value, or the number of the trial, contains ``text``."""
    if not text:
        return frame
    texts = frame.reset_index().map(lambda value: _written(value).casefold())
    having = texts.apply(lambda row: row.str.contains(text.casefold(), regex=False)).any(axis=1)
    found: pd.DataFrame = frame.loc[having.to_numpy()]
    return found


def _table(view: View, frame: pd.DataFrame) -> str:
    results = [name for name in frame.columns[: len(RESULTS)] if is_float_dtype(frame[name])]
    digits = {name: decimals(frame[name].dropna()) for name in results}
    sides = {name: "" if is_numeric_dtype(frame[name]) else ' class="start"' for name in frame.columns}
    heads = "".join(
        sorted_heading(
            name, view.one("sort"), lambda sort: view.address(sort=sort, **{"from": ""}), text=bool(sides.get(name))
        )
        for name in ("trial", *frame.columns)
    )
    lines = "".join(
        f'<tr><th scope="row">{link(view.trial((None, int(number))), f"{number}")}</th>'
        + "".join(
            f"<td{sides[name]}>{shown(_written(value, digits.get(name)))}</td>"
            for name, value in zip(frame.columns, row, strict=True)
        )
        + "</tr>"
        for number, row in zip(frame.index, frame.itertuples(index=False), strict=True)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _places(view: View, first: int, count: int) -> str:
    """The line below the table: the range of its rows, and links to the rows before and after and to the CSV."""
    last = min(first + AT_ONCE, count)
    links = [
        *([link(view.address(**{"from": str(first - AT_ONCE)}), "before")] if first else []),
        *([link(view.address(**{"from": str(last)}), "next")] if last < count else []),
        link(view.file("trials.csv"), "CSV", download=True),
    ]
    told = f"{first + 1:,} to {last:,} of {count:,} trials" if count else "No trial has it"
    return f'<p class="pale">{told}. {" · ".join(links)}</p>'


def _written(value: Any, digits: int | None = None) -> str:
    """The text of a cell. ``digits``: the decimals of a result, as many as differences in its column need; None for the
    value of an axis.
    """
    if pd.isna(value):
        return NONE
    return text_of(value) if digits is None else f"{value:.{digits}f}"
