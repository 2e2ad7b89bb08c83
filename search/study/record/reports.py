"""The reports of a trial, stored as columns. As objects, the reports of ten thousand trials would need too much memory.

Array legend: N reports, M metrics times lanes (a lane is one seed's copy of the network, or one call of a function).
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

from skipstack.search.ledger.events import Metrics, Reported

NUMBERS = ("time", "epoch", "score", "seconds")
"""The numeric fields of a report, which are stored together."""

REST = tuple(name for name in Reported.model_fields if name not in (*NUMBERS, "metrics"))
"""The fields of a report that are equal in most reports of a trial."""

Layout = tuple[tuple[str, int], ...]
"""The name of each metric, with its number of lanes."""

Form = tuple[Layout, tuple[Any, ...]]
"""The data that many reports share: their layout, and the values of their fields in ``REST``."""


def layout_of(metrics: Metrics) -> Layout:
    """Return the name of each metric, with its number of lanes."""
    return tuple((name, len(lanes)) for name, lanes in metrics.items())


@dataclass(frozen=True, slots=True, eq=False)
class ReportBlock:
    """Consecutive reports of a trial with the same layout and the same seeds.

    ``layout``: the name of each metric, with its number of lanes. ``seeds``: the seeds that were trained; empty means
    all seeds of the trial. ``numbers_N4``: a column for each of the four fields in ``NUMBERS``. ``metrics_NM``: the
    values of all lanes of the first metric, then of the next. ``events_N``: the event number of each report.
    """

    layout: Layout
    seeds: tuple[int, ...]
    numbers_N4: NDArray[np.float64]
    metrics_NM: NDArray[np.float64]
    events_N: NDArray[np.int64]

    def between(self, first: int, last: int) -> "ReportBlock":
        """Return the reports from index ``first`` up to, but not including, ``last``."""
        cut = slice(first, last)
        return ReportBlock(self.layout, self.seeds, self.numbers_N4[cut], self.metrics_NM[cut], self.events_N[cut])


@final
class Reports(Sequence[Reported]):
    """The reports of a trial, in order. A report is created as an event each time it is accessed. ``events``: the event
    number of each report; -1 for a report that is in no ledger.
    """

    __slots__ = ("_forms", "_metrics", "_numbers", "_starts", "events")

    def __init__(self) -> None:
        self.events = array("q")
        self._numbers = array("d")
        self._metrics = array("d")
        self._starts = array("l")
        self._forms: list[Form] = []

    def append(self, report: Reported, event: int = -1) -> None:
        """Append a report. ``event``: its event number."""
        form = layout_of(report.metrics), tuple(getattr(report, name) for name in REST)
        self._forms.append(self._forms[-1] if self._forms and self._forms[-1] == form else form)
        self._numbers.extend(getattr(report, name) for name in NUMBERS)
        self._starts.append(len(self._metrics))
        for lanes in report.metrics.values():
            self._metrics.extend(lanes)
        self.events.append(event)

    def extend(self, trial: int, block: ReportBlock) -> None:
        """Append a block of reports without latencies. ``trial``: the number of their trial."""
        shared = {"kind": "reported", "trial": trial, "seeds": block.seeds, "latency": None}
        form = (block.layout, tuple(shared[name] for name in REST))
        first, (count, width) = len(self._metrics), block.metrics_NM.shape
        self._forms += [self._forms[-1] if self._forms and self._forms[-1] == form else form] * count
        self._starts.extend(first + width * place for place in range(count))
        self._numbers.frombytes(block.numbers_N4.tobytes())
        self._metrics.frombytes(block.metrics_NM.tobytes())
        self.events.frombytes(block.events_N.tobytes())

    def blocks(self) -> Iterator[ReportBlock]:
        """Yield the reports, without latencies, in order and in as few blocks as possible."""
        numbers_N4, metrics = np.array(self._numbers).reshape(-1, len(NUMBERS)), np.array(self._metrics)
        events_N, starts = np.array(self.events), [*self._starts, len(metrics)]
        first = 0
        for (layout, seeds), alike in groupby(self._forms, lambda form: (form[0], form[1][REST.index("seeds")])):
            last = first + len(list(alike))
            metrics_NM = metrics[starts[first] : starts[last]].reshape(last - first, -1)
            yield ReportBlock(layout, seeds, numbers_N4[first:last], metrics_NM, events_N[first:last])
            first = last

    @property
    def scores(self) -> Sequence[float]:
        """The score of each report."""
        return self._column("score")

    @property
    def epochs(self) -> Sequence[float]:
        """The epoch of each report."""
        return self._column("epoch")

    @property
    def seconds(self) -> Sequence[float]:
        """The seconds of training and evaluation in each report."""
        return self._column("seconds")

    @property
    def curve(self) -> list[tuple[int, float]]:
        """The epoch and the score of each report."""
        return [(int(epoch), score) for epoch, score in zip(self.epochs, self.scores, strict=True)]

    @property
    def grouped(self) -> bool:
        """Whether the seeds race, so that they are trained in groups. False if there is no report yet."""
        return bool(self._forms) and bool(self._forms[0][1][REST.index("seeds")])

    def best(self) -> int | None:
        """Return the index of the report with the highest finite score (in a tie, the first); None if there is none."""
        scores = self.scores
        highest = max(filter(math.isfinite, scores), default=None)
        return None if highest is None else scores.index(highest)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same reports. NaNs count as equal; event numbers are not compared."""
        if not isinstance(other, Reports):
            return NotImplemented
        return self._forms == other._forms and self._bytes() == other._bytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __len__(self) -> int:
        return len(self._forms)

    @overload
    def __getitem__(self, place: int) -> Reported: ...

    @overload
    def __getitem__(self, place: slice) -> list[Reported]: ...

    def __getitem__(self, place: int | slice) -> Reported | list[Reported]:
        if isinstance(place, slice):
            return [self._report(each) for each in range(*place.indices(len(self)))]
        return self._report(range(len(self))[place])

    def __iter__(self) -> Iterator[Reported]:
        return map(self._report, range(len(self)))

    def _report(self, place: int) -> Reported:
        layout, rest = self._forms[place]
        time, epoch, score, seconds = self._numbers[place * len(NUMBERS) : (place + 1) * len(NUMBERS)]
        first = self._starts[place]
        flat = iter(self._metrics[first : first + sum(lanes for _, lanes in layout)])
        metrics: Metrics = {name: tuple(islice(flat, lanes)) for name, lanes in layout}
        values: dict[str, Any] = dict(zip(REST, rest, strict=True))
        values |= {"time": time, "epoch": int(epoch), "score": score, "seconds": seconds, "metrics": metrics}
        return Reported.model_construct(None, **values)

    def _bytes(self) -> tuple[bytes, bytes]:
        return self._numbers.tobytes(), self._metrics.tobytes()

    def _column(self, name: str) -> Sequence[float]:
        return self._numbers[NUMBERS.index(name) :: len(NUMBERS)]
