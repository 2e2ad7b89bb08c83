"""The tasks and results of workers, as plain values that can be sent to any process."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from skipstack.data.basis.user_code.configs import CodeSource, sources
from skipstack.search.ledger.events import Metrics, Usage
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.replicates import SEEDS_ALONE, Replicates
from skipstack.spaces.subject import Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialTask:
    """A trial to train or continue.

    ``reported``: the number of epochs in the ledger; the next result is for the epoch after them. ``corpus``: the
    folder of the prepared corpus, if the trial reads one; ``vectors``: that of the pretrained vectors, if any.
    ``folder``: the folder of the trial's weights. ``earlier``: racing seeds that the trial has trained before; then
    ``seeds`` are the next ones, and ``reported`` counts their epochs alone. ``attempt``: counts the workers of the
    trial; an abandoned one writes nothing once a later one has started. ``share``: of the device, as a multiple of an
    ordinary trial's. ``time_left``: seconds that the trial may still train, ``gpu_share``: the part of a GPU's memory
    that its process may take; None: no limit. ``best``: the epoch whose weights are measured; None: that of the file,
    whichever it is. ``code``: the files of its network's own code, as this process loaded them.
    ``replicates``: those of a function; with them, ``seeds`` are the numbers of its calls. ``objectives``: the names of
    what it reports, the score first; none if the score is all; ``scores``: those of its epochs in the ledger.
    """

    number: int
    config: Subject
    seeds: tuple[int, ...]
    order_seed: int
    lanes: int | Literal["auto"]
    folder: Path
    device: str
    corpus: Path | None = None
    reported: int = 0
    vectors: Path | None = None
    earlier: tuple[int, ...] = ()
    attempt: int = 1
    share: int = 1
    time_left: float | None = None
    gpu_share: float | None = None
    best: int | None = None
    code: tuple[CodeSource, ...] = ()
    replicates: Replicates = SEEDS_ALONE
    objectives: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()


def trial_task(
    record: StudyRecord,
    folder: StudyFolder,
    config: Subject,
    *,
    number: int,
    seeds: tuple[int, ...],
    device: str,
    trial: TrialRecord | None = None,
) -> TrialTask:
    """The task to train or test a trial of a study. ``trial``: its record so far, if there is one."""
    corpus, vectors = record.read_by(config), record.vectors_of(config)
    limit = record.study.search.time_limit
    return TrialTask(
        number=number,
        config=config,
        seeds=seeds,
        order_seed=record.study.search.seed,
        lanes=record.study.search.lanes,
        # A worker in another process has another working directory.
        corpus=None if corpus is None else folder.corpus(corpus).resolve(),
        folder=folder.trial(number).resolve(),
        device=device,
        reported=0 if trial is None else len(trial.reports),
        vectors=None if vectors is None else folder.vectors(vectors).resolve(),
        attempt=1 if trial is None else trial.starts,
        share=1 if trial is None else trial.share,
        code=sources(config.network_code),
        replicates=record.study.search.repeated,
        objectives=tuple(record.study.search.reported),
        scores=() if trial is None or config.keeps_weights else tuple(trial.reports.scores),
        time_left=None if limit is None else limit - (0.0 if trial is None else trial.seconds),
    )


def task_of(
    record: StudyRecord, folder: StudyFolder, number: int, *, device: str, group: range | None = None
) -> TrialTask:
    """The task to continue a trial; ``group``: the seeds to train now, if they race."""
    trial = record.trials[number]
    task = trial_task(record, folder, trial.config, number=number, seeds=trial.seeds, device=device, trial=trial)
    if group is None:
        return task
    seeds, earlier = tuple(group), tuple(range(record.study.search.lane_seeds.start, group.start))
    reported = sum(report.seeds == seeds for report in trial.reports)
    return replace(task, seeds=seeds, earlier=earlier, reported=reported)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochResult:
    """The result of an epoch of a trial, counted from 1. The score is the mean over the lanes of the measure on dev
    (such as accuracy or F1), or of a function's reports.


    ``latency``: seconds in which one lane reads 1,000 tokens of dev; ``usage``: the worker's use of its machine. Each
    is None if it was not measured.
    """

    epoch: int
    score: float
    metrics: Metrics
    seconds: float
    latency: float | None = None
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The results of a trial's best weights on the test split: metrics, and the measure's counts by sentence."""

    metrics: Metrics
    sentences: SentenceCounts | None = None


class Workers(Protocol):
    """Creates workers, and measures their weights on test: a worker class, or an object with more information."""

    def __call__(self, task: TrialTask) -> "Worker":
        """A worker for a trial."""

    def test(self, task: TrialTask) -> Measured:
        """Measure the trial's best weights on the test split. Raises WeightsLostError if they are lost."""


class Worker(ABC):
    """Trains one trial, one epoch per call. Any process may hold it; a new worker continues where the last one was."""

    def __init__(self, task: TrialTask) -> None:
        self.task = task

    @abstractmethod
    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch that the ledger does not have; None if there is none: the trial is complete."""

    def close(self) -> None:  # noqa: B027 (what trains here is let go of with the worker)
        """Stop: the trial has ended, or continues elsewhere."""
