"""Reads the trials of an Optuna study. The study is passed as an object, so Optuna itself is not imported."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.study.earlier_studies.elsewhere.finished_trials import FinishedSearch, FinishedTrial, json_value
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import ROUNDING
from skipstack.spaces.python_space import choice, lograndint, loguniform, randint, uniform

REASONS: Final[Mapping[str, Literal["completed", "stopped", "failed"]]] = {
    "COMPLETE": "completed",
    "PRUNED": "stopped",
    "FAIL": "failed",
}
"""The reason why a trial ended, by its state in Optuna."""


def optuna_search(study: Any) -> FinishedSearch:
    """Read the trials of an Optuna study that have ended.

    The curve of a trial consists of its intermediate values or, without any, of its final value. A pruned trial counts
    as stopped; a trial without any value counts as failed. Trials are ranked by their best epoch, while Optuna ranks
    them by their final value. Raises UserError if the study has several objectives.
    """
    if not hasattr(study, "directions"):
        raise UserError(
            f"from_optuna: got {shown(study)} (allowed: an Optuna study, as optuna.load_study(...) gives it)"
        )
    if len(study.directions) > 1:
        raise UserError(f"from_optuna: got {len(study.directions)} objectives (allowed: a study of one)")
    left_out: Counter[str] = Counter()
    trials: list[FinishedTrial] = []
    ranges: dict[str, list[Any]] = {}
    for each in study.get_trials(deepcopy=False):
        state = each.state.name
        if state not in REASONS or each.datetime_start is None or each.datetime_complete is None:
            left_out["have not ended"] += 1
            continue
        for name, distribution in each.distributions.items():
            ranges.setdefault(name, []).append(distribution)
        curve = [value for _, value in sorted(each.intermediate_values.items())]
        trials.append(
            FinishedTrial(
                values=each.params,
                curve=curve or ([] if each.value is None else [each.value]),
                began=each.datetime_start.timestamp(),
                ended=max(each.datetime_start, each.datetime_complete).timestamp(),  # local times: clocks are set back
                reason=REASONS[state] if curve or each.value is not None else "failed",
                message="" if state == "COMPLETE" else f"{state.lower()} in Optuna",
            )
        )
    axes = {name: axis for name, found in ranges.items() if (axis := optuna_axis(name, found)) is not None}
    return FinishedSearch(
        name=study.study_name,
        source=f"the Optuna study {study.study_name!r}",
        direction="minimize" if study.direction.name == "MINIMIZE" else "maximize",
        axes=axes,
        trials=trials,
        left_out=left_out,
        lost=[said for name, found in ranges.items() if name in axes for said in _lost(name, found)],
    )


def optuna_axis(name: str, found: list[Any]) -> Axis | None:
    """Return the axis that covers all distributions of the parameter ``name``; None if they allow a single value only.
    Raises UserError if some distributions are choices and others are ranges.
    """
    if all(hasattr(each, "choices") for each in found):
        values = dict.fromkeys(json_value(name, value) for each in found for value in each.choices)
        return choice(*values) if len(values) > 1 else None
    if any(hasattr(each, "choices") for each in found):
        raise UserError(f"{name}: Optuna has it as numbers and as a choice (allowed: one of them)")
    low, high, step = min(each.low for each in found), max(each.high for each in found), _step(found)
    if low == high:
        return None
    log = found[0].log  # Optuna has the same scale in all trials
    if isinstance(low, int):
        return (lograndint if log else randint)(low, high, step=None if step == 1 else step)
    return (loguniform if log else uniform)(low, high, step=step)


def _step(found: list[Any]) -> Any:
    """Return the step of a parameter; None if its distributions differ in their steps, have none, or have lower bounds
    that are not a whole number of steps apart.
    """
    step, low = found[0].step, found[0].low
    if step is None or any(each.step != step for each in found):
        return None
    counts = [(each.low - low) / step for each in found]
    return step if all(abs(count - round(count)) < ROUNDING for count in counts) else None


def _lost(name: str, found: list[Any]) -> Iterator[str]:
    """Yield, in words, the steps of a parameter if its axis cannot hold them: trials differ in its step or range."""
    numbers = [each for each in found if not hasattr(each, "choices")]
    if numbers and _step(numbers) is None:
        steps = {each.step for each in numbers} - {None, 1 if isinstance(numbers[0].low, int) else None}
        yield from (f"the step {step} of {name}" for step in sorted(steps))
