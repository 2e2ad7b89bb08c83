"""What a worker is given and what it gives back: plain values that travel to any process."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from skipstack.data.basis.own_code import CodeSource, sources
from skipstack.search.ledger.event_values import Usage
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.spaces.subject import Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialTask:
    """A trial to train, or to go on with.

    ``reported``: epochs that the ledger already has; the next result is for the epoch after them. ``corpus``: the
    folder of the store, if the trial reads one of ours; ``vectors``: that of the pretrained vectors, if there are some.
    ``folder``: where the trial keeps its weights. ``earlier``: seeds that the trial has already, where they race: these
    ``seeds`` are trained beside them, and ``reported`` is theirs alone. ``attempt``: counts the workers that took the
    trial up; one that was given up on writes nothing once a later one has begun. ``share``: of the device, as a
    multiple of an ordinary trial's. ``time_left``: seconds that the trial may still train, ``memory_limit``: bytes of a
    GPU that its tensors may take; None: any. ``code``: the files of its network's own code, as this process
    loaded them.
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
    memory_limit: int | None = None
    code: tuple[CodeSource, ...] = ()


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
    """What a worker needs to train or to test a trial of a study. ``trial``: what happened of it, if anything did."""
    corpus, vectors = record.read_by(config), record.vectors_of(config)
    limit = record.study.search.time_limit
    return TrialTask(
        number=number,
        config=config,
        seeds=seeds,
        order_seed=record.study.search.seed,
        lanes=record.study.search.lanes,
        # A worker of another process has another working directory.
        corpus=None if corpus is None else folder.corpus(corpus).resolve(),
        folder=folder.trial(number).resolve(),
        device=device,
        reported=0 if trial is None else len(trial.reports),
        vectors=None if vectors is None else folder.vectors(vectors).resolve(),
        attempt=1 if trial is None else trial.starts,
        share=1 if trial is None else trial.share,
        code=sources(config.network_code),
        time_left=None if limit is None else limit - (0.0 if trial is None else trial.seconds),
    )


def task_of(
    record: StudyRecord, folder: StudyFolder, number: int, *, device: str, group: range | None = None
) -> TrialTask:
    """What a worker needs to go on with a trial; ``group``: the seeds that it trains now, where they race."""
    trial = record.trials[number]
    task = trial_task(record, folder, trial.config, number=number, seeds=trial.seeds, device=device, trial=trial)
    if group is None:
        return task
    seeds, earlier = tuple(group), tuple(range(record.study.search.first_seed, group.start))
    reported = sum(report.seeds == seeds for report in trial.reports)
    return replace(task, seeds=seeds, earlier=earlier, reported=reported)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochResult:
    """One epoch of a trial, counted from 1. The score is the mean over the lanes of their dev accuracy, or F1, or of
    what a function reported.

    ``latency``: seconds that reading 1,000 tokens of dev took one lane; ``usage``: what the worker took of its machine.
    Each is None where nobody measured it.
    """

    epoch: int
    score: float
    metrics: Metrics
    seconds: float
    latency: float | None = None
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What the best weights of a trial reach on the test split, and what was counted of each sentence of it."""

    metrics: Metrics
    sentences: SentenceCounts | None = None


class Workers(Protocol):
    """What makes workers, and measures on test what they left: a class of workers, or one that knows more."""

    def __call__(self, task: TrialTask) -> "Worker":
        """A worker for a trial."""

    def test(self, task: TrialTask) -> Measured:
        """What the trial's best weights reach on the test split. Raises WeightsLostError where they are lost."""


class Worker(ABC):
    """Trains one trial, an epoch a call. Any process may hold one; a new one goes on where the last one was."""

    def __init__(self, task: TrialTask) -> None:
        self.task = task

    @abstractmethod
    def run_epoch(self) -> EpochResult | None:
        """The result of the next epoch that the ledger does not have; None where there is none: the trial is whole."""

    def close(self) -> None:  # noqa: B027 (what trains here is let go of with the worker)
        """The trial goes on no more, or not here."""

    @classmethod
    @abstractmethod
    def test(cls, task: TrialTask) -> Measured:
        """What the trial's best weights reach on the test split. Raises WeightsLostError where they are lost."""
