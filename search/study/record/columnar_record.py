"""Reads the record of a long ledger in a third of the time: most reports as columns, and all other events one by one.

Most lines of a long ledger are a report with the decision to continue, and they differ only in their numbers. Reading
these numbers as columns takes a fraction of the time of creating an object for each event.

Array legend: N reports, M metrics times lanes (a lane is one seed's copy of the network, or one call of a function).
"""

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Decided, Event, Reported
from skipstack.search.ledger.ledger import events_of
from skipstack.search.ledger.lines import Line
from skipstack.search.strategy.objectives.hours import DURING_A_RUN
from skipstack.search.study.record.reports import NUMBERS, Layout, ReportBlock, layout_of
from skipstack.search.study.record.study_record import StudyRecord

MOST: Final = 4
"""Maximum number of line formats that are read as columns. A study has one, and one more per extension by seeds."""

EPOCH: Final = NUMBERS.index("epoch")

NUMBER: Final = r"([-+.0-9eE]++)"
"""A pattern of the characters of numbers. If a match is no number, that is detected when its column is parsed."""

Path = tuple[str | int, ...]
"""The position of a number in the JSON of a line: keys of objects and indices of lists, from the outside in."""


@final
class _Columns:
    """Collects lines that differ from the line ``first`` only in their numbers: a report and the decision to continue.

    Pass each line to ``take``. At the end, ``blocks`` yields the reports. The line ``first`` itself is not collected.
    ``layout``: the names of the report's metrics, each with its number of lanes.
    """

    def __init__(self, first: bytes, layout: Layout) -> None:
        self.layout = layout
        self._paths: list[Path] = []
        pattern = r"\d+ " + "".join(self._pattern(json.loads(first.partition(b" ")[2]), ()))
        self._pattern_of = re.compile(pattern.encode())
        self._rows: list[bytes] = []
        self._events = array("q")

    def take(self, payload: bytes, event: int) -> bool:
        """Collect a line if it differs from the first line only in its numbers; return whether it was collected.
        ``payload``: the line's content. ``event``: the event number of its report.
        """
        found = self._pattern_of.fullmatch(payload)
        if found is None:
            return False
        self._rows.append(b",".join(found.groups()))
        self._events.append(event)
        return True

    def blocks(self) -> Iterator[tuple[int, ReportBlock]]:
        """Yield the number of each trial with a block of its reports in order. Raises ValueError for a text that is not
        a number, and if a decision has another trial or epoch than its report.
        """
        if not self._rows:
            return
        columns = self._columns()
        for key in ("trial", "epoch"):  # a NaN also counts as unequal
            if not np.array_equal(columns[0, key], columns[1, key]):
                raise ValueError(f"a decision has another {key} than its report")
        trial_N = columns[0, "trial"].astype(np.int64)
        order_N = np.argsort(trial_N, kind="stable")
        numbers_N4 = np.stack([columns[0, name][order_N] for name in NUMBERS], axis=1)
        metrics = [columns[0, "metrics", name, lane] for name, lanes in self.layout for lane in range(lanes)]
        metrics_NM = np.stack(metrics, axis=1)[order_N]
        every = ReportBlock(self.layout, (), numbers_N4, metrics_NM, np.frombuffer(self._events, np.int64)[order_N])
        starts = np.flatnonzero(np.diff(trial_N[order_N], prepend=-1)).tolist()
        for first, last in pairwise([*starts, len(trial_N)]):
            yield int(trial_N[order_N[first]]), every.between(first, last)

    def _columns(self) -> dict[Path, NDArray[np.float64]]:
        """Return the numbers of all collected lines as columns, by the position of the numbers in the JSON."""
        import pyarrow as pa
        import pyarrow.csv as pc

        names = [str(place) for place in range(len(self._paths))]
        table = pc.read_csv(
            pa.BufferReader(b"\n".join(self._rows)),
            pc.ReadOptions(column_names=names, use_threads=False),
            convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[]),
        )
        return {path: column.to_numpy() for path, column in zip(self._paths, table.columns, strict=True)}

    def _pattern(self, value: Any, path: Path) -> Iterator[str]:
        match value:
            case dict():
                for place, (key, each) in enumerate(value.items()):
                    yield re.escape(("," if place else "{") + json.dumps(key) + ":")
                    yield from self._pattern(each, (*path, key))
                yield re.escape("}" if value else "{}")
            case list():
                for place, each in enumerate(value):
                    yield re.escape("," if place else "[")
                    yield from self._pattern(each, (*path, place))
                yield re.escape("]" if value else "[]")
            case int() | float() if not isinstance(value, bool):
                self._paths.append(path)
                yield NUMBER
            case _:
                yield re.escape(json.dumps(value))


