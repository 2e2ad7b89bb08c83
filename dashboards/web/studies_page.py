"""The page that lists all studies and compares chosen ones."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd
import streamlit as st

from skipstack.dashboards.reports.pictures.studies_pictures import studies_charts
from skipstack.dashboards.reports.wording import NONE, ago, duration
from skipstack.dashboards.web.elements import charts, empty, heading, report, sentence
from skipstack.dashboards.web.page_names import BELIEVE, GOING, WORKS
from skipstack.dashboards.web.snapshot import Snapshot, snapshot, version_of
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import called
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

COLUMNS: Final = ("study", "state", "trials", "best", "of", "confirmed", "trial", "corpus", "training", "last event")

CONFIG: Final[Mapping[str, Any]] = {
    "study": st.column_config.TextColumn("study", help="A click opens it"),
    "best": st.column_config.NumberColumn(
        "best", format="%.2f", help="The best trial's score on dev; the best of many trials is flattered"
    ),
    "trial": st.column_config.NumberColumn("trial", format="%d"),
    "training": st.column_config.TextColumn("training", help="Training and evaluation, over all trials"),
    "confirmed": st.column_config.TextColumn("confirmed", help="Whether anything has an interval"),
}
"""The labels, formats and help texts of the columns."""

PATIENCE: Final = 1.0
"""The seconds after which the rows read so far are shown, while other studies are still being read."""


def studies_page(studies: Mapping[str, Path]) -> None:
    """Show a table with a row for each study. A click on a row opens the study; chosen studies are compared below."""
    heading(f"{len(studies):,} {'study' if len(studies) == 1 else 'studies'}")
    if not studies:
        empty("Studies stand here once `skipstack search` has begun one below the folders that are shown.")
        return
    place, rows = st.empty(), dict[str, dict[str, Any]]()
    shown = time.monotonic()
    for name, path in studies.items():
        rows[name] = row_of(name, path)
        if time.monotonic() - shown > PATIENCE and len(rows) < len(studies):
            place.dataframe(
                pd.DataFrame(list(rows.values())).reindex(columns=COLUMNS),
                hide_index=True,
                column_config=CONFIG,
                placeholder=NONE,
            )
            shown = time.monotonic()
    with place.container():
        _table(pd.DataFrame(list(rows.values())).reindex(columns=COLUMNS))
    if len(studies) > 1:
        _compared(studies)


def row_of(name: str, path: Path) -> dict[str, Any]:
    """The table row of a study. If the study cannot be read, the column ``state`` has the reason."""
    try:
        return {"study": name, **_described(snapshot(path))}
    except UserError as error:
        return {"study": name, "state": str(error)}


def _described(of: Snapshot) -> dict[str, Any]:
    frames = of.frames
    trials, measure = frames.trials, frames.measure
    ends = trials["state"].value_counts()
    running = int(ends.get("running", 0) + ends.get("paused", 0))
    best = of.best
    written = max(nanoseconds for *_, nanoseconds in version_of(of.path)) / 1e9
    return {
        "state": "finished" if frames.finished else f"not finished, {running:,} running" if running else "not finished",
        "trials": f"{len(trials) - running:,} of {max(frames.study.search.trials, len(trials)):,}",
        "best": None if best is None else abs(measure.factor) * float(trials["dev"][best]),
        "of": f"{measure.label} on dev",
        "trial": best,
        "confirmed": "yes" if frames.confirms else "no",
        "corpus": _read(frames.study.space.base),
        "training": duration(float(trials["seconds"].sum())),
        "last event": ago(time.time() - written),
    }


def _read(base: Subject) -> str:
    """The name of a study's corpus or function. ``base``: the base config of the study."""
    return called(base.data.corpus) if isinstance(base, TrialConfig) else base.title


def _table(frame: pd.DataFrame) -> None:
    opened = st.session_state.setdefault("opened", 0)  # a new key, so nothing is selected when the user comes back
    key = f"studies {opened}"
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=partial(_open, key, frame),
        selection_mode=("single-row", "single-cell"),
        column_config=CONFIG,
        placeholder=NONE,
    )
    sentence(
        "A click on a row opens its study. Best: what the search saw of its best trial on dev. The more trials, the "
        "more it is flattered; only what is confirmed has an interval.",
        pale=True,
    )


def _open(key: str, frame: pd.DataFrame) -> None:
    """Open the study in the clicked row, on the page that says most about it."""
    selection = st.session_state[key].selection
    rows = [*selection.rows, *(row for row, _ in selection.cells)]
    if rows:
        row = frame.iloc[rows[0]]
        going = str(row["state"]) != "finished" or pd.isna(row["best"])
        st.session_state["study"] = row["study"]
        st.session_state["page"] = GOING if going else BELIEVE if row["confirmed"] == "yes" else WORKS
        st.session_state["opened"] += 1


def _compared(studies: Mapping[str, Path]) -> None:
    chosen = st.multiselect("Compare studies on one corpus", list(studies), key="compared", bind="query-params")
    if len(chosen) < 2:
        return
    from skipstack.dashboards.reports.confirmation.studies_report import studies_report
    from skipstack.search.analysis.confirmation.studies import compare_studies

    try:
        found = compare_studies({name: snapshot(studies[name]).record for name in chosen})
    except UserError as error:
        st.warning(str(error).replace("[", "\\["))
        return
    made = studies_report(found)
    report(made)
    charts(studies_charts(made.records, found.budgets, found.measure), "studies")
