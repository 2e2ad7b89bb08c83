"""Live progress of a study on stderr: a table on a terminal, occasional lines elsewhere."""

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from skipstack.dashboards.live.counts import MEASURING, RungCounts, StudyCounts
from skipstack.dashboards.reports.wording import NONE, duration, enough_in_words, hours_over_in_words, reason_in_words
from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.printable import visible
from skipstack.data.basis.streams import shown
from skipstack.search.ledger.events import FAULTS, SCORELESS, Decided, Ended, Event, Reported, Retried, Shortened
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.identical_seeds import first_report
from skipstack.search.study.record.identical_trials import identical_trials
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.short_names import names_by_path, short_name

SECONDS_BETWEEN_LINES = 2.0
"""Without a terminal: the minimum seconds between two progress lines. The last line may come sooner."""

LONGEST_SILENCE = 30.0
"""Without a terminal: after this many seconds without a progress line, the next finished epoch prints a line."""

REFRESHED_PER_SECOND = 4
"""The number of redraws of the table per second, so that rate and time left change between events."""

BAR = 30
"""The width of the progress bar in characters."""


class Progress:
    """Shows the progress of a study on stderr within a ``with`` block. Call this object with each event once the event
    is written to the ledger.

    ``record``: the study with all earlier events; this object adds the further events to it. ``folder``: the study's
    folder, for the commands that print trials' logs. None means that no logs are named. ``clock``: returns the time in
    seconds, and is the only source of time. ``console``: where to print, by default stderr. If stderr is lost, nothing
    is shown.

    Nothing is written to stdout. The terminal is restored however the block ends.
    """

    def __init__(
        self,
        record: StudyRecord,
        folder: StudyFolder | None = None,
        *,
        clock: Callable[[], float],
        console: Console | None = None,
    ) -> None:
        self._folder = folder
        self._console = console or Console(file=shown(sys.stderr), highlight=False)
        self._clock = clock
        self._counts = StudyCounts(record)
        self._reported = any(trial.reports for trial in record.trials.values())
        self._are_identical = bool(self._identical())
        # Another thread draws the table. Never print while holding this lock: Live takes its own lock to print.
        self._lock = threading.Lock()
        self._live: Live | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                get_renderable=self._drawn,
                console=self._console,
                refresh_per_second=REFRESHED_PER_SECOND,
                redirect_stdout=False,
            )
        self._begun = clock()
        self._last_line: float | None = None
        self._unprinted = False

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        else:
            self._say(f"{self._counts.state}: {line(self._counts, self._clock())}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._unprinted:
            self._say(line(self._counts, self._clock()))

    def __call__(self, event: Event) -> None:
        """Count an event that was just written to the ledger, and show the change."""
        now = self._clock()
        with self._lock:
            self._counts.apply(event, now)
        if isinstance(event, Reported) and not self._reported:
            self._reported = True
            if idle := first_report(event, self._counts.record.study.search.repeated):
                self._say(idle)
        if isinstance(event, Ended) and not self._are_identical and (same := self._identical()):
            self._are_identical = True
            self._say(same)
        if isinstance(event, Ended) and event.reason in FAULTS:
            self._say(f"trial {event.trial} {reason_in_words(event.reason)}: {event.message}{self._log(event.trial)}")
        elif isinstance(event, Retried):
            again = f"{event.message}; it is tried again{self._log(event.trial)}"
            self._say(f"trial {event.trial} {reason_in_words(event.cause)}: {again}")
        elif isinstance(event, Shortened) and event.gain is not None:
            self._say(enough_in_words(event.gain, self._counts.record.measure))
        elif isinstance(event, Shortened) and event.over is not None:
            self._say(hours_over_in_words(event.over, {}))
        goes_on = isinstance(event, Decided) and event.decision == "continue"
        if self._live is None and (isinstance(event, Ended) or (goes_on and self._silent(now))):
            self._tell(now)

    def _identical(self) -> str:
        return identical_trials(self._counts.record.trials.values())

    def _log(self, trial: int) -> str:
        return "" if self._folder is None else self._folder.log_named(trial)

    def _silent(self, now: float) -> bool:
        return now - (self._begun if self._last_line is None else self._last_line) >= LONGEST_SILENCE

    def _tell(self, now: float) -> None:
        """Print a progress line, unless another was just printed. The line after the last trial is always printed."""
        last = self._counts.left == 0
        self._unprinted = not last and self._last_line is not None and now - self._last_line < SECONDS_BETWEEN_LINES
        if not self._unprinted:
            self._last_line = now
            self._say(line(self._counts, now))
        if last:
            self._say(self._counts.state)

    def _say(self, text: str) -> None:
        self._console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def _drawn(self) -> RenderableType:
        with self._lock:
            return table(self._counts, self._clock())


def line(counts: StudyCounts, now: float) -> str:
    """The progress of a study in one line, such as ``12/16 trials 45 epochs best 96.41 (trial 7) 8 stopped``."""
    ends = [f"{counts.count(reason)} {reason_in_words(reason)}" for reason in ("paused", "stopped", *SCORELESS)]
    return "  ".join(
        [
            f"{counts.ended}/{counts.total} trials",
            *([counted(counts.epochs, "epoch")] if counts.epochs else []),
            *([] if counts.best is None else [f"best {_score(counts.best)} (trial {counts.best.number})"]),
            *(each for each in ends if not each.startswith("0 ")),
            *_pace(counts, now),
        ]
    )


def table(counts: StudyCounts, now: float) -> RenderableType:
    """The progress of a study as a table: trials by rung and state, the best trial so far, pace and current step."""
    head = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=max(counts.total, 1), completed=counts.ended, width=BAR)
    head.add_row(
        Text(visible(counts.record.study.title), style="bold", overflow="fold"),
        Text(f"{counts.ended}/{counts.total} trials"),
        bar,
    )
    done = counted(counts.epochs, "epoch")
    return Group(
        head,
        _rungs(counts),
        _best(counts),
        Text("  ".join([done, *_pace(counts, now)])),
        *([Text(f"{_state(counts)} ...", style="dim")] if counts.state not in ("", "finished") else []),
    )


