"""The figures of a study as its page's template takes them: by name, and as reports print them."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from skipstack.dashboards.formats.markdown import as_markdown
from skipstack.dashboards.formats.page import Cell, Column, Numbers, Page, Table, TableRow
from skipstack.dashboards.reports.confirmation.estimates import confirmed_numbers
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.pictures.confirmed_pictures import trend_charts
from skipstack.dashboards.reports.pictures.picture import Drawn, pictured
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.dashboards.reports.wording import gained, with_error
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.sources import task_of
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.tasks import TASKS
from skipstack.search.analysis.confirmation.against import compare
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.differences import Split, difference, interaction, score_of
from skipstack.search.analysis.confirmation.papers import find_table
from skipstack.search.analysis.confirmation.trends import trends_of
from skipstack.search.analysis.frames.columns import axis_column
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.spaces.trial import TrialConfig
from tests.command_line import typed
from tests.results.kept import release

Values = Sequence[Any]
"""Those of a trial on its axes, in their order."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in the unit in which it is printed, and its text in reports. Where nothing is known of its interval this
    has no ends, so that no claim can rest on them.
    """

    value: float
    text: str
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        return self.text

    def holds(self, value: float) -> bool:
        """Whether its interval contains a value; an interval that is not known contains none."""
        return math.isfinite(self.high - self.low) and self.low <= value <= self.high

    @classmethod
    def of(cls, value: Estimate | float, measure: Measure) -> "Figure":
        """An estimate of a score, or a single score."""
        if isinstance(value, float):
            return cls(measure.factor * value, measure.written(value))
        text = with_error(value.value, value.half, measure).strip()
        return cls(measure.factor * value.value, text, *_ends(value.low, value.high, measure.factor))

    @classmethod
    def gain(cls, value: float, low: Any, high: Any, measure: Measure) -> "Figure":
        """A gain with the ends of its interval: positive where it helps, also of perplexities, which then fall."""
        half = None if low is None or high is None else (high - low) / 2
        factor = abs(measure.factor)
        return cls(factor * value, gained(value, half, measure).strip(), *_ends(low, high, factor))


@dataclass(frozen=True)
class TrialFigures:
    """A trial of a study."""

    trial: TrialRecord
    measure: Measure
    fingerprint: str
    """That of the corpus that it read."""
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def dev(self) -> Figure:
        return self._score("dev")

    @property
    def test(self) -> Figure:
        return self._score("test")

    @property
    def curve(self) -> list[Figure]:
        """The mean on dev after each epoch."""
        name = f"dev_{self.measure.name}"
        means = [sum(values) / len(values) for values in (each.metrics[name] for each in self.trial.reports)]
        return [Figure.of(self.measure.score(mean), self.measure) for mean in means]

    @property
    def millions(self) -> Figure:
        """The parameters of its network, in millions."""
        return Figure(self.sizes["parameters"] / 1e6, f"{self.sizes['parameters'] / 1e6:.2f}")

    @property
    def updates(self) -> Figure:
        """Those of all its epochs."""
        updates = self.sizes["updates"] * len(self.trial.reports)
        return Figure(updates, f"{updates:,}")

    def tested(self, name: str) -> Figure:
        """The mean over seeds of another measure of test than that which ranks the trials, in percent."""
        share = 100 * fmean(self.trial.tested[f"test_{name}"])
        return Figure(share, f"{share:.2f}")

    def beside(self, other: "TrialFigures | RowFigures", split: Split = "test") -> Figure:
        """Its gain over another trial of its study, or of another study that trained the same seeds on the same corpus:
        paired by seed and by sentence; uncorrected, as a question of its own.
        """
        reference = other.own if isinstance(other, RowFigures) else other
        if self.trial.space is not reference.trial.space:
            if self.fingerprint != reference.fingerprint:
                raise UserError(f"got trials of two corpora, {self.fingerprint} and {reference.fingerprint}")
            if self.trial.seeds != reference.trial.seeds:
                raise UserError(f"got trials of the seeds {self.trial.seeds} and {reference.trial.seeds}")
        found = difference(self.trial, reference.trial, split)
        assert found is not None, "both are measured"
        return Figure.gain(found.value, found.low, found.high, self.measure)

    def _score(self, split: Split) -> Figure:
        found = score_of(self.trial, split)
        if found is None:
            raise UserError(f"trial {self.trial.number} has no score on {split}")
        return Figure.of(found, self.measure)


@dataclass(frozen=True)
class RowFigures:
    """A row of a study's confirmed tables, or of its comparison with a paper's table."""

    numbers: Numbers
    measure: Measure
    trial: TrialFigures | None

    @property
    def own(self) -> TrialFigures:
        """Its trial. Raises UserError for a mean over corpora, which has none."""
        if self.trial is None:
            raise UserError(f"row {self.numbers['row']}: is no trial")
        return self.trial

    @property
    def dev(self) -> Figure:
        return self._score("dev")

    @property
    def test(self) -> Figure:
        return self._score("test")

    @property
    def gain(self) -> Figure:
        """What it adds to the base, or to what else it is over, with the interval that decides its mark."""
        value, low, high = (self.numbers[f"gain{end}"] for end in ("", "_low", "_high"))
        if not isinstance(value, float):
            raise UserError(f"row {self.numbers['row']}: has no gain")
        return Figure.gain(value, low, high, self.measure)

    @property
    def marked(self) -> bool:
        """Whether that gain is significant, corrected for all rows of the table."""
        return bool(self.numbers["marked"])

    def beside(self, other: "TrialFigures | RowFigures", split: Split = "test") -> Figure:
        """The gain of its trial over another (``TrialFigures.beside``)."""
        return self.own.beside(other, split)

    def _score(self, name: str) -> Figure:
        value, half, low, high = (self.numbers[f"{name}{end}"] for end in ("", "_half", "_low", "_high"))
        if not isinstance(value, float):
            raise UserError(f"row {self.numbers['row']}: has no {name}")
        text = with_error(value, half, self.measure).strip()
        return Figure(self.measure.factor * value, text, *_ends(low, high, self.measure.factor))


def only_row(rows: Sequence[RowFigures], name: str, of: str = "") -> RowFigures:
    """The only one of the ``rows`` that is called so; ``of``: under this heading. What it brings along, in brackets,
    need not be named.
    """
    found = [
        each
        for each in rows
        if f"{each.numbers['row']} (".startswith(f"{name} (") and of in (each.numbers["section"], "")
    ]
    if len(found) != 1:
        allowed = ", ".join(f"{each.numbers['section']}: {each.numbers['row']}" for each in rows)
        raise UserError(f"got {len(found)} rows {name!r} (allowed: one of {allowed})")
    return found[0]


@dataclass(frozen=True)
class AblationFigures:
    """An ablation of a study, with the searches that tuned its rows and with all rounds of its seeds."""

    record: StudyRecord
    rows: Sequence[RowFigures]

    def row(self, name: str, of: str = "") -> RowFigures:
        """The row called so (``only_row``)."""
        return only_row(self.rows, name, of)

    def like(self, row: RowFigures) -> RowFigures:
        """Its row of the same change as a ``row`` of another ablation, where that may bring other values along."""
        keys = ("over", "axis", "taken_back", "is_reference")
        (found,) = [each for each in self.rows if all(each.numbers[key] == row.numbers[key] for key in keys)]
        return found

    @property
    def tuning(self) -> Figure:
        """The minutes of training and evaluation in which its rows were tuned again."""
        return _minutes(self.record.arms)

    @property
    def comparison(self) -> Figure:
        """The minutes of training and evaluation of the rows that are compared."""
        return _minutes([self.record])

    @property
    def seeds(self) -> list[int]:
        """The numbers of seeds of its rows' trials, in ascending order."""
        return sorted(len(trial.seeds) for trial in self.record.trials.values())


