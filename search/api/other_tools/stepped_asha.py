"""Our ASHA over the steps of trials that another tool runs."""

from collections import Counter
from typing import Any, Final, final

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain, shown
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from skipstack.search.strategy.schedulers.scheduler import Decision

MOST_REPORTS: Final = 10**18
"""The number of reports after which ``Asha`` counts a trial as complete. No trial has so many: a trial is complete by
its steps instead.
"""


@final
class SteppedAsha:
    """Our ASHA (``Asha`` in ``halving.py``) for trials that report after some of their steps, not after each. A trial
    is compared at a rung by its first report at or after the rung's step, and is complete at the step ``epochs``.
    Higher scores are better.

    ``Asha`` requires a report of every epoch, but if rungs are in seconds, a report may add any number of seconds. So
    steps are passed to it as seconds. ``grace``, ``reduction`` and ``brackets``: as in ``AshaConfig``. Raises UserError
    for values that ``AshaConfig`` does not allow, and for ``epochs`` below 1.
    """

    def __init__(self, epochs: int, grace: int, reduction: int, brackets: int) -> None:
        if epochs < 1:
            raise UserError(f"epochs: got {shown(epochs)} (allowed: an integer from 1)")
        try:
            config = AshaConfig.model_validate({"grace": grace, "reduction": reduction, "brackets": brackets})
        except ValidationError as error:
            raise UserError(explain(error, AshaConfig)) from None
        self.rungs: Final = Asha(config, epochs).rungs
        """The steps at which trials are compared, ascending."""
        self._asha = Asha(config.model_copy(update={"resource": "seconds", "maximum": epochs}), MOST_REPORTS)
        self._options = epochs, grace, reduction, brackets
        self._reports: list[tuple[int, int, float, bool]] = []
        self._counts: Counter[int] = Counter()
        self._steps: dict[int, int] = {}

    def __getstate__(self) -> tuple[Any, ...]:
        """Return the options and all reports, from which the state follows: ``Asha`` itself cannot be pickled."""
        return self._options, self._reports

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        options, reports = state
        self.__init__(*options)
        for trial, step, score, spared in reports:
            self.report(trial, step, score, spared=spared)

    def step(self, trial: int) -> int:
        """The step of the last report of ``trial``; 0 before the first."""
        return self._steps.get(trial, 0)

    def report(self, trial: int, step: int, score: float, *, spared: bool = False) -> Decision:
        """Decide on ``trial`` after ``step``, which is above the steps of its earlier reports.

        ``spared``: whether the trial continues even if it is below the cutoff. Other trials are compared with it all
        the same.
        """
        if spared:
            self._asha.spare(trial)
        else:
            self._asha.spared.discard(trial)
        seconds = step - self.step(trial)
        self._reports.append((trial, step, score, spared))
        self._counts[trial] += 1
        self._steps[trial] = step
        return self._asha.report(trial, self._counts[trial], score, seconds)
