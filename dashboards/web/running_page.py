"""The page "Is it going well?": state, pace, rungs, curves, workers and faults of a study, updated while it runs."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final

import numpy as np

from skipstack.dashboards.live.counts import MEASURING, RungCounts
from skipstack.dashboards.live.progress import reached
from skipstack.dashboards.reports.next_step import command
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_chart
from skipstack.dashboards.reports.verdict import MESSAGE, in_a_sentence
from skipstack.dashboards.reports.wording import (
    NONE,
    ago,
    duration,
    enough_in_words,
    hours_over_in_words,
    reason_in_words,
)
from skipstack.dashboards.web.acting import are_waiting, forms, waiting, writing, written_about
from skipstack.dashboards.web.elements import (
    beside,
    chart,
    form,
    heading,
    kept,
    metrics,
    sentence,
    table,
    text_field,
    verdict,
)
from skipstack.dashboards.web.following import OVER, StudyNow, followed
from skipstack.dashboards.web.running_trials import next_hour_of, running_trials
from skipstack.dashboards.web.section import Element, Section, never
from skipstack.dashboards.web.snapshot import is_short, snapshot, version_of
from skipstack.dashboards.web.trial_log import log_size, trial_log
from skipstack.dashboards.web.view import View
from skipstack.data.basis.counted import counted, listed
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.study_frames import are_at_hand
from skipstack.search.analysis.verdict.of_study import verdict as verdict_so_far
from skipstack.search.ledger.events import SCORELESS, Usage

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.analysis.exploration.exploration import Exploration

FAULTS: Final = 20
"""The maximum number of faults that are listed: the latest ones."""


def running_page(view: View) -> Sequence[Section]:
    """The page "Is it going well?". While the study runs, its sections are updated, slow ones less often. Sections that
    read a long ledger are fetched after the page. A study with a long ledger counts as running, unless cached tables
    show that it is finished.
    """
    path = view.path
    found, short = followed(path), is_short(version_of(path))
    over = found.look().state == "finished" if short else are_at_hand(path) and snapshot(path).frames.finished
    pace, slow = (never, never) if over else (found.pace, found.progress_pace)
    told = partial(Section, when="now" if short else "soon", every=pace)
    explored = partial(Section, when="now" if short or over else "soon", every=slow)
    return [
        explored("verdict", lambda: [verdict(snapshot(path).verdict if over else verdict_now(path))]),
        told("written", partial(written_about, view), every=never),
        told("numbers", partial(_numbers, path)),
        told("training", lambda: () if over else _training(view), every=slow),
        told("act", lambda: () if over else forms(view), every=never),
        told("asked", partial(waiting, view), also=partial(are_waiting, view)),
        explored("curves", partial(_curves, path, over=over)),
        told("timeline", lambda: [chart(time_chart(found.spans()))]),
        told("told", partial(_told, path)),
        told("chosen", partial(_choice, view), every=never),
        told("log", partial(_log, view), also=partial(_log_size, view)),
        told("place", partial(_place, path)),
        told("write", partial(writing, view), every=never),
    ]


def verdict_now(path: Path) -> str:
    """The verdict on a study that may still run, as a sentence."""
    found = followed(path)
    over = found.look().state == "finished"  # for a finished study, ablations are read as well
    return snapshot(path).verdict if over else in_a_sentence(verdict_so_far(found.progressed().search))


def _numbers(path: Path) -> Iterator[Element]:
    standing = followed(path).look()
    yield metrics(numbers_of(standing))
    first, *others = sentences_of(standing)
    yield sentence(first, pale=True)
    yield from map(sentence, others)


def _training(view: View) -> Iterator[Element]:
    found = followed(view.path)
    standing = found.look()
    if standing.state == "finished":
        return
    progressed = found.progressed()
    if standing.state == "interrupted":
        yield sentence(
            f"The study was interrupted: `{command('resume', progressed.search.base, view.study)}` resumes it."
        )
        return
    yield from running_trials(progressed, goes_on=standing.trials > 0 and standing.state != MEASURING)
    yield from next_hour_of(standing, progressed)


def _curves(path: Path, *, over: bool) -> Iterator[Element]:
    """Yield the chart of scores from trial to trial, beside the chart of scores from epoch to epoch. ``over``: whether
    the study is over.
    """
    if over:
        seen = snapshot(path).explored
        history = history_chart(seen.seen.trials, seen.measure, seen.seen.ranked)
        yield from beside([chart(history)], [chart(curves_chart(seen))])
        return
    found = followed(path)
    history = history_chart(found.scores(), found.look().measure, found.ranked())
    yield from beside([chart(history)], [chart(curves_chart(found.progressed().search))])


def _told(path: Path) -> Iterator[Element]:
    standing = followed(path).look()
    if standing.state != "finished":
        yield from _now(standing)
    yield from _faults(standing)


def history_chart(trials: "pd.DataFrame", measure: Measure, ranked: Sequence[int] | None = None) -> Drawn:
    """The chart of the scores from trial to trial. ``ranked``: as in ``history``."""
    from skipstack.dashboards.charts.history import history

    scored = (trials["score"].notna() & np.isfinite(trials["dev"])).any()
    return Drawn("History", (lambda: history(trials, measure, ranked)) if scored else "no trial has a score")


def curves_chart(search: "Exploration") -> Drawn:
    """The chart of each trial's scores from epoch to epoch."""
    scored = search.seen.trials["score"].notna().any()
    return search_chart("Learning curves", search) if scored else Drawn("Learning curves", "no trial has a score")