def _minutes(records: Sequence[StudyRecord]) -> Figure:
    minutes = sum(trial.seconds for record in records for trial in record.trials.values()) / 60
    return Figure(minutes, f"{minutes:.0f}")


def _ends(low: Any, high: Any, factor: float) -> tuple[float, ...]:
    """The ends of an interval of scores or gains, as they are printed."""
    return () if low is None or high is None else tuple(sorted((factor * low, factor * high)))


class StudyFigures:
    """A study in its folder. ``study["lambda 1"]`` is the trial with this value of its axis, ``study["LSTM", 4]`` with
    these values of its axes, in their order.
    """

    def __init__(self, path: Path, watched: Any = None, sizes: Path | None = None) -> None:
        self.path = path
        self.sizes = json.loads(sizes.read_text()) if sizes is not None and sizes.exists() else {}
        self.watched = watched
        """What its networks did (``inspected.py``), if its source asks for that."""
        self.frames = study_frames(path)
        self.pictures: dict[str, str] = {}
        """The pictures that its page shows, as SVG, by the names of their files."""

    def __getitem__(self, values: Any) -> TrialFigures:
        wanted = [str(value) for value in (values if isinstance(values, tuple) else (values,))]
        shown = {tuple(map(str, row)): number for number, row in self._values()}
        if tuple(wanted) not in shown:
            raise UserError(unknown("trial", ", ".join(wanted), [", ".join(each) for each in shown]))
        return self._trial(self.record, shown[tuple(wanted)])

    def interaction(self, both: Values, one: Values, other: Values, base: Values, split: Split = "test") -> Figure:
        """What the trials at these values have of an interaction: (both - other) - (one - base)."""
        found = interaction(*(self[values].trial for values in (both, one, other, base)), split)
        assert found is not None, "all four are measured"
        return Figure.gain(found.value, found.low, found.high, self.record.measure)

    def row(self, name: str, of: str = "") -> RowFigures:
        """The row called so of its confirmed tables, those of ablations included (``only_row``)."""
        return only_row([row for rows in self._tables.values() for row in rows], name, of)

    def ablation(self, place: int) -> AblationFigures:
        """One of its ablations, which count from 1 in the order of their commands."""
        number, whole = list(whole_ablations(self.record).items())[place - 1]
        return AblationFigures(whole, self._tables[number])

    def against(self, table: str) -> dict[str, RowFigures]:
        """The rows of its comparison with a paper's table that it has, by their names. If the test set is the paper's
        own, their intervals are over seeds alone.
        """
        rows = compare(self.record, table, find_table(table)).rows
        return {each.ours.label: self._row(self.record, each.ours) for each in rows if each.ours.trial is not None}

    @property
    def record(self) -> StudyRecord:
        return self.frames.record

    @property
    def base(self) -> TrialConfig:
        """The config that the study varies: its settings are figures of the page, too."""
        assert isinstance(self.frames.study.space.base, TrialConfig)
        return self.frames.study.space.base

    @property
    def search(self) -> Any:
        return self.frames.study.search

    @property
    def baseline(self) -> Figure:
        """Of the base's test split."""
        return self.baselines[0]

    @property
    def baselines(self) -> list[Figure]:
        """Those of the test splits of all its corpora, the base's first."""
        return [Figure.of(each.baseline_test, self.record.measure) for each in self.record.corpora.values()]

    @property
    def guess(self) -> str:
        """What the baseline predicts, in words."""
        return TASKS[task_of(self.base.data.corpus)].guess

    @property
    def version(self) -> str:
        """The version of skipstack that ran it."""
        assert self.record.opened is not None
        return release(self.record.opened)

    def report(self, options: str = "") -> str:
        """The command `skipstack report` with these options, and what it prints."""
        with chdir(self.path.parent):
            answer = typed("report", self.path.name, *shlex.split(options), "--format", "markdown")
        if answer.code != 0:
            raise UserError(answer.error.strip().removeprefix("skipstack: "))
        return f"    skipstack report {self.path.name}{' ' * bool(options)}{options}\n\n{answer.out}"

    def picture(self, heading: str, name: str) -> str:
        """A picture of its HTML report, by heading, as an image of the page; its file is called ``name``."""
        charts: Sequence[Drawn] = (*trend_charts(self.record), *search_charts(self.frames.exploration()))
        by_heading = {each.heading: each for each in charts}
        if heading not in by_heading:
            raise UserError(unknown("picture", heading, by_heading))
        (found,) = pictured([by_heading[heading]])
        if not found.svg:
            raise UserError(f"{heading}: {found.about}")
        self.pictures[f"{name}.svg"] = found.svg
        return f"![{found.about}]({name}.svg)"

    def trend_table(self, heading: str) -> str:
        """The scores along its axis of numbers as a table, a row for each value of the other axis (``heading``)."""
        (found,) = trends_of(self.record)  # a grid with an axis of numbers
        numbers = list(dict.fromkeys(each.number for each in found.reached))
        score = {(each.line, each.number): Figure.of(each.score, self.record.measure).text for each in found.reached}
        rows = tuple(
            TableRow(names=(line,), cells=tuple(Cell(score[line, number]) for number in numbers), label=line)
            for line in dict.fromkeys(each.line for each in found.reached)
        )
        columns = tuple(Column(f"{number:g}") for number in numbers)
        return as_markdown(Page("", ((Table(names=(heading,), columns=columns, rows=rows),),)))

    @cached_property
    def _tables(self) -> dict[int | None, list[RowFigures]]:
        """The rows of its confirmed tables by the number of their ablation; of its own table, None."""
        tables = [each for each in confirmed_tables(self.record) if each[1].confirmed]
        return {table.ablation: [self._row(record, row) for row in table.rows] for record, table in tables}

    def _row(self, record: StudyRecord, row: ConfirmedRow) -> RowFigures:
        trial = None if row.own is None else self._trial(record, row.own)
        return RowFigures(confirmed_numbers(row), record.measure, trial)

    def _trial(self, record: StudyRecord, number: int) -> TrialFigures:
        trial = record.trials[number]
        sizes = self.sizes.get(str(number), {}) if record is self.record else {}
        return TrialFigures(trial, record.measure, record.fingerprint_of(trial.config), sizes)

    def _values(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        trials = self.frames.trials
        for number, row in trials[list(map(axis_column, self.record.space.domains))].iterrows():
            yield int(number), tuple(row)
