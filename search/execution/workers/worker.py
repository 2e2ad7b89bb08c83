"""The worker that trains the network of a trial. Shapes: R lanes (copies of the network, one per seed), S sentences of
the test split, C counts per sentence.
"""

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.files import load_sent
from skipstack.data.corpora.config import DataConfig, TokenVectors
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.vectors import open_vectors
from skipstack.data.tasks.measure import Counts
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.shared import apart_on_cpu
from skipstack.models.ground.device import CAPTURED, choose_device
from skipstack.models.ground.device_memory import limit_memory
from skipstack.models.kernels.choice import decided, in_a_line
from skipstack.models.networks.build import Sizes
from skipstack.models.networks.trained import lane_of, trained
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.checkpoint import Tensors, read_tensors
from skipstack.models.training.evaluate import evaluate
from skipstack.models.training.graphs import CudaGraphs
from skipstack.models.training.loop import EpochReport, Training, dtype_of
from skipstack.models.training.together import Part, Run, Together
from skipstack.search.execution.driver.faults import TimeOverError, WeightsLostError
from skipstack.search.execution.workers.trial_files import TrialFiles
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.record.folder import BEST, CHECKPOINT, GROUP
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker
from skipstack.spaces.trial import TrialConfig, as_network

LOG = logging.getLogger(__name__)

WIDEST_FUSED_ON_CPU = 256
"""Largest number of hidden units for which a CPU trains all lanes faster in one batch than one after another."""


