"""Reads the trials of a Ray Tune experiment: each has a folder with ``params.json`` and ``result.json``. The
experiment's search space is passed as objects of Tune, so Tune itself is not imported.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError, undecodable, unknown, unreadable
from skipstack.data.basis.explain import shown
from skipstack.search.ledger.events import FARTHEST
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import (
    FinishedSearch,
    FinishedTrial,
    inferred_axes,
)
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import is_number
from skipstack.spaces.function import Direction
from skipstack.spaces.python_space import choice, lograndint, loguniform, normal, randint, uniform

PARAMETERS = "params.json"
RESULTS = "result.json"
ERROR = "error.txt"
ITERATION = "training_iteration"
STATES = "experiment_state-*.json"
FAILED = "ERROR"
"""The status of a failed trial in Ray Tune's record of the experiment (``STATES``)."""


GRID: Final = ".grid_search"
"""The end of the dotted path of a parameter with ``tune.grid_search(VALUES)``, which returns the mapping
``{"grid_search": VALUES}``.
"""

DOMAINS: Final = (
    "choice, grid_search, uniform, loguniform, quniform, qloguniform, randint, lograndint, qrandint, qlograndint, randn"
)
"""The functions of ``ray.tune`` whose results become axes."""


def tune_axes(param_space: Mapping[str, Any], where: str = "from_tune: space") -> dict[str, Axis]:
    """Return the axes of a ``param_space`` of Ray Tune, by dotted path. Values that do not vary have no axis.

    ``where``: the beginning of error messages. Raises UserError for domains that no axis can have, such as those of
    ``tune.sample_from`` and ``tune.qrandn``.
    """
    axes: dict[str, Axis] = {}
    for name, domain in _flat(param_space).items():
        path = name.removesuffix(GRID)
        try:
            if path != name:
                axes[path] = choice(list(domain))
            elif hasattr(domain, "get_sampler"):
                axes[path] = _axis(domain)
        except UserError as error:
            raise UserError(f"{where}: {path}: {error}") from None
    return axes


def _axis(domain: Any) -> Axis:
    """Return the axis of a domain of Tune. Quantized integers are multiples of ``q``, so their bounds are rounded
    inwards to multiples of ``q``. Other domains of integers exclude their upper bound; axes include it.
    """
    sampler = domain.get_sampler()
    step = getattr(sampler, "q", None)
    kind = type(domain).__name__, str(sampler if step is None else sampler.get_sampler())
    match kind:
        case ("Categorical", _):
            return choice(list(domain.categories))
        case ("Float", "Normal") if step is None:
            return normal(sampler.mean, sampler.sd)
        case ("Float", "Uniform" | "LogUniform" as law):
            return (uniform if law == "Uniform" else loguniform)(domain.lower, domain.upper, step=step)
        case ("Integer", "Uniform" | "LogUniform" as law):
            low, high = domain.lower, domain.upper - 1
            if step is not None and step > 1:
                low, high = math.ceil(domain.lower / step) * step, math.floor(domain.upper / step) * step
            return (randint if law == "Uniform" else lograndint)(low, high, step=None if step == 1 else step)
        case _:
            of = kind[1] if step is None else f"{kind[1]} with q={step}"
            raise UserError(f"got {kind[0]}, {of} (allowed: {DOMAINS})")


def tune_search(folder: Path, score: str, direction: Direction, axes: Mapping[str, Axis]) -> FinishedSearch:
    """Read the trials of the experiment in ``folder``.

    ``score``: the metric to read; each result that has it counts as an epoch. ``axes``: the axes of the search; if it
    is empty, they are inferred from the values that were tried.

    A trial has failed if Ray Tune's record of the experiment (``experiment_state-*.json``) says so. A trial that is
    not in the record has failed if it has an ``error.txt``, which Tune keeps even when it tries the trial again. If an
    iteration was repeated, its last result counts. A trial with fewer iterations than the longest trial counts as
    stopped, since Ray Tune does not record who ended it. A trial ends at the last ``timestamp`` of its results that is
    a Unix time, since a trial may report a number or a text of its own by this name. Raises UserError if the folder has
    no trials, if one of its files is damaged, and if there are results but none has the metric.
    """
    trials: list[FinishedTrial] = []
    left_out: Counter[str] = Counter()
    found = sorted(path.parent for path in folder.glob(f"*/{PARAMETERS}"))
    if not found:
        raise UserError(f"from_tune: {folder} has no trials (allowed: an experiment's folder, with */{PARAMETERS})")
    read = {each: _results(each) for each in found}
    longest = max(len(results) for results in read.values())
    states = _states(folder)
    metrics = {name for results in read.values() for result in results for name in result}
    if metrics and score not in metrics:
        raise UserError(f"from_tune: {unknown('metric', score, sorted(metrics))}")
    for each, results in read.items():
        failed = states[each.name] == FAILED if each.name in states else (each / ERROR).exists()
        curve = [_score(each, result[score]) for result in results if result.get(score) is not None]
        if not curve and not failed:
            left_out["have no result"] += 1
            continue
        stamps = [result.get("timestamp") for result in results]
        times = [float(stamp) for stamp in stamps if is_number(stamp) and 0 <= stamp <= FARTHEST]
        ended = times[-1] if times else (each / PARAMETERS).stat().st_mtime
        seconds = float(results[-1].get("time_total_s", 0.0)) if results else 0.0
        trials.append(
            FinishedTrial(
                values=_flat(_json(each / PARAMETERS, _text(each / PARAMETERS))),
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
        name=folder.name,
        source=f"the Ray Tune experiment {folder.name!r}",
        direction=direction,
        axes=axes or inferred_axes(tried),
        trials=trials,
        left_out=left_out,
        unknown="seeds, rungs, and who ended a trial early" + ("" if axes else "; axes are as wide as what was tried"),
    )


def _results(trial: Path) -> list[dict[str, Any]]:
    """Read the results of a trial, one from each line of its file. If an iteration was repeated, only its last result
    counts. An incomplete line is left out.
    """
    file = trial / RESULTS
    lines = _text(file).splitlines() if file.exists() else []
    found: list[tuple[int, dict[str, Any]]] = []
    for result in (_flat(_json(file, line)) for line in lines if line.endswith("}")):
        at = int(result.get(ITERATION, found[-1][0] + 1 if found else 1))
        while found and found[-1][0] >= at:
            found.pop()
        found.append((at, result))
    return [result for _, result in found]


def _states(folder: Path) -> dict[str, str]:
    """Read from the latest record of the experiment how each trial ended, by the name of the trial's folder. Empty
    without a record.
    """
    file = max(folder.glob(STATES), default=None, key=lambda path: path.name)
    recorded = [] if file is None else _json(file, _text(file)).get("trial_data", [])
    trials = [trial if isinstance(trial, dict) else _json(folder, trial) for trial, *_ in recorded]
    return {Path(each["relative_logdir"]).name: each["status"] for each in trials if each.get("relative_logdir")}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError as error:
        raise UserError(f"from_tune: {file}: {undecodable(error)}") from None


def _json(file: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UserError(f"from_tune: {file}: {error} (allowed: JSON, as Ray Tune writes it)") from None
    if not isinstance(found, dict):
        raise UserError(f"from_tune: {file}: got {shown(found)} (allowed: a mapping, as Ray Tune writes it)")
    return found


def _score(trial: Path, value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    raise UserError(f"from_tune: {trial / RESULTS}: got the score {shown(value)} (allowed: a number)")


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Convert a nested mapping to a flat one, whose keys are dotted paths, as the names of axes are."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return flat


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else ""
