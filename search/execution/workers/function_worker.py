"""Workers that call a user's function for each seed, or each replicate of a seed. All calls advance epoch by epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean
from typing import final

from skipstack.data.tasks.measure import Measure
from skipstack.search.execution.workers.reporting import Objective, ReportError, SeedReport, TrackedRuns, no_run
from skipstack.search.execution.workers.seed_run import SeedRun
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from skipstack.spaces.function import FunctionConfig


@final
@dataclass(frozen=True)
class FunctionWorkers(Workers):
    """Creates workers that call ``function``, a user's function, which is sent to the workers' processes. ``cpus``: the
    number of CPUs of each trial; None if it may use the whole machine. ``runs``: the study's runs in MLflow.
    """

    function: Objective
    cpus: int | None = None
    runs: TrackedRuns = no_run

    def __call__(self, task: TrialTask) -> Worker:
        """Create a worker that calls the function for a trial."""
        return FunctionWorker(task, self.function, self.cpus, self.runs)

    def test(self, task: TrialTask) -> Measured:
        """Raise NotImplementedError. Never called, since a user's function reports its test score itself."""
        raise NotImplementedError


@final
class FunctionWorker(Worker):
    """Calls a user's function once for each seed of a trial. The score of an epoch is the mean over the seeds. Once the
    call of a seed has returned, its last report also counts in later epochs. A new worker starts all calls again: a
    function continues only if it restores its checkpoint or its own saved state. Epochs in the ledger are not reported
    again.
    """

    def __init__(self, task: TrialTask, function: Objective, cpus: int | None, runs: TrackedRuns) -> None:
        super().__init__(task)
        assert isinstance(task.config, FunctionConfig), "a study of a function is run with it"
        self._measure = task.config.measure
        values = task.config.values
        self._runs = [SeedRun(function, values, task, each, cpus, runs(task, each)) for each in task.seeds]
        self._epoch = task.reported + 1

    def run_epoch(self) -> EpochResult | None:
        """Advance all calls by an epoch, and return its result; None if all calls have returned already. Raises
        ReportError if a call has returned without any report, and the errors of ``joined``.
        """
        for run in self._runs:
            while not run.returned and _epoch(run.latest) < self._epoch:
                run.advance()
        if all(_epoch(run.latest) < self._epoch for run in self._runs) and self._epoch > 1:
            return None
        latest = [_last(run) for run in self._runs]
        now = [each for each in latest if each.epoch == self._epoch]
        result = joined(self._measure, self._epoch, now, latest)
        for run in self._runs:
            run.models.scored(result.epoch, result.score)
        self._epoch += 1
        return result

    def close(self) -> None:
        """End all calls that wait to be resumed (``SeedRun.close``)."""
        for run in self._runs:
            run.close()


def joined(measure: Measure, epoch: int, now: Sequence[SeedReport], latest: Sequence[SeedReport]) -> EpochResult:
    """Join the reports of all seeds into the result of an epoch. If any seed's score is not finite, the joint score is
    NaN. ``measure``: converts the mean of the function's scores to the trial's score. ``now``: the reports of this
    epoch, whose seconds count. ``latest``: the last report of each seed. Raises ReportError if a seed has reported a
    later epoch.
    """
    if ahead := [each.epoch for each in latest if each.epoch > epoch]:
        raise ReportError(
            f"report(epoch=...): got {ahead[0]} where {epoch} is due (allowed: to save the state of a function only "
            "after a report has returned)"
        )
    scores = [each.score for each in latest]
    told = [name for name in latest[0].metrics if all(name in each.metrics for each in latest)]
    return EpochResult(
        epoch=epoch,
        score=measure.score(fmean(scores)) if all(map(isfinite, scores)) else nan,
        metrics={
            "dev_score": tuple(scores),
            **{name: tuple(each.metrics[name] for each in latest) for name in told},
        },
        seconds=sum(each.seconds for each in now),
    )


def _epoch(latest: SeedReport | None) -> int:
    return 0 if latest is None else latest.epoch


def _last(run: SeedRun) -> SeedReport:
    if run.latest is None:
        raise ReportError(
            "the function returned without a report (allowed: report(score=...), once or more, or to return a score)"
        )
    return run.latest