class TrainingWorker(Worker):
    """Trains the lanes of a trial and writes two files: a checkpoint of the latest epoch, and the best epoch's weights.

    Training depends only on the config and the seeds. So an epoch that is repeated after a crash gives the same result
    (on a GPU, up to the last bits). An epoch that was trained but not reported is read from the checkpoint. If seeds
    race (train in groups, one after another), each group after the first has its own two files. After the last epoch of
    such a group, the group's best weights are appended to the best weights of earlier groups.

    ``together``: joins trials of this process that can train as one batched program. A trial trains by itself if
    ``together`` is None, or if it has a time limit, since an epoch of the program takes the time of all its lanes. On a
    CPU, a trial also trains by itself if its results in a shared program might differ in any bit.
    """

    def __init__(self, task: TrialTask, together: Together | None = None) -> None:
        super().__init__(task)
        config, device = _begun(task)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("kernels: %s", in_a_line(device))
        corpus = corpus_of(stored_in(task), config.data, task.vectors)
        runs = [
            Run(
                model=config.model,
                training=config.training,
                corpus=corpus,
                seeds=seeds,
                order_seed=task.order_seed,
                device=device,
                graphs=partial(CudaGraphs, device) if task.device == CAPTURED else None,
                beside=number,
            )
            for number, seeds in enumerate(lane_groups(task, device))
        ]
        if task.time_left is not None or not _may_share(config, device):
            together = None
        self.groups = [run.program([run]) for run in runs] if together is None else []
        self.parts = [] if together is None else [together.join(run) for run in runs]
        self._running: Sequence[Training | Part] = self.groups or self.parts
        folder = task.folder / GROUP.format(len(task.earlier)) if task.earlier else task.folder
        self.files = TrialFiles(folder, task.attempt)
        self.reported = task.reported
        self._time_left = math.inf if task.time_left is None else task.time_left
        self.unreported: EpochResult | None = None
        self.best_score = -math.inf
        try:
            self._resume()
        except BaseException:  # nobody closes a worker that could not be made
            self.close()
            raise

    def run_epoch(self) -> EpochResult:
        """Train the next epoch that is not in the ledger, and return its result. If it was trained already but not
        reported, only return its result. Without a checkpoint, first train the earlier epochs again. Raises
        TimeOverError if the epoch exceeds the time left. Raises OutOfSpaceError or DiskLostError if the epoch's
        weights cannot be written. After such an error, another worker can continue from the trial's files.
        """
        self.reported += 1
        result, self.unreported = self.unreported, None
        while result is None or result.epoch < self.reported:
            result = self._train_epoch()
        self._time_left -= result.seconds
        if self.task.earlier and result.epoch == self.task.config.epochs:
            self._join_best()
        return result

    def _train_epoch(self) -> EpochResult:
        started, left = time.perf_counter(), self._time_left if self._is_next() else math.inf

        def tick() -> None:
            if time.perf_counter() - started > left:
                raise TimeOverError(f"an epoch takes longer than the {left:.1f} s left of search.time_limit")

        reports = [group.run_epoch(tick) for group in self._running]
        result = _joined(reports)
        if result.score > self.best_score:
            self.best_score = result.score
            self._write_best(result)
        self._write_checkpoint(result)
        return result

    def _is_next(self) -> bool:
        """Whether the next epoch is not in the ledger. The time limit applies only to such epochs."""
        return self._running[0].epoch + 1 == self.reported

    def _write_best(self, result: EpochResult) -> None:
        states = [group.weights() for group in self._running]
        # In host memory, since GPU memory may be too small for a second copy of all weights.
        weights_R = {name: torch.cat([state[name].cpu() for state in states]) for name in states[0]}
        notes = {"epoch": result.epoch, "score": result.score, "identity": self.task.config.identity}
        self.files.write(BEST, weights_R, notes)

    def _join_best(self) -> None:
        """Append the best weights of this group of racing seeds to the earlier groups' weights. Can be repeated."""
        found = self.files.read(BEST)
        if found is None:
            return  # no epoch had a score
        further_R, _ = found
        weights_R, notes = read_tensors(self.task.folder / BEST)
        earlier = len(self.task.earlier)
        both_R = {name: torch.cat([weights_R[name][:earlier], further_R[name]]) for name in weights_R}
        TrialFiles(self.task.folder, self.task.attempt).write(BEST, both_R, notes)

    def _write_checkpoint(self, result: EpochResult) -> None:
        tensors = {
            f"{number}.{name}": tensor
            for number, group in enumerate(self._running)
            for name, tensor in group.state_dict().items()
        }
        lanes = [[lane.seed for lane in group.lanes] for group in self._running]
        notes = {**self._notes(), "lanes": lanes, "best_score": self.best_score, "result": asdict(result)}
        self.files.write(CHECKPOINT, tensors, notes)

    def _resume(self) -> None:
        """Continue from the checkpoint if there is one that fits. Otherwise the trial starts again, but reports only
        epochs that are not in the ledger.

        A checkpoint must be of this trial, and all its epochs except perhaps the last must be in the ledger. The file
        of the best weights must not be older than the checkpoint, as it can be after a power cut. The lanes may be
        grouped differently than in this worker, since the groups depend on the device.
        """
        found = self.files.read(CHECKPOINT)
        if found is None:
            return
        tensors, notes = found
        result = _result_from_json(notes["result"])
        if {name: notes[name] for name in self._notes()} != self._notes() or result.epoch > self.reported + 1:
            return
        best = self.files.read(BEST)
        if notes["best_score"] > (-math.inf if best is None else best[1]["score"]):
            return
        if [seed for seeds in notes["lanes"] for seed in seeds] != list(self.task.seeds):
            return
        states = _regrouped(tensors, len(notes["lanes"]), [len(group.lanes) for group in self._running])
        for group, state in zip(self._running, states, strict=True):
            group.load_state_dict(state)
        self.best_score = notes["best_score"]
        if result.epoch > self.reported:
            self.unreported = result

    def _notes(self) -> dict[str, Any]:
        """The notes in which a checkpoint must agree with this worker, besides the seeds, to be loaded."""
        return {"identity": self.task.config.identity, "order_seed": self.task.order_seed}

    def close(self) -> None:
        """Leave the program that this trial shares with others, if it shares one."""
        for part in self.parts:
            part.leave()

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        """Measure each lane with the weights of the trial's best epoch on the test split, and return scores, losses and
        each sentence's counts. The ranking measure is computed from the sums of these counts, and so agrees with the
        counts bit for bit. Raises WeightsLostError if the weights are missing, damaged, or of another epoch.
        """
        config, device = _begun(task)
        corpus = evaluated_corpus(stored_in(task), config.data, task.vectors)
        try:
            weights_R = best_weights(task.folder, epoch=task.best)
        except UserError as error:
            raise WeightsLostError(str(error)) from error
        lexicon = LexiconTensors.on(device, corpus.lexicon)
        evaluations = []
        for lane in range(len(task.seeds)):
            model = trained(
                config.model,
                sizes=Sizes.of_corpus(corpus),
                weights=lane_of(weights_R, lane),
                dtype=dtype_of(config.training),
                device=device,
            )
            evaluations.append(evaluate(model, corpus.stored, "test", lexicon, lanes=1))
        measure = evaluations[0].measure
        counts_RSC = np.concatenate([evaluation.sentences_RSC for evaluation in evaluations])
        metrics: Metrics = {
            "test_accuracy": tuple(evaluation.accuracy[0] for evaluation in evaluations),
            **_curves("test", [counts for evaluation in evaluations for counts in evaluation.counts]),
            f"test_{measure.name}": tuple(measure.of_counts(counts_RSC.sum(axis=1)).tolist()),
            "test_loss": tuple(evaluation.loss[0] for evaluation in evaluations),
        }
        return Measured(metrics=metrics, sentences=SentenceCounts.of(counts_RSC, measure.counted))


def _regrouped(tensors: Tensors, before: int, lanes: Sequence[int]) -> list[dict[str, torch.Tensor]]:
    """Regroup the lanes in the tensors of a checkpoint. Tensors without a lane axis are the same in every group.
    ``before``: the number of groups in the checkpoint, whose tensors are named ``0.name``, ``1.name`` and so on.
    ``lanes``: the number of lanes of each new group.
    """
    first = [name.removeprefix("0.") for name in tensors if name.startswith("0.")]
    groups: list[dict[str, torch.Tensor]] = [{} for _ in lanes]
    for name in first:
        own = [tensors[f"{number}.{name}"] for number in range(before)]
        parts = torch.split(torch.cat(own), list(lanes)) if own[0].dim() else own[:1] * len(lanes)
        for group, part in zip(groups, parts, strict=True):
            group[name] = part
    return groups


