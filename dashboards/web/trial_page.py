"""The page of a trial: its end, its comparison with base and best trial, curves, network, faults, log and files."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.trial_words import trial_in_words
from skipstack.dashboards.reports.wording import NONE, duration, reason_in_words, size_of
from skipstack.dashboards.web.addresses import SEARCH, of_ablation
from skipstack.dashboards.web.downloads import bundle_button
from skipstack.dashboards.web.elements import chart, drawing_of, heading, sentence, table
from skipstack.dashboards.web.export_page import differing
from skipstack.dashboards.web.snapshot import Snapshot, snapshot, version_of
from skipstack.dashboards.web.trial_log import trial_log
from skipstack.data.basis.counted import counted
from skipstack.search.ledger.events import Event, Finished, Interrupted, Resumed, Retried, Started, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.study.record.comparable import resource_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.phases import Phase, Phases, PhaseSpan
from skipstack.search.study.record.reading import events_of_trials
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import is_imported
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.search.study.record.trial_record import TrialRecord
    from skipstack.spaces.subject import Subject

EVERY: Final = 3.0
"""The seconds between two updates of the page."""

PHASES: Final[dict[Phase, tuple[str, str]]] = {
    "waiting": ("waited for a worker", "waits for a worker"),
    "training": ("trained", "trains"),
    "paused": ("was paused", "is paused"),
    "measuring": ("was measured on test", "is measured on test"),
}
"""The words for each phase of a trial: once the phase has ended, and while it lasts."""


@dataclass(frozen=True, kw_only=True)
class ComparedTrials:
    """A trial with the base's trial and the best trial, read from the ledger to compare them.

    ``trial``: the trial of the page. ``record``: the record of the search with only these three trials, or of an
    ablation with all its trials. ``events``: the events from which ``record`` is made. ``base``, ``best``: the numbers
    of the base's trial and of the best trial; None if there is none. ``ranked``: the numbers of all trials with a
    score, the best first. ``folder``: the folder of the search or ablation. ``runs``: whether a process is running the
    study, according to the ledger. ``written``: the time of the last write to the ledger, in Unix seconds.
    """

    trial: "TrialRecord"
    record: StudyRecord
    events: list[Event]
    base: int | None
    best: int | None
    ranked: tuple[int, ...]
    folder: StudyFolder
    runs: bool
    written: float

    @property
    def imported(self) -> bool:
        """Whether the study was read from another tool, so that it has no base."""
        return is_imported(self.record.study.space.base) and self.record.plan is None

    @property
    def over(self) -> bool:
        """Whether the trial can no longer change, since its search or ablation is finished."""
        return self.record.finished


def trial_page(path: Path) -> None:
    """Show the page of a trial, with an input field for its number. The number is also in the page's address.

    The page updates itself if the search or ablation of the trial is not finished yet.
    """
    of = snapshot(path)
    with st.container(horizontal=True, vertical_alignment="bottom", key="which trial"):
        ablation = _ablation(of)
        numbers = sorted(_trials(of, ablation).index)
        if not numbers:
            sentence("No trial has started yet: each has its page here, with curves, log and files.")
            return
        first = int(of.best if ablation is None and of.best is not None else numbers[0])
        number = int(
            st.number_input("Trial", min_value=0, value=first, step=1, key="trial", bind="query-params", width=160)
        )
    if number not in numbers:
        sentence(f"No trial has the number {number} (allowed: {numbers[0]} to {numbers[-1]}).")
        return
    over = _seen(of, number, ablation).over
    key = f"trial {path} {ablation} {number}"
    show: Callable[[], None] = st.fragment(
        lambda: _trial(path, number, ablation), run_every=None if over else EVERY, key=key
    )
    show()


def _ablation(of: Snapshot) -> int | None:
    """Let the user choose the search or an ablation. Returns the ablation's number, or None for the search."""
    ablations = {of_ablation(number): number for number in of.record.ablations} if of.frames.ablated else {}
    if not ablations:
        return None
    chosen = st.selectbox("Of", [SEARCH, *ablations], key="of", bind="query-params", width=200)
    return None if chosen is None else ablations.get(chosen)


def _trials(of: Snapshot, ablation: int | None) -> "pd.DataFrame":
    from skipstack.search.analysis.frames.trials import trials

    return of.frames.trials if ablation is None else trials(of.record.ablations[ablation])


