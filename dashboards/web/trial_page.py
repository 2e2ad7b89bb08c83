"""The page of a trial: its end, its comparison with other trials, curves, network, times, faults, log and files."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.trial_words import trained_in_words, trial_in_words
from skipstack.dashboards.reports.wording import NONE, duration, reason_in_words, scored, size_of
from skipstack.dashboards.web.acting import note_form, stop_form
from skipstack.dashboards.web.downloads import bundle_link
from skipstack.dashboards.web.elements import (
    beside,
    chart,
    drawing_of,
    empty,
    form,
    heading,
    kept,
    metrics,
    number_field,
    select,
    sentence,
    table,
    text_field,
)
from skipstack.dashboards.web.export_page import differing
from skipstack.dashboards.web.section import EVERY, Element, Section
from skipstack.dashboards.web.shared import Shared
from skipstack.dashboards.web.snapshot import Snapshot, snapshot, version_of
from skipstack.dashboards.web.trial_log import log_size, trial_log
from skipstack.dashboards.web.view import View
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.ledger.events import Event, Retried, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.phases import Phase, Phases, PhaseSpan
from skipstack.search.study.record.reading import events_of_trials
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.strategy import study_scheduler
from skipstack.spaces.function import is_imported
from skipstack.spaces.short_names import names_by_path

if TYPE_CHECKING:
    from skipstack.search.study.record.trial_record import TrialRecord
    from skipstack.spaces.subject import Subject

PHASES: Final[dict[Phase, tuple[str, str]]] = {
    "waiting": ("waited for a worker", "waits for a worker"),
    "training": ("trained", "trains"),
    "paused": ("was paused", "is paused"),
    "measuring": ("was measured on test", "is measured on test"),
}
"""The words for each phase of a trial: once the phase has ended, and while it lasts."""


@dataclass(frozen=True, kw_only=True)
class ComparedTrials:
    """A trial with the trials with which it is compared, read from the ledger.

    ``trial``: the trial of the page. ``record``: the record of the search with only these trials, or of an ablation
    with all its trials. ``events``: the events from which ``record`` is made. ``base``, ``best``, ``beside``: the
    numbers of the base's trial, of the best trial and of the trial that the reader chose; None if there is none.
    ``ranked``: the numbers of all trials with a score, the best first. ``written``: the time of the last write to the
    ledger, in Unix seconds.
    """

    trial: "TrialRecord"
    record: StudyRecord
    events: list[Event]
    base: int | None
    best: int | None
    beside: int | None
    ranked: tuple[int, ...]
    written: float

    @property
    def imported(self) -> bool:
        """Whether the study was read from another tool, so that it has no base."""
        return is_imported(self.record.study.space.base) and self.record.plan is None

    @property
    def runs(self) -> bool:
        """Whether a process is running the study, according to the ledger."""
        return not (self.record.finished or self.record.interrupted)


def trial_page(view: View) -> Sequence[Section]:
    """The page of a trial, with a form to choose the trial and a second trial to compare it with.

    The page updates itself if the search or ablation of the trial is not finished yet.
    """
    of = snapshot(view.path)
    ablations = list(of.record.ablations) if of.frames.ablated else []
    ablation = _ablation(view, ablations)
    numbers = sorted(map(int, of.frames.trials.index if ablation is None else of.record.ablations[ablation].trials))
    if not numbers:
        none = "Each trial that has started has its page here, with curves, log and files."
        return [Section("which", lambda: [heading("No trial yet", level=1), empty(none)])]
    number = view.number("trial", of.best if ablation is None and of.best is not None else numbers[0])
    other = view.number("beside", 0) if view.one("beside") else None
    choice = Section("which", lambda: [_choice(view, number, ablations, numbers)])
    states = of.frames.trials["state"]
    trains = ablation is None and not of.frames.interrupted and states.get(number) in ("running", "paused")
    stop = [Section("act", lambda: [stop_form(view.study, number)])] if view.acts and trains else []
    notes = view.acts and ablation is None
    missing = [each for each in (number, other) if each is not None and each not in numbers]
    if missing:
        told = f"No trial has the number {missing[0]} (allowed: {numbers[0]} to {numbers[-1]})."
        return [choice, Section("missing", lambda: [sentence(told)])]
    name = f"trial {number}{'' if ablation is None else f' of ablation {ablation}'}"

    def seen() -> ComparedTrials:
        return _seen(snapshot(view.path), number, ablation, other)

    def network() -> Iterator[Element]:
        yield heading("Network")
        yield drawing_of(seen().trial.config, name)

    live = partial(Section, every=lambda: None if seen().record.finished else EVERY, ablation=ablation)
    return [
        choice,
        *stop,
        live("trial", lambda: _trial(seen(), name)),
        *([Section("network", network, ablation=ablation)] if of.frames.study.space.base.keeps_weights else []),
        live("time", lambda: _times_and_faults(seen())),
        live(
            "log",
            lambda: [heading("Log"), trial_log(view.path, number, ablation)],
            also=lambda: log_size(view.path, number, ablation),
        ),
        live("files", lambda: [heading("Files"), _files(view, seen(), ablation)]),
        *([Section("note", lambda: [note_form(view.study, seen().trial.note, number)])] if notes else []),
    ]


def _ablation(view: View, ablations: Collection[int]) -> int | None:
    """The number of the ablation that the address names; None if it names none, which means the search."""
    asked = view.one("ablation")
    if asked and asked not in map(str, ablations):
        raise UserError(unknown("ablation", asked, ["none, for the search", *ablations]))
    return int(asked) if asked else None


def _choice(view: View, number: int, ablations: Collection[int], numbers: Sequence[int]) -> str:
    options = {str(each): f"ablation {each}" for each in ablations}
    return form(
        kept({"study": view.every("study")}),
        number_field("trial", "Trial", number, most=numbers[-1]),
        select("ablation", "Of", options, view.one("ablation"), placeholder="the search") if options else "",
        text_field("beside", "Compared with", view.one("beside"), placeholder="number of a trial"),
        name="trial",
    )


def _seen(of: Snapshot, number: int, ablation: int | None, other: int | None) -> ComparedTrials:
    """Read the trial ``number``, and the trials with which it is compared, from the ledger. ``other``: the trial that
    the reader chose for comparison.
    """
    if ablation is None:
        base, best, ranked = of.frames.base, of.best, tuple(of.ranked)
        wanted = {each for each in (number, base, best, other) if each is not None}
    else:
        own = of.record.ablations[ablation]
        ranked = tuple(each.number for each in own.ranked())
        base = None if own.base is None else own.base.number
        best = ranked[0] if ranked else None
        wanted = set(own.trials)

    def read() -> tuple[list[Event], StudyRecord]:
        events = events_of_trials(Ledger(StudyFolder(of.path).ledger), wanted, ablation)
        return events, StudyRecord.of(events)

    version = version_of(of.path)
    events, record = READ((of.path, number, ablation, other), read, (version, frozenset(wanted)))
    return ComparedTrials(
        trial=record.trials[number],
        record=record,
        events=events,
        base=base,
        best=best,
        beside=other,
        ranked=ranked,
        written=max(nanoseconds for *_, nanoseconds in version) / 1e9,
    )


READ: Final = Shared[object, tuple[list[Event], StudyRecord]](64)
"""The events and the records of the trials that were asked for last."""


def _trial(seen: ComparedTrials, name: str) -> Iterator[Element]:
    yield heading(name.capitalize(), level=1)
    yield sentence(" ".join(trial_in_words(seen.record, seen.trial, runs=seen.runs)))
    yield metrics(_numbers(seen))
    yield from beside([heading("What differs"), _differences(seen)], [chart(_curves(seen))])


def _numbers(seen: ComparedTrials) -> dict[str, str]:
    """The main numbers of the trial, by label."""
    from skipstack.search.statistics.descriptive import deviation

    trial, measure = seen.trial, seen.trial.measure
    place = seen.ranked.index(trial.number) + 1 if trial.number in seen.ranked else None
    over = "calls" if trial.replicates.name else "seeds"
    spread = deviation(list(trial.dev.values())) if trial.score is not None and len(trial.dev) > 1 else None
    unit, share = (" (points)", " (%)") if measure.in_points else ("", "")
    others = {
        **({} if seen.imported else {"the base": seen.base}),
        "the best": seen.best,
        **({} if seen.beside is None else {f"trial {seen.beside}": seen.beside}),
    }
    return {
        f"{measure.label} on dev{share}": scored(trial.score, measure),
        **({f"deviation over {over}": size_of(spread, measure)} if spread is not None else {}),
        "rank": NONE if place is None else f"{place} of {len(seen.ranked):,}",
        **{f"against {name}{unit}": _against(seen, number) for name, number in others.items()},
        **({f"{measure.label} on test{share}": measure.written(fmean(trial.test.values()))} if trial.test else {}),
        "epochs": trained_in_words(trial) if trial.raced else f"{len(trial.reports)} of {trial.config.epochs}",
        "training": duration(trial.seconds),
    }


def _against(seen: ComparedTrials, number: int | None) -> str:
    """The trial's score minus that of trial ``number``, or words if they are the same trial or a score is missing."""
    other = None if number is None else seen.record.trials[number]
    if other is seen.trial:
        return "it is it"
    if other is None or other.score is None or seen.trial.score is None:
        return NONE
    return seen.trial.measure.written(seen.trial.score - other.score, "+")