def _may_share(config: TrialConfig, device: torch.device) -> bool:
    """Whether a trial may share a program. On a CPU, it may if its results are then the same bit for bit. On a GPU, it
    always may, although the last bits may differ.
    """
    if device.type != "cpu":
        return True
    compiled = decided("lstm", device.type, dtype_of(config.training)).kernels == "compiled"
    return compiled and apart_on_cpu(config.model, config.training) is None


def _begun(task: TrialTask) -> tuple[TrialConfig, torch.device]:
    """Set up this process for a trial, and return the trial's config and device."""
    load_sent(task.code)
    torch.set_num_threads(1)  # one core per trial, and the same sums on every machine
    device = choose_device(task.device)
    limit_memory(device, task.gpu_share)
    return as_network(task.config), device


def best_weights(folder: Path, identity: str | None = None, epoch: int | None = None) -> dict[str, torch.Tensor]:
    """The weights of all lanes at the best epoch of the trial in ``folder``. Raises UserError if they are missing,
    damaged, or not of the config ``identity`` and the ``epoch``; None allows any.
    """
    path = folder / BEST
    weights_R, notes = read_tensors(path)
    if not {"epoch", "score", "identity"} <= notes.keys() or identity not in (None, notes["identity"]):
        got, allowed = notes.get("identity", "another file"), identity or "what it left"
        raise UserError(f"{path}: not the best weights of this trial (got {got}; allowed: {allowed})")
    if epoch not in (None, notes["epoch"]):
        raise UserError(f"{path}: got the weights of epoch {notes['epoch']} (allowed: of its best, epoch {epoch})")
    return weights_R


def lane_groups(task: TrialTask, device: torch.device) -> list[tuple[int, ...]]:
    """Split the trial's seeds into groups of ``task.lanes``, each trained in one batch. ``auto`` means one group on a
    GPU. On a CPU, it means one group for up to ``WIDEST_FUSED_ON_CPU`` hidden units, otherwise a group per seed.
    """
    together = task.lanes
    if together == "auto":
        fused = device.type == "cuda" or as_network(task.config).model.stack.hidden <= WIDEST_FUSED_ON_CPU
        together = len(task.seeds) if fused else 1
    return [task.seeds[start : start + together] for start in range(0, len(task.seeds), together)]


def stored_in(task: TrialTask) -> Path:
    """The folder of the prepared corpus of a network's trial."""
    assert task.corpus is not None, "a network reads a corpus"
    return task.corpus


@lru_cache(maxsize=4)
def corpus_of(store: Path, data: DataConfig, vectors: Path | None = None) -> PreparedCorpus:
    """The prepared corpus in the folder ``store``, read according to ``data``. Cached, since a process may train many
    trials. ``vectors``: the folder of the vectors that the config names.
    """
    return prepare(open_store(store), data, LONGEST_AFFIX, vectors=None if vectors is None else open_vectors(vectors))


def evaluated_corpus(store: Path, data: DataConfig, vectors: Path | None) -> PreparedCorpus:
    """The prepared corpus for a trained network. The weights of such a network include pretrained vectors of words, so
    only vectors of tokens are read.
    """
    return corpus_of(store, data, vectors if isinstance(data.vectors, TokenVectors) else None)


def _joined(reports: Sequence[EpochReport]) -> EpochResult:
    """Join the reports of all groups of lanes into one result. If any lane's loss is not finite, the score is NaN."""
    metrics: dict[str, tuple[float, ...]] = {
        "train_loss": tuple(value for report in reports for value in report.train_loss),
        "dev_loss": tuple(value for report in reports for value in report.dev_loss),
        "dev_accuracy": tuple(value for report in reports for value in report.dev_accuracy),
        **_curves("dev", [counts for report in reports for counts in report.dev_counts]),
        "learning_rate": tuple(value for report in reports for value in report.learning_rate),
    }
    diverged = not all(map(math.isfinite, (*metrics["train_loss"], *metrics["dev_loss"])))
    score = math.nan if diverged else fmean(value for report in reports for value in report.dev_score)
    seconds, latency = sum(report.seconds for report in reports), fmean(report.latency for report in reports)
    return EpochResult(epoch=reports[0].epoch, score=score, metrics=metrics, seconds=seconds, latency=latency)


def _curves(split: str, counts_R: Sequence[Counts]) -> Metrics:
    """The further metrics that the ranking measure computes from each lane's counts. ``split``: their names' prefix."""
    curves_R = [counts.curves() for counts in counts_R]
    return {f"{split}_{name}": tuple(curves[name] for curves in curves_R) for name in curves_R[0]}


def _result_from_json(notes: Mapping[str, Any]) -> EpochResult:
    metrics = {name: tuple(values) for name, values in notes["metrics"].items()}
    return EpochResult(**{**notes, "metrics": metrics})