def _state(counts: StudyCounts) -> str:
    """The current step of the study, such as ``measuring on test, 2 done``."""
    return f"{counts.state}, {counts.tested:,} done" if counts.state == MEASURING else counts.state


def _rungs(counts: StudyCounts) -> Table:
    """A table with a row for each rung: the number of trials, by state, whose last rung this is."""
    levels = counts.levels()
    states = [
        state
        for state in ("waiting", "running", "measuring", "paused", "stopped", "completed", *SCORELESS)
        if state in ("running", "stopped", "completed") or any(level.counts[state] for level in levels)
    ]
    grid = Table.grid(padding=(0, 0, 0, 2))
    for heading in ("reached", *states):
        grid.add_column(justify="left" if heading == "reached" else "right", no_wrap=True)
    grid.add_row(*(Text(reason_in_words(heading), style="dim") for heading in ("reached", *states)))
    for level in levels:
        grid.add_row(reached(level), *(str(level.counts[state] or "") for state in states))
    return grid


def reached(level: RungCounts) -> str:
    """The name of a rung, such as ``start``, ``epoch 3``, ``9 seconds`` or ``1 seed``."""
    if not level.rung:
        return "start"
    if level.resource == "epochs":
        return f"epoch {level.rung}"
    return f"{level.rung:,} {level.resource if level.rung > 1 else level.resource[:-1]}"


def _best(counts: StudyCounts) -> Text:
    best = counts.best
    if best is None:
        return Text(f"best {NONE}")
    text = Text.assemble(("best ", ""), (_score(best), "bold green"), f"  trial {best.number}: ", overflow="fold")
    return text.append(visible(", ".join(differences(counts.record, best))) or "the base")


def differences(record: StudyRecord, trial: TrialRecord) -> list[str]:
    """The values in which a trial differs from the base, each after the short name of its axis: ``depth 5``."""
    base = record.space.base_point()
    names = names_by_path(record.space.domains)
    return [
        f"{names[path]} {short_name(domain, trial.point[path])}"
        for path, domain in record.space.domains.items()
        if path in trial.point and (path not in base or canonical_json(base[path]) != canonical_json(trial.point[path]))
    ]


def _score(trial: TrialRecord) -> str:
    return NONE if trial.score is None else trial.measure.written(trial.score)


def _pace(counts: StudyCounts, now: float) -> list[str]:
    """Trials per minute and the time left, in words. A number that is not known yet is left out."""
    rate, left = counts.per_minute(now), counts.seconds_left(now)
    return [
        *([] if rate is None else [f"{rate:.1f} trials/min"]),
        *([] if left is None else [f"{duration(round(left))} left"]),
    ]