def _curves(seen: ComparedTrials) -> Drawn:
    from skipstack.dashboards.charts.seed_curves import BASE, BEST, OTHER, seed_curves
    from skipstack.search.analysis.frames.curves import curves

    trial, study = seen.trial, seen.record.study
    if not trial.reports:
        return Drawn("Curves", "it has trained no epoch")
    named = dict[str, int]()
    for look, number in ((BASE, seen.base), (BEST, seen.best), (OTHER, seen.beside)):
        if number is not None and number not in (trial.number, *named.values()):
            named[look.name] = number
    rungs = study_scheduler(study).rungs
    at = rungs if study.search.resource == "epochs" else ()
    frame, epochs = curves(seen.record), trial.config.epochs
    return Drawn(
        "Curves", lambda: seed_curves(frame, trial.number, trial.measure, beside=named, rungs=at, epochs=epochs)
    )


def _differences(seen: ComparedTrials) -> str:
    """The table of the settings in which the trial differs from the base, from the best trial or from the trial that
    the reader chose; a sentence if it differs in none.
    """
    trial, space = seen.trial, seen.record.study.space
    others: dict[str, Subject] = {} if seen.imported else {"base": space.base}
    for name, number in (("best, ", seen.best), ("", seen.beside)):
        if number is not None and number not in (trial.number, seen.base) and (name or number != seen.best):
            others[f"{name}trial {number}"] = seen.record.trials[number].config
    rows: dict[str, dict[str, str]] = {}
    for name, config in others.items():
        for path, own, other in differing(trial.config, config)[0]:
            rows.setdefault(path, {"": own})[name] = other
    if not rows:
        return sentence("Nothing: it is the best itself." if seen.imported else "Nothing: it is the base itself.")
    short = names_by_path(rows)
    return table(
        ("", "this trial", *others),
        (
            [short[path], _rounded(values[""]), *(_rounded(values.get(name, values[""])) for name in others)]
            for path, values in rows.items()
        ),
        name="What differs",
    )


