"""The page "Is it going well?": state, pace, rungs, curves, workers and faults of a study, updated while it runs."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.live.counts import RungCounts
from skipstack.dashboards.live.progress import reached
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_chart
from skipstack.dashboards.reports.verdict import in_a_sentence
from skipstack.dashboards.reports.wording import (
    NONE,
    ago,
    duration,
    enough_in_words,
    hours_over_in_words,
    reason_in_words,
)
from skipstack.dashboards.web.elements import chart, charts, heading, sentence, table, verdict
from skipstack.dashboards.web.following import StudyNow, followed
from skipstack.dashboards.web.running_trials import next_hour_of, running_trials
from skipstack.dashboards.web.snapshot import Snapshot, snapshot
from skipstack.dashboards.web.trial_log import trial_log
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.study_frames import are_at_hand
from skipstack.search.analysis.verdict.of_study import verdict as verdict_so_far
from skipstack.search.ledger.events import Usage

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration

EVERY: Final = 3.0
"""The minimum seconds between two updates of a part of the page. Updates happen in place."""

SHARE: Final = 5
"""The minimum interval between two updates of a part is this multiple of the time that an update takes. Long ledgers
are therefore read less often.
"""

FAULTS: Final = 20
"""The maximum number of faults that are listed: the latest ones."""


def running_page(path: Path) -> None:
    """Show the page "Is it going well?" of the study in the folder ``path``. If the study is not finished yet, the
    parts of the page update themselves, slow parts less often.
    """
    if are_at_hand(path) and (of := snapshot(path)).frames.finished:
        _finished(path, of)
        return
    with st.spinner("Reading the ledger", show_time=True):
        found = followed(str(path))
        over = found.look().state == "finished"
    first = st.container()
    _fragment(_numbers, path, found.seconds, over=over)
    training = st.container()
    left, right = st.columns(2, gap="medium")
    with left:  # shown before the exploration, which takes long for a long study
        _fragment(_history, path, found.seconds, over=over)
    with st.spinner("Reading the search", show_time=True):
        found.progressed()
    for place, show in ((first, _verdict), (training, _training), (right, _curves)):
        with place:
            _fragment(show, path, found.progress_seconds, over=over)
    _fragment(_times, path, found.seconds, over=over)
    _fragment(_told, path, found.seconds, over=over)


def _finished(path: Path, of: Snapshot) -> None:
    """Show the page of a finished study: first the pictures of the search, then the parts that need the ledger."""
    verdict(of.verdict)
    numbers = st.container()
    seen = of.explored
    charts([history_chart(seen.seen.trials, seen.measure), curves_chart(seen)], f"search {path}")
    with st.spinner("Reading the ledger", show_time=True):
        spans = followed(str(path)).spans()
    with numbers:
        _numbers(path)
    charts([time_chart(spans)], f"times {path}")
    _told(path)


def _fragment(show: Callable[[Path], None], path: Path, seconds: float, *, over: bool) -> None:
    """Show a part of the page, and update it unless the study is ``over``. ``seconds``: how long one update takes."""
    every = None if over else max(EVERY, SHARE * seconds)
    st.fragment(partial(show, path), run_every=every, key=f"{show.__name__} {path}")()


def _verdict(path: Path) -> None:
    verdict(verdict_now(path))


def verdict_now(path: Path) -> str:
    """The verdict on a study that may still run, as a sentence."""
    found = followed(str(path))
    over = found.look().state == "finished"  # for a finished study, ablations are read as well
    return snapshot(path).verdict if over else in_a_sentence(verdict_so_far(found.progressed().search))


def _history(path: Path) -> None:
    found = followed(str(path))
    chart(history_chart(found.scores(), found.look().measure), f"history {path}")


def _training(path: Path) -> None:
    found = followed(str(path))
    standing, progressed = found.look(), found.progressed()
    running_trials(progressed, f"training {path}")
    next_hour_of(standing, progressed)


def _curves(path: Path) -> None:
    chart(curves_chart(followed(str(path)).progressed().search), f"curves {path}")


def _times(path: Path) -> None:
    chart(time_chart(followed(str(path)).spans()), f"times {path}")


def _told(path: Path) -> None:
    standing = followed(str(path)).look()
    if standing.state != "finished":
        _now(standing)
    _faults(standing)
    _log(path, standing)
    _place(standing)


def history_chart(trials: "pd.DataFrame", measure: Measure) -> Drawn:
    """The chart of the scores from trial to trial."""
    from skipstack.dashboards.charts.history import history

    scored = trials["score"].notna().any()
    return Drawn("History", (lambda: history(trials, measure)) if scored else "no trial has a score")


def curves_chart(search: "Exploration") -> Drawn:
    """The chart of each trial's scores from epoch to epoch."""
    return search_chart("Learning curves", search)


def time_chart(spans: "pd.DataFrame") -> Drawn:
    """The chart of the periods in which each trial waited, was trained and was measured."""
    from skipstack.dashboards.charts.timeline import timeline

    return Drawn("Timeline", (lambda: timeline(spans)) if len(spans) else "no trial has started", wide=True)


