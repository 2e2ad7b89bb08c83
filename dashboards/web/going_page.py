"""Is it going well? A study while another process runs it: state, pace, rungs, curves, workers, faults."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import streamlit as st

from skipstack.dashboards.live.counts import Level
from skipstack.dashboards.live.progress import reached
from skipstack.dashboards.reports.enough import enough_in_words
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.dashboards.reports.quantities import NONE, duration, reason_in_words
from skipstack.dashboards.web.elements import charts, heading, sentence, table
from skipstack.dashboards.web.following import Standing, followed
from skipstack.search.ledger.event_values import Usage

EVERY: Final = 3.0
"""Seconds between two looks at a study that runs; the page changes in place."""

SHARE: Final = 5
"""Looks at a long ledger, which take their time, are further apart: so many times as long as one takes."""

SHOWN: Final = ("Learning curves", "Trials at each rung", "Score and training time")
"""Charts of a search that say how it goes."""

FAULTS: Final = 20
"""Faults that are told, at most: the last ones."""


def going_page(path: Path) -> None:
    """The page; it looks again by itself until the study is finished."""
    with st.spinner("Reading the ledger", show_time=True):
        found = followed(str(path))
        over = found.look().state == "finished"
    every = max(EVERY, SHARE * found.seconds)
    st.fragment(lambda: _look(path), run_every=None if over else every, key=f"going {path}")()


def _look(path: Path) -> None:
    standing = followed(str(path)).look()
    _numbers(standing)
    left, right = st.columns(2, gap="medium")
    with left:
        heading("Trials by the rung they reached", level=3)
        table(*_rungs(standing.levels))
    with right:
        heading("Workers", level=3)
        if standing.running:
            table(*_workers(standing))
        else:
            sentence("None trains a trial.")
    charts(going_charts(standing), f"going {path}")
    _faults(standing)
    _place(standing)


def going_charts(standing: Standing) -> Iterator[Drawn]:
    """The charts of this page."""
    from skipstack.dashboards.charts.history import history
    from skipstack.dashboards.charts.timeline import timeline

    seen = standing.seen
    trials, spans, measure = seen.seen.trials, standing.spans, seen.measure
    scored = trials["score"].notna().any()
    yield Drawn("History", (lambda: history(trials, measure)) if scored else "no trial has a score")
    found = {each.heading: each for each in search_charts(seen)}
    yield from (found[name] for name in SHOWN)
    yield Drawn("Timeline", (lambda: timeline(spans)) if len(spans) else "no trial has started")


def _numbers(standing: Standing) -> None:
    seen = standing.seen
    measure, best = seen.measure, seen.best
    value = NONE if best is None else measure.written(float(seen.seen.trials["score"][best]))
    ago = max(time.time() - standing.time, 0.0)
    numbers = {
        "state": standing.state,
        "trials ended": f"{standing.ended:,} of {standing.total:,}",
        f"best {measure.label} on dev" + (" (%)" if measure.in_points else ""): value,
        "trials running": f"{len(standing.running):,}" if standing.state != "finished" else NONE,
        "time left, about": duration(standing.seconds_left),
        "trials a minute": NONE if standing.per_minute is None else f"{standing.per_minute:.1f}",
        "epochs trained": f"{standing.epochs:,}",
        "training, all trials": duration(seen.seconds),
    }
    with st.container(horizontal=True, key="numbers"):
        for label, shown in numbers.items():
            st.metric(label, shown, width="content")
    since = f"The last event of the ledger is {duration(ago)} old"
    told = "" if best is None else f"; the best so far is trial {best}, as it was seen and not tested"
    sentence(f"{since}{told}.", pale=True)
    if seen.enough is not None:
        sentence(enough_in_words(seen.enough, measure))


def _rungs(levels: tuple[Level, ...]) -> tuple[list[str], list[list[str]]]:
    states = list(dict.fromkeys(state for level in levels for state, count in level.counts.items() if count))
    rows = [[reached(level), *(f"{level.counts[state] or ''}" for state in states)] for level in levels]
    return ["reached", *map(reason_in_words, states)], rows


def _workers(standing: Standing) -> tuple[list[str], list[list[str]]]:
    """What trains now; with what it takes of its machine, where workers measure that."""
    used = standing.usage
    rows = [
        [f"trial {number}", str(epoch), *(_taken(used.get(number)) if used else ()), has]
        for number, (epoch, has) in sorted(standing.running.items())
    ]
    metered = ("machine", "processor %", "memory", "GPU %") if used else ()
    return ["trains now", "epochs", *metered, "differs from the base in"], rows


def _taken(usage: Usage | None) -> tuple[str, ...]:
    if usage is None:
        return (NONE,) * 4
    gpu = NONE if usage.gpu is None else f"{usage.gpu:.0f}"
    return usage.machine, f"{usage.process_cpu:.0f}", f"{usage.process_memory / 1e9:.2f} GB", gpu


def _faults(standing: Standing) -> None:
    heading("Faults", level=3)
    if not standing.faults:
        sentence("None.")
        return
    last = standing.faults[: -FAULTS - 1 : -1]
    rows = ([f"trial {each.trial}", each.what, "tried again" if each.again else "ended", each.message] for each in last)
    table(("the last ones first", "what", "then", "message"), rows)


def _place(standing: Standing) -> None:
    placed = standing.placed
    if placed is None:
        return
    part = placed.gpus_per_trial
    share = f", {part:g} of a GPU for each trial" if isinstance(part, float) and part else ""
    heading("Where it runs", level=3)
    told = {
        "engine": f"{placed.engine}, device {placed.device}{share}",
        "Ray cluster": placed.address or "",
        "MLflow": placed.tracking_uri or "",
        "command": placed.command,
        "by": placed.user,
    }
    table(("", ""), ([name, value] for name, value in told.items() if value))