def _rounded(value: str) -> str:
    """Round the text of a value to four digits, if it is a number with a point or an exponent."""
    try:
        return f"{float(value):.4g}" if "." in value or "e" in value else value
    except ValueError:
        return value


def _times_and_faults(seen: ComparedTrials) -> Iterator[Element]:
    yield from beside([heading("Time"), *_times(seen)], [heading("Faults"), _faults(seen)])


def _times(seen: ComparedTrials) -> Iterator[Element]:
    phases, trial = Phases(), seen.trial
    for event in seen.events:
        phases.happened(event)
    spans = sorted((each for each in phases.spans() if each.trial == trial.number), key=lambda each: each.began)
    if not spans:
        none = "No worker has had it yet." if trial.reused is None else "It took none: it was not trained."
        yield sentence(none, pale=True)
        return
    days = list(dict.fromkeys(_date(each.began) for each in spans))
    moment = "%H:%M:%S" if len(days) == 1 else "%Y-%m-%d %H:%M:%S"
    yield table(
        ("from (UTC)", "it", "for"),
        ([time.strftime(moment, time.gmtime(each.began)), _did(each), duration(_length(each, seen))] for each in spans),
        name="Time",
    )
    on = f"On {days[0]}. " if len(days) == 1 else ""
    each_epoch = duration(trial.seconds / trial.epochs) if trial.epochs else ""
    epochs = f"{counted(trial.epochs, 'epoch')}, {each_epoch} each on average." if trial.epochs else ""
    yield sentence(f"{on}{epochs}", pale=True)


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


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


def _faults(seen: ComparedTrials) -> str:
    trial = seen.trial
    rows = [
        [reason_in_words(each.cause if isinstance(each, Retried) else each.reason), _then(each), each.message]
        for each in seen.events
        if isinstance(each, Retried | Untested) and each.trial == trial.number
    ]
    if trial.reason is not None and trial.state not in ("completed", "stopped", "diverged"):
        rows.append([reason_in_words(trial.reason), "ended", trial.message])
    return table(("fault", "then", "message"), rows, name="Faults") if rows else sentence("None.", pale=True)


def _then(event: Retried | Untested) -> str:
    if isinstance(event, Retried):
        return "retried"
    return {"measure": "measured again", "train": "trained again", "give_up": "not measured"}[event.then]


def _files(view: View, seen: ComparedTrials, ablation: int | None) -> str:
    if seen.trial.score is None:
        return sentence("No bundle: the trial has no score.", pale=True)
    if ablation is not None:
        return sentence("No bundle: an ablation keeps its weights only until they are measured on test.", pale=True)
    return bundle_link(view, seen.trial)
