"""Workers that train nothing: their curves are a function of the config, so that a study takes almost no time."""

import math
import time
from pathlib import Path

import numpy as np

from skipstack.data.basis.frozen import identity
from skipstack.data.basis.seeding import generator
from skipstack.data.health.health import Health
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import CorpusPrepared, Metrics, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.earlier_studies.warm_start import earlier_studies, warm_starts
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.trial import TrialConfig


class ToyWorker(Worker):
    """A worker whose accuracy rises towards a maximum by depth and learning rate; lanes differ slightly."""

    def __init__(self, task: TrialTask) -> None:
        super().__init__(task)
        self.epoch = task.reported

    def run_epoch(self) -> EpochResult:
        self.epoch += 1
        peak = 0.9 - 0.02 * self.task.config.model.stack.depth
        peak -= 0.05 * abs(math.log10(self.task.config.training.optimiser.learning_rate) + 2)
        accuracy = tuple(
            peak * (1 - 0.5**self.epoch) + 0.01 * generator(seed, self.task.config.identity, self.epoch).random()
            for seed in self.task.seeds
        )
        metrics: Metrics = {"dev_accuracy": accuracy, "train_loss": tuple(1 - value for value in accuracy)}
        return EpochResult(epoch=self.epoch, score=sum(accuracy) / len(accuracy), metrics=metrics, seconds=0.0)

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        """Return the counts of four sentences of 25 tags. About half of them are correct, one more for each further
        seed.
        """
        counts = np.array([[[12 + seed, 25], [12, 25], [13, 25], [13, 25]] for seed in task.seeds])
        accuracies = tuple((counts.sum(axis=1)[:, 0] / 100).tolist())
        sentences = SentenceCounts.of(counts, ("correct", "tags"))
        return Measured(metrics={"test_accuracy": accuracies}, sentences=sentences)


class KeepingWorker(ToyWorker):
    """A worker that writes its config's identity and its epoch as its best weights."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        self.task.folder.mkdir(parents=True, exist_ok=True)
        (self.task.folder / BEST).write_text(f"{self.task.config.identity} {result.epoch}")
        return result


class FailingWorker(ToyWorker):
    """A worker that fails in its first epoch with depth 3, and diverges in its second with depth 2."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if self.task.config.model.stack.depth == 3:
            raise RuntimeError("out\nof luck")
        if result.epoch == 2 and self.task.config.model.stack.depth == 2:
            return EpochResult(epoch=2, score=math.nan, metrics=result.metrics, seconds=0.0)
        return result


def toy_study(trials: int = 12, proposer: str = "tpe", epochs: int = 4) -> StudyConfig:
    model = {"stack": {"kind": "recurrent", "depth": 1, "hidden": 8}}
    base = TrialConfig.model_validate({"model": model, "training": {"epochs": epochs}})
    axes = {"model.stack.depth": Axis(choice=(1, 2, 3)), "training.optimiser.learning_rate": Axis(log=(1e-4, 1.0))}
    if proposer == "grid":
        axes["training.optimiser.learning_rate"] = Axis(choice=(0.001, 0.02, 0.1))
    search = SearchConfig.model_validate(
        {"proposer": proposer, "trials": trials, "scheduler": AshaConfig(grace=1, reduction=2).model_dump()}
    )
    return StudyConfig(name="toy", space=SpaceConfig(base=base, axes=axes), search=search)


def open_toy(path: Path, study: StudyConfig, fingerprint: str = "f" * 16, health: Health | None = None) -> StudyFolder:
    """Create a study's folder with a ledger that begins it, including earlier studies. ``health``: the health of its
    corpus.
    """
    folder = StudyFolder(path)
    opened = StudyOpened(time=1.0, study=study.model_dump(mode="json"), code_version="toy")
    corpus = identity(study.space.base.data.corpus)
    prepared = CorpusPrepared(
        time=1.0,
        corpus=corpus,
        fingerprint=fingerprint,
        store="none",
        baseline_dev=0.3,
        baseline_test=0.25,
        health=health,
    )
    warm = warm_starts(study, earlier_studies(study, path.parent), [prepared], 1.0)
    with Ledger(folder.ledger) as ledger:
        ledger.append(opened, prepared, *warm)
    return folder


def toy_driver(folder: StudyFolder, ledger: Ledger, **options: object) -> Driver:
    return Driver(folder, ledger, device="cpu", clock=time.time, **options)  # type: ignore[arg-type]


def run_toy(
    folder: StudyFolder, ledger: Ledger | None = None, *, worker: Workers = ToyWorker, **options: object
) -> StudyRecord:
    """Run the rest of a study, one trial after another. ``options``: options of the driver."""
    with ledger or Ledger(folder.ledger) as own:
        driver = toy_driver(folder, own, **options)
        run_study(driver, SerialEngine(worker))
    return driver.record