def _numbers(path: Path) -> None:
    standing = followed(str(path)).look()
    with st.container(horizontal=True, key="numbers"):
        for label, shown in numbers_of(standing).items():
            st.metric(label, shown, width="content")
    first, *others = sentences_of(standing)
    sentence(first, pale=True)
    for each in others:
        sentence(each)


def numbers_of(standing: StudyNow) -> dict[str, str]:
    """The four main numbers on the state of a study, by label."""
    measure, best, over = standing.measure, standing.best, standing.state == "finished"
    others = [(standing.waiting, "waiting"), (len(standing.measuring), "measured")]
    waiting = "".join(f", {count:,} {what}" for count, what in others if count)
    return {
        "trials ended": f"{standing.ended:,} of {standing.total:,}",
        f"best {measure.label} on dev" + (" (%)" if measure.in_points else ""): NONE
        if best is None
        else measure.written(best[1]),
        **(
            {"training, all trials": duration(standing.seconds), "epochs trained": f"{standing.epochs:,}"}
            if over
            else {"trials training": f"{len(standing.running):,}{waiting}", "time left": _about(standing.seconds_left)}
        ),
    }


def sentences_of(standing: StudyNow) -> Iterator[str]:
    """Yield a sentence with further numbers, and the reason why the study ended itself early, if it did."""
    yield ". ".join(_further(standing, over=standing.state == "finished")) + "."
    if standing.enough is not None:
        yield enough_in_words(standing.enough, standing.measure)
    if standing.hours is not None:
        yield hours_over_in_words(standing.hours, standing.cut)


def _further(standing: StudyNow, *, over: bool) -> Iterator[str]:
    yield standing.state.capitalize()
    if standing.per_minute is not None and not over:
        yield f"{standing.per_minute:.1f} trials a minute"
    if not over:
        yield f"{counted(standing.epochs, 'epoch')} and {duration(standing.seconds)} of training so far"
    yield f"The last event was recorded {ago(time.time() - standing.time)}"


def _about(seconds: float | None) -> str:
    return NONE if seconds is None else f"about {duration(seconds)}"


def _now(standing: StudyNow) -> None:
    """Show how many trials reached each rung, and which trials are training."""
    left, right = st.columns(2, gap="medium")
    with left:
        heading("Trials by the rung they reached", level=3)
        table(*_rungs(standing.levels))
    with right:
        heading("Workers", level=3)
        if standing.running:
            table(*_workers(standing))
        else:
            sentence("No trial is being trained.")


def _rungs(levels: tuple[RungCounts, ...]) -> tuple[list[str], list[list[str]]]:
    states = list(dict.fromkeys(state for level in levels for state, count in level.counts.items() if count))
    rows = [[reached(level), *(f"{level.counts[state] or ''}" for state in states)] for level in levels]
    return ["reached", *map(reason_in_words, states)], rows


def _workers(standing: StudyNow) -> tuple[list[str], list[list[str]]]:
    """The headings and rows of the table of training trials, with the resource usage of their workers, if measured."""
    used = standing.usage
    rows = [
        [f"trial {number}", str(epoch), *(_taken(used.get(number)) if used else ()), has]
        for number, (epoch, has) in sorted(standing.running.items())
    ]
    metered = ("machine", "processor %", "memory", "GPU %") if used else ()
    return ["training", "epochs", *metered, "differs from the base in"], rows


def _taken(usage: Usage | None) -> tuple[str, ...]:
    if usage is None:
        return (NONE,) * 4
    gpu = NONE if usage.gpu is None else f"{usage.gpu:.0f}"
    return usage.machine, f"{usage.process_cpu:.0f}", f"{usage.process_memory / 1e9:.2f} GB", gpu


def _faults(standing: StudyNow) -> None:
    heading("Faults", level=3)
    if not standing.faults:
        sentence("None.")
        return
    last = standing.faults[: -FAULTS - 1 : -1]
    rows = ([f"trial {each.trial}", f"{each.what}{', retried' if each.again else ''}: {each.message}"] for each in last)
    table(("latest first", "fault"), rows)


def _log(path: Path, standing: StudyNow) -> None:
    if not standing.trials:
        return
    heading("Log", level=3)
    key = f"log {path}"
    first = standing.faults[-1].trial if standing.faults else min(standing.running, default=0)
    st.session_state.setdefault(key, first)
    number = int(st.number_input("Trial", min_value=0, step=1, key=key, width=160))
    if number < standing.trials:
        trial_log(path, number)
    else:
        sentence(f"There is no trial {number} yet (allowed: 0 to {standing.trials - 1}).")


def _place(standing: StudyNow) -> None:
    placed = standing.placed
    if placed is None:
        return
    part = placed.gpus_per_trial
    share = f", {part:g} of a GPU for each trial" if isinstance(part, float) and part else ""
    heading("Where it runs", level=3)
    cpus = f", {placed.cpus_per_trial} CPUs for each trial" if placed.cpus_per_trial > 1 else ""
    most = "" if placed.concurrent == "auto" else f", at most {counted(placed.concurrent, 'trial')} at a time"
    told = {
        "engine": f"{placed.engine}, device {placed.device}{share}{cpus}{most}",
        "Ray cluster": placed.address or "",
        "MLflow": placed.tracking_uri or "",
        "command": placed.command,
        "by": placed.user,
    }
    table(("", ""), ([name, value] for name, value in told.items() if value))
