"""Reads the trials of a Ray Tune experiment: each has a folder with ``params.json`` and ``result.json``."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import (
    FinishedSearch,
    FinishedTrial,
    inferred_axes,
)
from skipstack.spaces.config import Axis
from skipstack.spaces.function import Direction

PARAMETERS = "params.json"
RESULTS = "result.json"
ERROR = "error.txt"


def tune_search(folder: Path, score: str, direction: Direction, axes: Mapping[str, Axis]) -> FinishedSearch:
    """Read the trials of the experiment in ``folder``.

    ``score``: the metric to read; each result that has it counts as an epoch. ``axes``: the axes of the search; if it
    is empty, they are inferred from the values that were tried.

    A trial with an ``error.txt`` counts as failed. Any other trial with fewer results than the longest trial counts as
    stopped, since Ray Tune does not record who ended it. Raises UserError if the folder has no trials, and if there are
    results but none has the metric.
    """
    trials: list[FinishedTrial] = []
    left_out: Counter[str] = Counter()
    found = sorted(path.parent for path in folder.glob(f"*/{PARAMETERS}"))
    if not found:
        raise UserError(f"from_tune: {folder} has no trials (allowed: an experiment's folder, with */{PARAMETERS})")
    read = {each: _results(each) for each in found}
    longest = max(len(results) for results in read.values())
    metrics = {name for results in read.values() for result in results for name in result}
    if metrics and score not in metrics:
        raise UserError(f"from_tune: {unknown('metric', score, sorted(metrics))}")
    for each, results in read.items():
        failed = (each / ERROR).exists()
        curve = [float(result[score]) for result in results if result.get(score) is not None]
        if not curve and not failed:
            left_out["have no result"] += 1
            continue
        ended = float(results[-1]["timestamp"]) if results else (each / PARAMETERS).stat().st_mtime
        seconds = float(results[-1].get("time_total_s", 0.0)) if results else 0.0
        trials.append(
            FinishedTrial(
                values=_flat(json.loads((each / PARAMETERS).read_text())),
                curve=curve,
                began=ended - seconds,
                ended=ended,
                reason="failed" if failed else "completed" if len(results) == longest else "stopped",
                message=_last_line(each / ERROR) if failed else "",
            )
        )
    tried: dict[str, list[Any]] = {}
    for trial in trials:
        for name, value in trial.values.items():
            tried.setdefault(name, []).append(value)
    return FinishedSearch(
        name="objective",
        source=f"the Ray Tune experiment {folder.name!r}",
        direction=direction,
        axes=axes or inferred_axes(tried),
        trials=trials,
        left_out=left_out,
        unknown="seeds, rungs, and who ended a trial early" + ("" if axes else "; axes are as wide as what was tried"),
    )


def _results(trial: Path) -> list[dict[str, Any]]:
    """Read the results of a trial, one from each line of its file. An incomplete line is left out."""
    lines = (trial / RESULTS).read_text().splitlines() if (trial / RESULTS).exists() else []
    return [_flat(json.loads(line)) for line in lines if line.endswith("}")]


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Convert a nested mapping to one whose keys are dotted paths, as the names of axes are."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return flat


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