def time_chart(spans: "pd.DataFrame") -> Drawn:
    """The chart of the periods in which each trial waited, was trained and was measured."""
    from skipstack.dashboards.charts.timeline import timeline

    lasted = (spans["until"] > spans["began"]).any()
    none = "no trial has taken any time" if len(spans) else "no trial has started"
    return Drawn("Timeline", (lambda: timeline(spans)) if lasted else none, wide=True)


def numbers_of(standing: StudyNow) -> dict[str, str]:
    """The four main numbers on the state of a study, by label."""
    measure, best = standing.measure, standing.best
    others = [(standing.waiting, "waiting"), (len(standing.measuring), "measured")]
    waiting = "".join(f", {count:,} {what}" for count, what in others if count)
    return {
        "trials ended": f"{standing.ended:,} of {standing.total:,}",
        f"best {measure.label} on dev" + (" (%)" if measure.in_points else ""): NONE
        if best is None
        else measure.written(best[1]),
        **(
            {"training, all trials": duration(standing.seconds), "epochs trained": f"{standing.epochs:,}"}
            if standing.state in OVER
            else {"trials training": f"{len(standing.running):,}{waiting}", "time left": _about(standing.seconds_left)}
        ),
    }


def sentences_of(standing: StudyNow) -> Iterator[str]:
    """Yield a sentence with further numbers. Sentences follow if all trials went wrong, if trials report equal scores,
    or if the study ended early by a rule of its own (``search.enough``, ``search.hours``).
    """
    yield ". ".join(_further(standing)) + "."
    yield from _all_wrong(standing)
    if standing.identical:
        yield f"warning: {standing.identical}"
    if standing.enough is not None:
        yield enough_in_words(standing.enough, standing.measure)
    if standing.hours is not None:
        yield hours_over_in_words(standing.hours, standing.cut)


def _further(standing: StudyNow) -> Iterator[str]:
    yield standing.state.capitalize()
    if standing.state not in OVER:
        if standing.per_minute is not None:
            yield f"{standing.per_minute:.1f} trials a minute"
        yield f"{counted(standing.epochs, 'epoch')} and {duration(standing.seconds)} of training so far"
    yield f"The last event was recorded {ago(time.time() - standing.time)}"


