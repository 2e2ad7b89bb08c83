"""The page "What do I take away?": downloads, the networks and configs of trials, and a network on a typed sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.reports.wording import NONE
from skipstack.dashboards.web.downloads import downloads
from skipstack.dashboards.web.elements import drawing_of, heading, sentence, table
from skipstack.dashboards.web.inspecting import inspecting
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.dashboards.web.trial_log import trial_log
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.study.record.domain_parts import value_text
from skipstack.spaces.trial import CODE

if TYPE_CHECKING:
    from skipstack.spaces.subject import Scalar, Subject

BASE: Final = -1
"""Stands for the base config among the numbers of trials."""


def export_page(path: Path) -> None:
    """Show the page "What do I take away?" of the study in the folder ``path``."""
    of = snapshot(path)
    ranked = list(of.explored.seen.ranked)
    heading("Files")
    downloads(of, ranked)
    trains = of.frames.study.space.base.keeps_weights
    heading("The network of a trial" if trains else "The values of a trial")
    base = () if of.explored.imported else (BASE,)
    numbers = [*ranked, *sorted(set(of.frames.trials.index) - set(ranked)), *base]
    names = _names(of)
    left, right = st.columns(2)
    one = left.selectbox("Trial", numbers, format_func=names.__getitem__, key="one", width="stretch")
    other = right.selectbox(
        "Compared with", numbers, index=len(numbers) - 1, format_func=names.__getitem__, key="other"
    )
    if one is None or other is None:
        return
    first, second = config_of(of, one), config_of(of, other)
    for column, config, number in ((left, first, one), (right, second, other)) if trains else ():
        with column:
            drawing_of(config, names[number])
    _differences(first, second, (names[one], names[other]))
    if one != BASE:
        with st.expander(f"Log of trial {one}"):
            trial_log(path, one)
    if not trains:
        return
    heading("Inside a network")
    inspecting(of, [number for number in ranked if number != BASE])


def config_of(of: Snapshot, number: int) -> "Subject":
    """The config of trial ``number``; ``BASE`` is the base config."""
    import json

    if number == BASE:
        return of.frames.study.space.base
    return of.frames.space.config(json.loads(str(of.frames.trials.loc[number, "point"])))


def differing(first: "Subject", second: "Subject") -> "tuple[list[Row], list[Row]]":
    """Return the settings in which two configs differ, and the settings that are equal. The files of the user's own
    code are left out.
    """
    one, other = first.flatten(), second.flatten()
    if first.code or second.code:
        one, other = ({path: value for path, value in each.items() if path != CODE} for each in (one, other))
    rows = [(path, _text(one, path), _text(other, path)) for path in dict.fromkeys((*one, *other))]
    return [row for row in rows if row[1] != row[2]], [row for row in rows if row[1] == row[2]]


Row = tuple[str, str, str]
"""The path of a setting, and its value in each of two configs."""


def _text(leaves: "dict[str, Scalar]", path: str) -> str:
    if path not in leaves:
        return NONE
    value = leaves[path]
    return value_text(value) if isinstance(value, str | int | float | bool) or value is None else canonical_json(value)


def _differences(first: "Subject", second: "Subject", names: tuple[str, str]) -> None:
    apart, alike = differing(first, second)
    heading("Differences", level=3)
    if apart:
        table(("path", *names), apart)
    else:
        sentence("None: the configs are the same.")
    with st.expander(f"{len(alike):,} equal settings"):
        table(("path", "value"), (row[:2] for row in alike))


def _names(of: Snapshot) -> dict[int, str]:
    """The labels of the trials and of the base config (``BASE``) in the lists to choose from, by number."""
    trials, measure = of.frames.trials, of.frames.measure
    told = zip(trials.index, trials["score"].notna(), trials["score"], trials["state"], strict=True)
    named = {
        int(number): f"trial {number}: {measure.written(score) if scored else 'no score'}, {state}"
        for number, scored, score, state in told
    }
    return {**named, BASE: "the base"}
