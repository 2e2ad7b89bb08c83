"""What MLflow should hold of a study, number for number, worked out from its events alone."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from skipstack.search.ledger.events import SCORELESS, Ended, Event, Proposed, Reported, Tested

Curves = dict[tuple[str | None, str], list[tuple[int, float, int]]]
"""By trial, None being the study, and metric: its points as step, value and milliseconds."""


def told(events: Sequence[Event]) -> Curves:
    """The curves of a study whose seeds do not race, and whose faults took no trial that had a score."""
    seeds: dict[int, tuple[int, ...]] = {}
    best: dict[int, tuple[float, int]] = {}
    ends: list[float] = []
    curves: Curves = {}

    def add(trial: int | None, step: int, time: float, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            key = None if trial is None else str(trial)
            curves.setdefault((key, name), []).append((step, value, round(time * 1000)))

    for event in events:
        match event:
            case Proposed():
                seeds[event.trial] = event.seeds
            case Reported():
                own = {"score": event.score, "seconds": event.seconds}
                own |= {} if event.latency is None else {"latency": event.latency}
                add(event.trial, event.epoch, event.time, own | _lanes(event.metrics, seeds[event.trial]))
                if math.isfinite(event.score) and event.score > best.get(event.trial, (-math.inf, 0))[0]:
                    best[event.trial] = event.score, event.epoch
                    leading = {"best_score": event.score, "best_epoch": float(event.epoch)}
                    add(event.trial, event.epoch, event.time, leading)
            case Tested():
                add(event.trial, best[event.trial][1], event.time, _lanes(event.metrics, seeds[event.trial]))
            case Ended():
                score = -math.inf if event.reason in SCORELESS else best[event.trial][0]
                ends.append(max([score, *ends[-1:]]))
                if math.isfinite(ends[-1]):
                    add(None, len(ends), event.time, {"best_score": ends[-1]})
            case _:
                pass
    return curves


def held(client: Any, runs: Mapping[str | None, Any]) -> Curves:
    """The curves that a store has, of the runs by trial; a point that was written twice stands there twice."""
    return {
        (trial, name): sorted(
            (point.step, point.value, point.timestamp) for point in client.get_metric_history(run.info.run_id, name)
        )
        for trial, run in runs.items()
        for name in run.data.metrics
    }


def _lanes(metrics: Mapping[str, tuple[float, ...]], seeds: Sequence[int]) -> dict[str, float]:
    values = {name: fmean(lanes) for name, lanes in metrics.items()}
    for name, lanes in metrics.items():
        values |= {f"{name}/seed_{seed}": value for seed, value in zip(seeds, lanes, strict=True)}
    return values