def columnar_record(lines: Iterable[Line], told: Callable[[Event], None] = lambda event: None) -> StudyRecord | None:
    """Read the record of a study from the ``lines`` of its ledger.

    Returns None if the lines cannot be read as columns, if seeds race (each of their reports is read as an event
    anyway), or if a report is wrong. The ledger must then be read event by event, which also finds the error. ``told``
    is called with each event that is not read as columns. Raises UserError for unknown events, and for events other
    than reports that cannot come next.
    """
    record, columns = StudyRecord(), list[_Columns]()
    late: dict[int, list[tuple[int, Reported]]] = defaultdict(list)
    last: Line | None = None
    """The last line that was collected since the last other one, if its time is not counted yet."""
    for line in lines:
        assert line.payload is not None
        for each in columns:
            if each.take(line.payload, record.events):
                record.events += 2
                if record.working.runs:
                    last = line
                else:
                    _worked(record, line)
                break
        else:
            events = events_of(line)
            if len(columns) < MOST and (layout := _layout(events)):
                columns.append(_Columns(line.payload, layout))
            for event in events:
                told(event)
                if last is not None and not isinstance(event, DURING_A_RUN):
                    _worked(record, last)
                last = None
                if isinstance(event, Reported):
                    if event.seeds:  # a trial gains seeds by its reports, and later events have values of all its seeds
                        return None
                    record.working.happened(event)
                    late[event.trial].append((record.events, event))
                    record.events += 1
                else:
                    record.apply(event)
    if last is not None:
        _worked(record, last)
    blocks: dict[int, list[ReportBlock]] = defaultdict(list)
    try:
        for each in columns:
            for number, block in each.blocks():
                blocks[number].append(block)
    except ValueError:
        return None
    if not record.trials.keys() >= blocks.keys() | late.keys():
        return None
    try:
        for number in record.trials:
            for block in blocks[number]:
                record.check_report(number, block.layout, 0, float(block.numbers_N4[:, EPOCH].max()))
            for _, report in late[number]:
                record.check_report(number, layout_of(report.metrics), len(report.seeds), report.epoch)
            _report(record, number, blocks[number], late[number])
    except UserError:  # reading event by event reports the error, with the number of the event
        return None
    return record


def _worked(record: StudyRecord, line: Line) -> None:
    """Count the time of a collected line that is the first or the last of a run. Within a run, the time between two
    other lines includes the lines between them.
    """
    for event in events_of(line):
        record.working.happened(event)


def _layout(events: tuple[Event, ...]) -> Layout:
    """Return the layout of the report in ``events`` if they can be read as columns; otherwise an empty layout.

    They can if they are a report and the decision to continue, not at a rung. The report must also have metrics, a
    finite score and finite metrics, and neither a group of seeds nor a latency.
    """
    match events:
        case (Reported(seeds=(), latency=None) as report, Decided(decision="continue", rung=None)):
            finite = np.isfinite([report.score, *(value for lanes in report.metrics.values() for value in lanes)])
            return layout_of(report.metrics) if finite.all() and len(finite) > 1 else ()
        case _:
            return ()


def _report(record: StudyRecord, number: int, blocks: list[ReportBlock], late: list[tuple[int, Reported]]) -> None:
    """Add all reports of a trial to its record, in the order of the ledger. ``blocks``: the reports that were read as
    columns. ``late``: the others, each with its event number.
    """
    if len(blocks) > 1:
        blocks = sorted(
            (block.between(place, place + 1) for block in blocks for place in range(len(block.events_N))),
            key=lambda block: int(block.events_N[0]),
        )
    reports = record.trials[number].reports
    waiting = iter([*late, (record.events, None)])
    event, report = next(waiting)
    for block in blocks:
        done = 0
        while done < len(block.events_N):
            until = int(np.searchsorted(block.events_N, event))
            if until > done:
                reports.extend(number, block.between(done, until))
                done = until
            elif report is not None:
                record.report(report, event)
                event, report = next(waiting)
    while report is not None:
        record.report(report, event)
        event, report = next(waiting)