def _seen(of: Snapshot, number: int, ablation: int | None) -> ComparedTrials:
    """Read the trial, and the trials with which it is compared, from the ledger. ``ablation``: the number of the
    trial's ablation; None for a trial of the search.
    """
    if ablation is None:
        base, best, ranked = of.frames.base, of.best, tuple(of.ranked)
        wanted = {each for each in (number, base, best) if each is not None}
    else:
        own = of.record.ablations[ablation]
        ranked = tuple(each.number for each in own.ranked())
        base = None if own.base is None else own.base.number
        best = ranked[0] if ranked else None
        wanted = set(own.trials)
    version = version_of(of.path)
    events = _events(str(of.path), version, tuple(sorted(wanted)), ablation)
    record = StudyRecord.of(events)
    last = next(
        (each for each in reversed(events) if isinstance(each, Started | Resumed | Interrupted | Finished)), None
    )
    runs = not isinstance(last, Interrupted | Finished)
    return ComparedTrials(
        trial=record.trials[number],
        record=record,
        events=events,
        base=base,
        best=best,
        ranked=ranked,
        folder=StudyFolder(of.path, ablation),
        runs=runs,
        written=max(nanoseconds for *_, nanoseconds in version) / 1e9,
    )


@st.cache_resource(max_entries=64, show_spinner="Reading the ledger")
def _events(path: str, version: object, trials: tuple[int, ...], ablation: int | None) -> list[Event]:
    return events_of_trials(Ledger(StudyFolder(Path(path)).ledger), trials, ablation)


def _trial(path: Path, number: int, ablation: int | None) -> None:
    of = snapshot(path)
    seen = _seen(of, number, ablation)
    whose = "" if ablation is None else f" of {of_ablation(ablation)}"
    heading(f"Trial {number}{whose}")
    sentence(" ".join(trial_in_words(seen.record, seen.trial, runs=seen.runs)))
    _numbers(seen)
    left, right = st.columns(2, gap="medium")
    with left:
        _differences(seen)
        chart(_curves(seen), f"seeds {path} {ablation} {number}")
    if seen.record.study.space.base.keeps_weights:
        with right:
            heading("Network", level=3)
            drawing_of(seen.trial.config, f"trial {number}{whose}")
    left, right = st.columns(2, gap="medium")
    with left:
        _time(seen)
    with right:
        _faults(seen)
    heading("Log", level=3)
    trial_log(path, number, ablation)
    _files(of, seen)


def _numbers(seen: ComparedTrials) -> None:
    trial, measure = seen.trial, seen.trial.measure
    place = seen.ranked.index(trial.number) + 1 if trial.number in seen.ranked else None
    over = "calls" if trial.replicates.name else "seeds"
    spread = _spread(list(trial.dev.values())) if trial.score is not None else None
    unit, share = (" (points)", " (%)") if measure.in_points else ("", "")
    numbers = {
        f"{measure.label} on dev{share}": (NONE if trial.score is None else measure.written(trial.score)),
        **({f"deviation over {over}": size_of(spread, measure)} if spread is not None else {}),
        "rank": NONE if place is None else f"{place} of {len(seen.ranked):,}",
        **({} if seen.imported else {f"against the base{unit}": _beside(seen, seen.base)}),
        f"against the best{unit}": _beside(seen, seen.best),
        **({f"{measure.label} on test{share}": measure.written(_mean(trial.test))} if trial.test else {}),
        "epochs": f"{len(trial.reports)} of {trial.config.epochs}",
        "training": duration(trial.seconds),
    }
    with st.container(horizontal=True, key="trial numbers"):
        for label, shown in numbers.items():
            st.metric(label, shown, width="content")


def _beside(seen: ComparedTrials, number: int | None) -> str:
    """The trial's score minus that of trial ``number``, or words if they are the same trial or a score is missing."""
    other = None if number is None else seen.record.trials[number]
    if other is seen.trial:
        return "it is it"
    if other is None or other.score is None or seen.trial.score is None:
        return NONE
    return seen.trial.measure.written(seen.trial.score - other.score, "+")


def _mean(scores: dict[int, float]) -> float:
    return sum(scores.values()) / len(scores)


def _spread(scores: list[float]) -> float | None:
    from skipstack.search.statistics.descriptive import deviation

    return deviation(scores) if len(scores) > 1 else None


def _curves(seen: ComparedTrials) -> Drawn:
    from skipstack.dashboards.charts.seed_curves import BASE, BEST, seed_curves
    from skipstack.search.analysis.frames.curves import curves

    trial, study = seen.trial, seen.record.study
    if not trial.reports:
        return Drawn("Curves", "it has not trained an epoch yet")
    compared = {BASE.name: seen.base, BEST.name: seen.best}
    beside = {name: number for name, number in compared.items() if number is not None and number != trial.number}
    if beside.get(BASE.name) == beside.get(BEST.name):
        beside.pop(BEST.name, None)
    rungs = scheduler(study.search.scheduler, study.space.base.epochs, seeds=study.search.lanes_of_a_trial).rungs
    at = rungs if resource_of(study) == "epochs" else ()
    frame, epochs = curves(seen.record), trial.config.epochs
    return Drawn(
        "Curves", lambda: seed_curves(frame, trial.number, trial.measure, beside=beside, rungs=at, epochs=epochs)
    )


