"""Ray Tune's own ASHA over recorded curves, with random search.

The scheduler is Ray's object. No cluster runs: its methods are called as Ray's loop calls them, ``on_trial_add`` when a
trial begins, ``on_trial_result`` after each epoch, ``on_trial_complete`` at the end of one that the scheduler has not
stopped, with trials that are Ray's own objects. It has no other way to learn of anything, so its decisions are those of
a cluster where epochs end in this order.
"""

import numpy as np
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, TrialScheduler

from skipstack.search.api.simulation.recordings import RecordedSpace
from skipstack.spaces.space import Point
from tests.benchmarks.rivals.replayed import Rival


class RayAsha(Rival):
    """``ASHAScheduler`` with so many epochs as the longest training; ``reduction``: 4 is Ray's default."""

    def __init__(self, seed: int, *, epochs: int, reduction: int = 4) -> None:
        self._epochs = epochs
        self._source = np.random.default_rng(seed)
        self._scheduler = ASHAScheduler(metric="score", mode="max", max_t=epochs, reduction_factor=reduction)
        self._trials: dict[int, Trial] = {}

    def begin(self, number: int, space: RecordedSpace) -> Point:
        """A recorded trial at random."""
        trial = self._trials[number] = Trial("recorded", trial_id=f"{number:05d}", stub=True)
        self._scheduler.on_trial_add(None, trial)
        return space.sample(self._source)

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        """Unless the scheduler stops it."""
        answer = self._scheduler.on_trial_result(None, self._trials[number], self._result(epoch, score))
        return answer == TrialScheduler.CONTINUE

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        """A whole trial reports its last epoch, at which the scheduler stops it."""
        if not stopped:
            result = self._result(len(scores), scores[-1])
            assert len(scores) < self._epochs or (
                self._scheduler.on_trial_result(None, self._trials[number], result) == TrialScheduler.STOP
            )
        del self._trials[number]

    def _result(self, epoch: int, score: float) -> dict[str, float]:
        return {"training_iteration": epoch, "score": score}
