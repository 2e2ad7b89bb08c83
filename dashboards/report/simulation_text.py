"""A table of simulations as JSON, and as text that is written from nothing but that JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from skipstack.dashboards.report.quantities import duration
from skipstack.dashboards.report.sheet import NONE, headed
from skipstack.dashboards.report.text import printed
from skipstack.data.tasks.metrics import FACTORS
from skipstack.search.config import SearchConfig
from skipstack.search.simulation.recordings import Recordings
from skipstack.search.simulation.simulation import Outcome
from skipstack.search.study.records.study_record import StudyRecord

WIDTH = 80

Content = Mapping[str, Any]


def content(
    record: StudyRecord, recorded: Recordings, search: SearchConfig, workers: int, outcomes: Sequence[Outcome]
) -> Content:
    """Everything that the simulations say, by full names: times in seconds, scores as they are ranked."""
    epochs = record.study.space.base.training.epochs
    return {
        "study": record.study.name,
        "measure": record.measure,
        "recorded_trials": len(record.trials),
        "recorded_trials_with_score": len(recorded.scores),
        "replayed_trials": len(recorded.points),
        "extended_trials": recorded.extended,
        "left_out": dict(recorded.left_out),
        "epochs": epochs,
        "proposer": search.proposer.kind,
        "seed": search.seed,
        "workers": workers,
        "settings": [{**asdict(outcome), "epochs_without_stopping": outcome.trials * epochs} for outcome in outcomes],
    }


def as_json(told: Content) -> str:
    """The content as a JSON text."""
    return json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_text(told: Content, width: int = WIDTH) -> str:
    """The content for people, no line longer than ``width``."""
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("")
    for heading in (headed("dev %", told["measure"]), "rank", "time", "best after", "epochs", "stopped"):
        table.add_column(heading, justify="right", no_wrap=True)
    for setting in told["settings"]:
        table.add_row(*_cells(setting, FACTORS[told["measure"]]))
    lines = [Text(line) for line in _lines(told)]
    note = (
        f"rank: among the {told['recorded_trials_with_score']:,} recorded trials that have a score, as far as each was "
        "trained then. Times are simulated from the recorded seconds of each epoch; epochs also as a share of what "
        "they would be if no trial were stopped."
    )
    return printed(Group(*lines, "", table, "", Text(note, style="dim")), width, terminal=False)


def _lines(told: Content) -> Iterator[str]:
    yield f"{told['study']}: {told['recorded_trials']:,} trials recorded, of {told['epochs']} epochs at most"
    whole = told["replayed_trials"] - told["extended_trials"]
    yield f"{whole:,} whole curves are replayed"
    if told["extended_trials"]:
        yield (
            f"{told['extended_trials']:,} that are not whole are replayed, too, as if each kept its last score at its "
            "mean seconds an epoch"
        )
    if told["left_out"]:
        ends = ", ".join(f"{number:,} {reason}" for reason, number in told["left_out"].items())
        hint = "" if set(told["left_out"]) <= {"failed"} else " (--extrapolate takes in those that were stopped)"
        yield f"left out, for their curves are not whole: {ends}{hint}"
    trials = max(setting["trials"] for setting in told["settings"])
    yield f"{trials:,} trials by {told['proposer']}, seed {told['seed']}, {told['workers']:,} side by side"


def _cells(setting: Content, factor: float) -> Iterator[str]:
    yield setting["scheduler"]
    yield NONE if setting["best"] is None else f"{setting['best'] * factor:.2f}"
    yield NONE if setting["rank"] is None else f"{setting['rank']:,}"
    yield duration(setting["seconds"])
    yield duration(setting["best_after"])
    yield f"{setting['epochs']:,} ({setting['epochs'] / setting['epochs_without_stopping']:.0%})"
    yield f"{setting['stopped']:,}"
