"""The report of simulations. The page is written from the numbers of the JSON, so that the two agree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from skipstack.dashboards.formats.page import Cell, Column, Page, Report, Sentence, Table, TableRow
from skipstack.dashboards.reports.wording import NONE, duration, heading_of, scored
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.api.simulation.recordings import Recordings
from skipstack.search.api.simulation.simulation import Outcome
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord

Content = Mapping[str, Any]


def simulation_report(
    record: StudyRecord,
    recorded: Recordings,
    workers: int,
    searches: Sequence[SearchConfig],
    outcomes: Sequence[Outcome],
) -> Report:
    """The report of one study simulated under several searches. ``recorded``: the replayed trials. ``workers``: the
    number of trials side by side. ``outcomes``: the result of each search. In the JSON, times are in seconds, and a
    larger score is better.
    """
    epochs = record.study.space.base.epochs
    content: Content = {
        **recorded_content(record, recorded),
        "proposer": searches[0].proposer.kind,
        "seed": searches[0].seed,
        "workers": workers,
        "settings": [
            {"proposer": search.proposer.kind, **_numbers(outcome), "epochs_without_stopping": outcome.trials * epochs}
            for search, outcome in zip(searches, outcomes, strict=True)
        ],
    }
    note = (
        f"rank: among the {content['recorded_trials_with_score']:,} recorded trials that have a score, as far as each "
        "was trained then. Times are simulated from the recorded seconds of each epoch; epochs also as a share of what "
        "they would be if no trial were stopped."
    )
    trials = max(setting["trials"] for setting in content["settings"])
    title, *lines = (*recorded_lines(content), simulated_line(content, trials, f"seed {content['seed']}"))
    groups = (tuple(map(Sentence, lines)), (_table(content, record.measure),), (Sentence(note, style="dim"),))
    return Report(page=Page(title, groups), content=content)


def recorded_content(record: StudyRecord, recorded: Recordings) -> Content:
    """The numbers of recorded trials and of replayed trials, by name."""
    return {
        "study": record.study.name,
        "measure": record.measure.name,
        "recorded_trials": len(record.trials),
        "recorded_trials_with_score": len(recorded.scores),
        "replayed_trials": len(recorded.points),
        "extended_trials": recorded.extended,
        "left_out": dict(recorded.left_out),
        "epochs": record.study.space.base.epochs,
    }


def recorded_lines(content: Content) -> Iterator[str]:
    """Yield sentences on the recorded and the replayed trials, beginning with the title."""
    trials, epochs = counted(content["recorded_trials"], "trial"), counted(content["epochs"], "epoch")
    yield f"{content['study']}: {trials} recorded, of {epochs} at most"
    whole = content["replayed_trials"] - content["extended_trials"]
    yield f"{whole:,} whole curves are replayed"
    if content["extended_trials"]:
        yield (
            f"{content['extended_trials']:,} incomplete ones are replayed, too, as if each kept its last score and its "
            "mean seconds per epoch"
        )
    if content["left_out"]:
        ends = ", ".join(f"{number:,} {reason}" for reason, number in content["left_out"].items())
        hint = "" if set(content["left_out"]) <= {"failed"} else " (--extrapolate replays stopped trials, too)"
        yield f"left out, since their curves are incomplete: {ends}{hint}"


def _numbers(outcome: Outcome) -> Content:
    return {each.name: getattr(outcome, each.name) for each in fields(outcome) if each.name != "course"}


def simulated_line(content: Content, trials: int, seeds: str) -> str:
    """The phrase on what was simulated. ``seeds``: the seeds in words."""
    proposers = " or ".join(dict.fromkeys(setting["proposer"] for setting in content["settings"]))
    return f"{counted(trials, 'trial')} by {proposers}, {seeds}, {content['workers']:,} side by side"


def setting_row(proposer: str, scheduler: str, cells: Iterable[str], *, section: bool = True) -> TableRow:
    """The table row of a simulated setting. ``section``: whether it is below a heading that names the proposer."""
    return TableRow(
        names=(proposer, scheduler),
        label=scheduler,
        section=f"by {proposer}" if section else "",
        cells=tuple(map(Cell, cells)),
    )


def _table(content: Content, measure: Measure) -> Table:
    headings = (heading_of("dev %", measure), "rank", "time", "best after", "epochs", "stopped")
    several = len({setting["proposer"] for setting in content["settings"]}) > 1
    rows = [
        setting_row(setting["proposer"], setting["scheduler"], _cells(setting, measure), section=several)
        for setting in content["settings"]
    ]
    return Table(names=("proposer", "scheduler"), columns=tuple(map(Column, headings)), rows=tuple(rows))


def _cells(setting: Content, measure: Measure) -> Iterator[str]:
    yield scored(setting["best"], measure)
    yield NONE if setting["rank"] is None else f"{setting['rank']:,}"
    yield duration(setting["seconds"])
    yield duration(setting["best_after"])
    yield f"{setting['epochs']:,} ({setting['epochs'] / setting['epochs_without_stopping']:.0%})"
    yield f"{setting['stopped']:,}"
