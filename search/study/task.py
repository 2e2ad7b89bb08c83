"""Tasks and results of workers. They are plain values, so that they can be sent to any process."""

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
    """The task of a worker: train or continue one trial, or measure it on the test split.

    ``number``: the trial's number. ``seeds``: the seeds to train; with ``replicates``, the numbers of the function's
    calls. ``order_seed``: the seed of the study, which determines the order of batches. ``lanes``: the number of seeds
    to train in one batch; with ``auto``, the worker chooses it. ``folder``: the folder of the trial's weights.
    ``corpus``, ``vectors``: the folders of the prepared corpus and of the pretrained vectors; None if the trial reads
    none. ``reported``: the number of epochs of these seeds in the ledger; the next result is of the epoch after these.

    ``earlier``: if seeds race (are trained in groups, one after another), the seeds of earlier groups. ``attempt``: how
    often the trial was started or continued, including this time. Once a later attempt has begun, an abandoned worker
    writes nothing. ``share``: the trial's share of the device, as a multiple of the share of an ordinary trial.
    ``time_left``: the seconds that the trial may still train; None means no limit. ``gpu_share``: the fraction of a
    GPU's memory that the trial's process may use; None means no limit. ``best``: the epoch of the weights to measure on
    the test split; None means the weights in the file, of whatever epoch.

    ``code``: the files of the user's code that the network needs, with the content that this process loaded.
    ``replicates``: the replicates of each seed of a function. ``objectives``: the names of the objectives that a
    function reports, the score first; empty if the study states no directions for them. ``scores``: for a function, the
    trial's scores at the epochs in the ledger.
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
    """Create the task to train or test a trial of the study ``record``. ``folder``: the study's folder. ``trial``: the
    record of the trial; None if it has not started. The other arguments are those of ``TrialTask``.
    """
    corpus, vectors = record.read_by(config), record.vectors_of(config)
    limit = record.study.search.time_limit
    return TrialTask(
        number=number,
        config=config,
        seeds=seeds,
        order_seed=record.study.search.seed,
        lanes=record.study.search.lanes,
        # The paths are absolute, since a worker in another process may have another working directory.
        corpus=None if corpus is None else folder.stored(corpus).resolve(),
        folder=folder.trial(number).resolve(),
        device=device,
        reported=0 if trial is None else len(trial.reports),
        vectors=None if vectors is None else folder.stored(vectors).resolve(),
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
    """Create the task to start or continue trial ``number``. ``group``: if seeds race, the group to train now."""
    trial = record.trials[number]
    task = trial_task(record, folder, trial.config, number=number, seeds=trial.seeds, device=device, trial=trial)
    if group is None:
        return task
    seeds, earlier = tuple(group), tuple(range(record.study.search.lane_seeds.start, group.start))
    reported = sum(report.seeds == seeds for report in trial.reports)
    return replace(task, seeds=seeds, earlier=earlier, reported=reported)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochResult:
    """The result of one epoch of a trial.

    ``epoch``: its number, from 1. ``score``: for a network, the mean over the lanes of the measure on dev, such as
    accuracy or F1. For a function, it is the mean of the values that its calls reported, negated if lower values are
    better. A lane is one seed's copy of the network, or one call of the function. ``seconds``: the seconds of training
    and evaluation. ``latency``: the seconds in which one lane reads 1,000 tokens of dev; None if it was not measured.
    ``usage``: the worker's use of its machine; None if it was not measured.
    """

    epoch: int
    score: float
    metrics: Metrics
    seconds: float
    latency: float | None = None
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The metrics of a trial's best weights on the test split, and the measure's counts for each sentence."""

    metrics: Metrics
    sentences: SentenceCounts | None = None


class Workers(Protocol):
    """Creates workers that train trials, and measures trained weights on the test split."""

    def __call__(self, task: TrialTask) -> "Worker":
        """Create a worker for a trial."""

    def test(self, task: TrialTask) -> Measured:
        """Measure the trial's best weights on the test split. Raises WeightsLostError if they are lost."""


class Worker(ABC):
    """Trains one trial, one epoch for each call of ``run_epoch``, in any process. A new worker for the same trial
    returns the epochs after those in the ledger.
    """

    def __init__(self, task: TrialTask) -> None:
        self.task = task

    @abstractmethod
    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch that is not in the ledger, and return its result; None if the trial is complete."""

    def close(self) -> None:  # noqa: B027 (a worker that trains in this process has nothing to release)
        """Release the worker's resources. Call this when the trial has ended, or continues in another worker."""
