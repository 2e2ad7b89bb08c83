"""Searches of a planted function in which a change and the learning rate depend on each other, ablated as they are and
tuned again: how often the change is said to earn its place.
"""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.models.configs.model import StackConfig
from skipstack.search.analysis.ablation.experiment import Experiment, arm_of
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.rounds import next_part
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from skipstack.spaces.trial import as_network
from tests.search.analysis.ablation.toys import beginning, made, run_ablation
from tests.search.toy import open_toy, run_toy, toy_study

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"
TRIALS, SEEDS = 20, 5
SENTENCES, TAGS = 100, 10


@dataclass(frozen=True)
class Planted:
    """A function of depth and learning rate. ``gain``: what a second layer adds, each depth at its best rate.
    ``apart``: how many powers of ten the best rates of the two depths lie apart. ``studies``: the number of searches.
    """

    name: str
    gain: float
    apart: float
    studies: int = 120

    def accuracy(self, depth: int, rate: float) -> float:
        """The expected accuracy."""
        best = -2.0 + (self.apart if depth == 1 else 0.0)
        return 0.8 - 0.04 * (math.log10(rate) - best) ** 2 + (self.gain if depth == 2 else 0.0)


PLANTED = (
    Planted("no gain, rates one power of ten apart", 0.0, 1.0, studies=240),
    Planted("no gain, the same rates", 0.0, 0.0),
    Planted("a gain of 4 points, rates one power of ten apart", 0.04, 1.0),
)


@dataclass(frozen=True)
class Ablated:
    """Of studies whose best config has the second layer, the share in which it is marked to help: against the winner
    without it, and alone beside the base, in ``plain`` ablations and ``tuned`` ones. ``studies``: their number.
    """

    studies: int
    plain: float
    tuned: float


def marked(planted: Planted, studies: int | None = None, *, source: int = 0) -> Ablated:
    """Search, and ablate in both ways, with planted scores. ``studies``: None means ``planted.studies``."""
    worker = _worker(planted)
    found = [_one(worker, source + seed) for seed in range(studies or planted.studies)]
    told = [each for each in found if each is not None]
    plain, tuned = (float(np.mean([each[way] for each in told])) for way in (0, 1))
    return Ablated(len(told), plain, tuned)


def _one(worker: Workers, seed: int) -> tuple[bool, bool] | None:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "study"
        tree: dict[str, Any] = toy_study(TRIALS, epochs=1).model_dump(mode="json")
        tree["space"]["axes"] = {DEPTH: {"choice": [1, 2]}, RATE: {"log": [1e-4, 1.0]}}
        tree["search"] |= {"seed": seed, "first_seed": 100 * seed, "scheduler": {"kind": "none"}}
        run_toy(open_toy(path, StudyConfig.model_validate(tree)), worker=worker)
        if read_study(path).best.point[DEPTH] == 1:
            return None
        again = shutil.copytree(path, Path(scratch) / "again")
        plain = made(path, seeds=SEEDS)
        tuned = made(again, seeds=SEEDS, retune=TRIALS)
        arm = arm_of(read_study(again), tuned.plan, 0, time=2.0)
        return _helps(path, plain, worker), _helps(again, arm, worker)


def _helps(path: Path, planned: Experiment, worker: Workers) -> bool:
    """Run an ablation with all its parts, and say whether a row of the second layer is marked to help."""
    following: Experiment | None = planned
    while following is not None:
        run_ablation(path, following.number, beginning(path, following), worker=worker)
        following = next_part(read_study(path), time=2.0)
    record = read_study(path)
    whole = whole_ablations(record)[max(whole_ablations(record))]
    for row in ablated(whole).rows:
        if row.trial is None or row.gain is None or row.reference is None or not row.marked:
            continue
        ours, theirs = (whole.trials[number].point[DEPTH] for number in (row.trial, row.reference))
        if ours != theirs and (row.gain.value > 0) == (ours == 2):
            return True
    return False


def _worker(planted: Planted) -> Workers:
    class PlantedWorker(Worker):
        """Reports once, with a deviation between seeds, and is measured on sentences drawn tag by tag."""

        def run_epoch(self) -> EpochResult:
            scores = _scores(planted, self.task)
            metrics: Metrics = {"dev_accuracy": scores, "train_loss": tuple(1 - score for score in scores)}
            return EpochResult(epoch=1, score=float(np.mean(scores)), metrics=metrics, seconds=0.0)

        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            right = np.array(
                [
                    generator(seed, task.config.identity, "test").binomial(TAGS, score, SENTENCES)
                    for seed, score in zip(task.seeds, _scores(planted, task), strict=True)
                ]
            )
            counts = np.stack([right, np.full_like(right, TAGS)], axis=-1)
            accuracies = tuple((right.sum(axis=1) / (TAGS * SENTENCES)).tolist())
            sentences = SentenceCounts.of(counts, ("correct", "tags"))
            return Measured(metrics={"test_accuracy": accuracies}, sentences=sentences)

    return PlantedWorker


def _scores(planted: Planted, task: TrialTask) -> tuple[float, ...]:
    network = as_network(task.config)
    rate = network.training.optimiser.learning_rate
    assert isinstance(network.model.stack, StackConfig)
    expected = planted.accuracy(network.model.stack.depth, rate)
    drawn = (generator(seed, task.config.identity, "dev").normal(0.0, 0.01) for seed in task.seeds)
    return tuple(float(np.clip(expected + each, 0.0, 1.0)) for each in drawn)
