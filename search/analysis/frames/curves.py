"""Frames of learning curves, of the best scores so far, and of counts by sentence.

If the seeds of a study race, a trial trains them in groups, one after the other, and each report is about one group.

Array legend: N reports; R seeds; M values of a report, one for each metric and lane (one seed's copy of the network); S
sentences; C counts of a sentence; 4 numbers of a report, named in ``NUMBERS``.
"""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skipstack.search.analysis.frames.columns import COLUMNS, METRIC, typed_frame
from skipstack.search.study.record.reports import NUMBERS, Layout, ReportBlock
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import FunctionConfig


def curves(record: StudyRecord) -> pd.DataFrame:
    """Return the frame ``curves``, with a row for each epoch of each seed of each trial (see ``COLUMNS``)."""
    alike: dict[tuple[Layout, int], list[tuple[int, tuple[int, ...], ReportBlock]]] = defaultdict(list)
    for trial in record.trials.values():
        for block in trial.reports.blocks():
            own = block.seeds or trial.seeds
            alike[block.layout, len(own)].append((trial.number, own, block))
    names = dict.fromkeys(column.name for column in COLUMNS["curves"])
    if not alike:
        return typed_frame("curves", dict.fromkeys(names, ()))
    parts = [
        _rows(tuple((_column(record, metric), lanes) for metric, lanes in layout), seeds, blocks)
        for (layout, seeds), blocks in alike.items()
    ]
    names |= dict.fromkeys(name for part in parts for name in part)
    unknown = [np.full(len(part["trial"]), np.nan) for part in parts]
    rows = {
        name: np.concatenate([part.get(name, nan) for part, nan in zip(parts, unknown, strict=True)]) for name in names
    }
    order = np.lexsort((rows["event"], rows["trial"]))  # stable: the seeds of a report stay in order
    return typed_frame("curves", {name: values[order] for name, values in rows.items()})


def _column(record: StudyRecord, metric: str) -> str:
    study, measure = record.study, record.measure.name
    if metric == f"dev_{measure}":
        return "dev"
    ours = {f"test_{measure}", *(each.column for each in study.search.further)}
    return f"{METRIC}{metric}" if isinstance(study.space.base, FunctionConfig) and metric not in ours else metric


def scores_by_epoch(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the score of each trial after each epoch: a row per trial, a column per epoch.

    NaN for scores that are not finite and for epochs after the trial's last report. If seeds race, the scores are those
    of the first group of seeds. ``curves``: the frame of that name.
    """
    table = _by_epoch(curves)
    return table.where(table.abs() < math.inf)


def best_so_far(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the best finite score of each trial up to each epoch: a row per trial, a column per epoch.

    NaN before the first finite score and for epochs after the trial's last report. If seeds race, the scores are those
    of the first group of seeds. ``curves``: the frame of that name.
    """
    table = _by_epoch(curves)
    finite = table.where(table.abs() < math.inf)
    there = table.notna()[table.columns[::-1]].cummax(axis=1)[table.columns]
    return finite.cummax(axis=1).ffill(axis=1).where(there)


def _by_epoch(curves: pd.DataFrame) -> pd.DataFrame:
    return curves.drop_duplicates(["trial", "epoch"]).pivot(index="trial", columns="epoch", values="score")


def sentences(record: StudyRecord) -> pd.DataFrame:
    """Return the frame ``sentences`` (see ``COLUMNS``), for the trials with recorded counts of sentences."""
    names = record.measure.counted
    parts: dict[str, list[NDArray[np.float64]]] = {
        name: [np.empty(0)] for name in ("trial", "seed", "sentence", "event", *names)
    }
    for trial in record.trials.values():
        counts_RSC = trial.sentences
        if counts_RSC is not None:
            seeds, count, _ = counts_RSC.shape
            parts["trial"].append(np.full(seeds * count, trial.number))
            parts["seed"].append(np.repeat(trial.seeds, count))
            parts["sentence"].append(np.tile(np.arange(count), seeds))
            parts["event"].append(np.full(seeds * count, trial.happened["tested"]))
            for place, name in enumerate(names):
                parts[name].append(counts_RSC[..., place].ravel())
    return typed_frame("sentences", {name: np.concatenate(values) for name, values in parts.items()})


def _rows(
    layout: Layout, seeds: int, blocks: list[tuple[int, tuple[int, ...], ReportBlock]]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of a part of the frame ``curves``, by name: a row for each report in ``blocks`` and each seed.

    ``layout``: the columns of the metrics of all these reports, and the number of lanes of each metric. ``seeds``: the
    number of seeds of each report. ``blocks``: blocks of reports, each with the trial's number and seeds.
    """
    counts = [len(block.events_N) for _, _, block in blocks]
    numbers_N4 = np.concatenate([block.numbers_N4 for _, _, block in blocks])
    metrics_NM = np.concatenate([block.metrics_NM for _, _, block in blocks])
    seeds_NR = np.repeat([own for _, own, _ in blocks], counts, axis=0)
    columns = {
        "trial": np.repeat([number for number, _, _ in blocks], counts),
        **{name: numbers_N4[:, NUMBERS.index(name)] for name in ("epoch", "score", "seconds")},
        "event": np.concatenate([block.events_N for _, _, block in blocks]),
    }
    rows = {name: np.repeat(values, seeds) for name, values in columns.items()} | {"seed": seeds_NR.ravel()}
    first = 0
    for name, lanes in layout:
        values_NR = np.full((len(numbers_N4), seeds), np.nan)
        shown = min(lanes, seeds)
        values_NR[:, :shown] = metrics_NM[:, first : first + shown]
        rows[name] = values_NR.ravel()
        first += lanes
    return rows