def _all_wrong(standing: StudyNow) -> Iterator[str]:
    """Yield how all trials that ended went wrong, and the last fault; nothing if one of them has a score."""
    ends = Counter[str]()
    for level in standing.levels:
        ends.update({reason: level.counts[reason] for reason in SCORELESS if level.counts[reason]})
    if not ends or ends.total() < standing.ended:
        return
    how = listed([f"{count:,} {reason_in_words(reason)}" for reason, count in ends.most_common()])
    yield f"{'The only trial' if ends.total() == 1 else f'All {ends.total():,} trials'} that ended went wrong: {how}."
    if standing.faults:
        last = standing.faults[-1]
        yield f"The last fault, of trial {last.trial}: {last.what}: {shorten(last.message, MESSAGE, placeholder=' …')}"


def _about(seconds: float | None) -> str:
    return NONE if seconds is None else f"about {duration(seconds)}"


def _now(standing: StudyNow) -> Iterator[Element]:
    """Yield how many trials reached each rung, and which trials are training."""
    workers = sentence("No trial is being trained.")
    if standing.running:
        workers = table(*_workers(standing), name="workers")
    rungs = "Trials by the rung they reached"
    reached_by = table(*_rungs(standing.levels), name=rungs) if standing.trials else sentence("No trial has started.")
    yield from beside([heading(rungs), reached_by], [heading("Workers"), workers])


def _rungs(levels: tuple[RungCounts, ...]) -> tuple[list[str], list[list[str]]]:
    states = list(dict.fromkeys(state for level in levels for state, count in level.counts.items() if count))
    rows = [
        [reached(level), *(f"{level.counts[state]:,}" if level.counts[state] else "" for state in states)]
        for level in levels
    ]
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


def _faults(standing: StudyNow) -> Iterator[Element]:
    yield heading("Faults")
    if not standing.faults:
        yield sentence("None.")
        return
    last = standing.faults[: -FAULTS - 1 : -1]
    rows = ([f"trial {each.trial}", f"{each.what}{', retried' if each.again else ''}: {each.message}"] for each in last)
    yield table(("latest first", "fault"), rows, name="faults")


def _choice(view: View) -> Iterator[Element]:
    """Yield the form to choose the trial whose log is shown. The reloaded page starts at this form. Without a choice,
    ``_logged`` chooses the trial.
    """
    number = text_field("trial", "Trial", view.one("trial"), placeholder="such as 3")
    yield heading("Log")
    yield form(kept({"study": view.every("study")}), number, name="log", action="#chosen")


def _log(view: View) -> Iterator[Element]:
    standing = followed(view.path).look()
    number = _logged(view, standing)
    if number < standing.trials:
        yield sentence(f"The log of trial {number}:", pale=True)
        yield trial_log(view.path, number)
    elif standing.trials:
        yield sentence(f"There is no trial {number} yet (allowed: 0 to {standing.trials - 1}).")
    else:
        yield sentence("No trial has started yet.")


def _log_size(view: View) -> int:
    return log_size(view.path, _logged(view, followed(view.path).look()))


def _logged(view: View, standing: StudyNow) -> int:
    """The trial whose log is shown: the trial in the address, or else the trial of the last fault, or else the first
    trial in training, or else trial 0.
    """
    first = standing.faults[-1].trial if standing.faults else min(standing.running, default=0)
    return view.number("trial", first)


def _place(path: Path) -> Iterator[Element]:
    placed = followed(path).look().placed
    if placed is None:
        return
    part = placed.gpus_per_trial
    share = f", {part:g} of a GPU for each trial" if isinstance(part, float) and part else ""
    cpus = f", {placed.cpus_per_trial} CPUs for each trial" if placed.cpus_per_trial > 1 else ""
    most = "" if placed.concurrent == "auto" else f", at most {counted(placed.concurrent, 'trial')} at a time"
    told = {
        "engine": f"{placed.engine}, device {placed.device}{share}{cpus}{most}",
        "Ray cluster": placed.address or "",
        "MLflow": placed.tracking_uri or "",
        "command": placed.command,
        "by": placed.user,
    }
    yield heading("Where it runs")
    yield table(("", ""), ([name, value] for name, value in told.items() if value), name="where it runs")
