"""A scheduler for Ray Tune whose decisions are those of our ASHA."""

from collections.abc import Mapping
from typing import Any, final

from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from skipstack.search.api.other_tools.stepped_asha import SteppedAsha
from skipstack.search.api.other_tools.tune_searcher import score_and_sign
from skipstack.search.study.earlier_studies.elsewhere.tune_results import ITERATION


@final
class TuneScheduler(FIFOScheduler):  # type: ignore[misc]  # mypy reads no types of Ray
    """Ends a trial where our ASHA would: if its score is below the cutoff of a rung or not finite, or if it is
    complete.

    Trials begin in the order of Tune. A trial that Tune repeats from a checkpoint is not judged again at an iteration
    that it has reported. Tune does not save schedulers: after ``tune.Tuner.restore``, trials are compared only with
    reports from then on.

    ``epochs``, ``grace``, ``reduction``, ``brackets``: as for ``SteppedAsha``; an iteration of Tune is an epoch.
    """

    def __init__(self, epochs: int, grace: int, reduction: int, brackets: int) -> None:
        super().__init__()
        self._asha = SteppedAsha(epochs, grace, reduction, brackets)
        self._numbers: dict[str, int] = {}

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Take the metric and its direction from the experiment. Raises UserError if they are not known."""
        self._score, self._sign = score_and_sign("tune_scheduler", metric, mode)
        return bool(super().set_search_properties(metric, mode, **spec))

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """Number the trial, in the order in which Tune adds trials."""
        self._numbers.setdefault(trial.trial_id, len(self._numbers))

    def on_trial_result(self, tune_controller: Any, trial: Any, result: Mapping[str, Any]) -> str:
        """Return whether the trial goes on. Results without the metric end no trial."""
        number, iteration = self._numbers[trial.trial_id], int(result[ITERATION])
        if self._score not in result or iteration <= self._asha.step(number):
            return str(TrialScheduler.CONTINUE)
        decision = self._asha.report(number, iteration, self._sign * float(result[self._score]))
        return str(TrialScheduler.CONTINUE if decision.action == "continue" else TrialScheduler.STOP)