def _differences(seen: ComparedTrials) -> None:
    heading("What differs", level=3)
    trial, space = seen.trial, seen.record.study.space
    others: dict[str, Subject] = {} if seen.imported else {"base": space.base}
    if seen.best is not None and seen.best not in (trial.number, seen.base):
        others[f"best, trial {seen.best}"] = seen.record.trials[seen.best].config
    rows: dict[str, dict[str, str]] = {}
    for name, config in others.items():
        for path, own, other in differing(trial.config, config)[0]:
            rows.setdefault(path, {"": own})[name] = other
    if not rows:
        sentence("Nothing: it is the best itself." if seen.imported else "Nothing: it is the base itself.")
        return
    short = names_by_path(rows)
    table(
        ("", "this trial", *others),
        (
            [short[path], _rounded(values[""]), *(_rounded(values.get(name, values[""])) for name in others)]
            for path, values in rows.items()
        ),
    )


def _rounded(value: str) -> str:
    """Round the text of a value to four digits, if it is a number with a point or an exponent."""
    try:
        return f"{float(value):.4g}" if "." in value or "e" in value else value
    except ValueError:
        return value


def _time(seen: ComparedTrials) -> None:
    heading("Time", level=3)
    spans = list(_spans(seen))
    if not spans:
        reused = seen.trial.reused is not None
        sentence("It took none: it was not trained." if reused else "No worker has had it yet.", pale=True)
        return
    days = list(dict.fromkeys(_date(each.began) for each in spans))
    form = "%H:%M:%S" if len(days) == 1 else "%Y-%m-%d %H:%M:%S"
    rows = [[time.strftime(form, time.gmtime(each.began)), _did(each), duration(_length(each, seen))] for each in spans]
    table(("from (UTC)", "it", "for"), rows)
    trial, on = seen.trial, f"On {days[0]}. " if len(days) == 1 else ""
    each_epoch = duration(trial.seconds / trial.epochs) if trial.epochs else ""
    epochs = f"{counted(trial.epochs, 'epoch')}, {each_epoch} each on average." if trial.epochs else ""
    sentence(f"{on}{epochs}", pale=True)


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def _spans(seen: ComparedTrials) -> Iterator[PhaseSpan]:
    phases = Phases()
    for event in seen.events:
        phases.happened(event)
    yield from sorted((each for each in phases.spans() if each.trial == seen.trial.number), key=lambda each: each.began)


def _did(span: PhaseSpan) -> str:
    """The words for a phase of the trial, with the reason for its end unless the next phase shows the reason."""
    did, does = PHASES[span.phase]
    if span.under_way:
        return does
    plain = span.phase == "waiting" or span.state in ("completed", "measured", *PHASES)
    return did if plain else f"{did} ({reason_in_words(span.state)})"


def _length(span: PhaseSpan, seen: ComparedTrials) -> float:
    """The seconds of a phase. While the study runs, an unfinished phase lasts until the last write to the ledger."""
    return (max(span.until, seen.written) if span.under_way and seen.runs else span.until) - span.began


def _faults(seen: ComparedTrials) -> None:
    heading("Faults", level=3)
    trial = seen.trial
    rows = [
        [reason_in_words(each.cause if isinstance(each, Retried) else each.reason), _then(each), each.message]
        for each in seen.events
        if isinstance(each, Retried | Untested) and each.trial == trial.number
    ]
    if trial.reason is not None and trial.state not in ("completed", "stopped", "diverged"):
        rows.append([reason_in_words(trial.reason), "ended", trial.message])
    if rows:
        table(("fault", "then", "message"), rows)
    else:
        sentence("None.", pale=True)


def _then(event: Retried | Untested) -> str:
    if isinstance(event, Retried):
        return "retried"
    return {"measure": "measured again", "train": "trained again", "give_up": "not measured"}[event.then]


def _files(of: Snapshot, seen: ComparedTrials) -> None:
    heading("Files", level=3)
    trial, ablation = seen.trial, seen.folder.ablation
    if trial.score is None:
        sentence("No bundle: the trial has no score.", pale=True)
    elif ablation is not None:
        sentence("No bundle: an ablation keeps its weights only until they are measured on test.", pale=True)
    else:
        bundle_button(of, trial.number)
