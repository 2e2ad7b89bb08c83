"""The metrics of a study (``gauges``) as Ray has them: its dashboard and a Prometheus read them from its machines.

Ray puts ``ray_`` before their names. Its agent, which hands them out, is part of ``ray[default]``; without it nobody
asks for them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ray.util.metrics import Counter, Gauge

from skipstack.search.driver.driver import Driver
from skipstack.search.engines.gauges import METRICS, Metric, StudyGauges

AGAIN: Final = 4.0
"""Seconds after which every gauge is set again: Ray forgets one that was not set for 20 s, and epochs may be long."""


@contextmanager
def published(driver: Driver) -> Iterator[StudyGauges]:
    """What hears the driver of a study and publishes its metrics, for as long as it is entered."""
    metrics = _Metrics(driver.record.study.name)
    gauges = StudyGauges(lambda: driver.record, metrics.put)
    driver.listen(gauges)
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(AGAIN):
            metrics.repeat()

    thread = threading.Thread(target=repeat, name="metrics", daemon=True)
    thread.start()
    try:
        yield gauges
    finally:
        ended.set()
        thread.join()


class _Metrics:
    """Ray's counters and gauges, and what the gauges stand at."""

    def __init__(self, study: str) -> None:
        self._study = study
        self._lock = threading.Lock()
        self._counters: dict[Metric, Counter] = {}
        self._gauges: dict[Metric, Gauge] = {}
        self._values: dict[tuple[Metric, str | None], float] = {}
        for metric in METRICS:
            labels = ("study", *filter(None, [metric.label]))
            made, kind = (self._counters, Counter) if metric.counts else (self._gauges, Gauge)
            made[metric] = kind(metric.name, description=metric.about, tag_keys=labels)

    def put(self, metric: Metric, value: float, label: str | None) -> None:
        if metric.counts:
            self._counters[metric].inc(value, tags=self._tags(metric, label))
            return
        with self._lock:
            self._values[metric, label] = value
            self._gauges[metric].set(value, tags=self._tags(metric, label))

    def repeat(self) -> None:
        """Set every gauge to what it stands at."""
        with self._lock:
            for (metric, label), value in self._values.items():
                self._gauges[metric].set(value, tags=self._tags(metric, label))

    def _tags(self, metric: Metric, label: str | None) -> dict[str, str]:
        own = {} if metric.label is None or label is None else {metric.label: label}
        return {"study": self._study, **own}
