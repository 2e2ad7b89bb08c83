"""A pruner for Optuna whose decisions are those of our ASHA."""

from bisect import bisect_right
from collections.abc import Sequence
from math import isfinite
from typing import final

from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from skipstack.search.api.other_tools.stepped_asha import SteppedAsha


@final
class OptunaPruner(BasePruner):
    """Prunes a trial where our ASHA would stop it: below the cutoff of a rung, or after a value that is not finite.

    A decision depends only on the intermediate values in Optuna's storage, so every process makes the same decision.
    Optuna does not record the order in which values were reported. That order does not matter: the cutoff depends only
    on the set of values that other trials have reported so far.

    ``epochs``, ``grace``, ``reduction``, ``brackets``: as for ``SteppedAsha``; a step of Optuna is an epoch.
    """

    def __init__(self, epochs: int, grace: int, reduction: int, brackets: int) -> None:
        self._options = epochs, grace, reduction, brackets
        self._rungs = SteppedAsha(*self._options).rungs

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the trial should end after its last report. Its earlier reports are not compared again."""
        if not all(map(isfinite, trial.intermediate_values.values())):
            return True
        steps = _at_rungs(trial, self._rungs)
        if not steps or steps[-1] != trial.last_step:
            return False
        sign = 1 if study.direction is StudyDirection.MAXIMIZE else -1
        asha = SteppedAsha(*self._options)
        for other in study.get_trials(deepcopy=False):
            if other.number != trial.number:
                for step in _at_rungs(other, self._rungs):
                    asha.report(other.number, step, sign * other.intermediate_values[step], spared=True)
        *passed, last = steps
        for step in passed:
            asha.report(trial.number, step, sign * trial.intermediate_values[step], spared=True)
        return asha.report(trial.number, last, sign * trial.intermediate_values[last]).action == "stop"


def _at_rungs(trial: FrozenTrial, rungs: Sequence[int]) -> list[int]:
    """Return the steps at which a trial is compared: its first step at or after each rung, up to its first infinite or
    NaN value.
    """
    found: list[int] = []
    before = 0
    for step, value in sorted(trial.intermediate_values.items()):
        if not isfinite(value):
            break
        if (reached := bisect_right(rungs, step)) > before:
            found.append(step)
            before = reached
    return found
