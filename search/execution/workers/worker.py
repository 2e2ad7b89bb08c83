"""The worker that trains a trial: here the search uses the networks. Shapes: R lanes."""

import logging
import math
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
from skipstack.data.corpora.config import DataConfig
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
from skipstack.search.execution.driver.faults import WeightsLostError
from skipstack.search.execution.workers.deadline import Deadline
from skipstack.search.execution.workers.trial_files import TrialFiles
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.record.folder import BEST, CHECKPOINT, GROUP
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker
from skipstack.spaces.trial import TrialConfig, as_network

LOG = logging.getLogger(__name__)

WIDEST_FUSED_ON_CPU = 256
"""Hidden units up to which a CPU trains all lanes in one batch; wider ones are as fast one after another."""


class TrainingWorker(Worker):
    """Trains the lanes of a trial and writes two files: a checkpoint of the last epoch, and the best epoch's weights.

    Training depends only on the config and the seeds, so an epoch that is repeated after a crash gives the same result,
    and is reported once. An epoch that was trained but not reported is read from the checkpoint instead of being
    trained twice. Further groups of racing seeds have files of their own; after their last epoch their best weights are
    appended to those of the earlier seeds.

    ``together``: the trials of this process that train together where they fit. One with a time limit trains by itself,
    since the time of an epoch is that of all its lanes; so does one whose results together might differ in any bit.
    """

    def __init__(self, task: TrialTask, together: Together | None = None) -> None:
        super().__init__(task)
        load_sent(task.code)
        torch.set_num_threads(1)  # one core per trial, and the same sums on every machine
        device = choose_device(task.device)
        limit_memory(device, task.gpu_share)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("kernels: %s", in_a_line(device))
        config = as_network(task.config)
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
        if task.time_left is not None or not _is_as_by_itself(config, device):
            together = None
        self.groups = [run.program([run]) for run in runs] if together is None else []
        self.parts = [] if together is None else [together.join(run) for run in runs]
        self._running: Sequence[Training | Part] = self.groups or self.parts
        folder = task.folder / GROUP.format(len(task.earlier)) if task.earlier else task.folder
        self.files = TrialFiles(folder, task.attempt)
        self.reported = task.reported
        self.deadline = None if task.time_left is None else Deadline(task.time_left)
        self.unreported: EpochResult | None = None
        self.best_score = -math.inf
        self._resume()

    def run_epoch(self) -> EpochResult:
        """Train one epoch, or return the one that was trained but not reported.

        Raises TimeOverError if the time limit ends before the epoch, and OutOfSpaceError or DiskLostError if its
        weights cannot be written; then the files are those of the epoch before.
        """
        self.reported += 1
        result, self.unreported = self.unreported, None
        while result is None or result.epoch < self.reported:
            result = self._train_epoch()
        if self.deadline is not None:
            self.deadline.spend(result.seconds)
        if self.task.earlier and result.epoch == self.task.config.epochs:
            self._join_best()
        return result

    def _train_epoch(self) -> EpochResult:
        tick = _no_tick if self.deadline is None or not self._is_next() else self.deadline.begin()
        reports = [group.run_epoch(tick) for group in self._running]
        result = _joined(reports)
        if result.score > self.best_score:
            self.best_score = result.score
            self._write_best(result)
        self._write_checkpoint(result)
        return result

    def _is_next(self) -> bool:
        """Whether the ledger lacks the epoch to train; the time of others was counted before."""
        return self._running[0].epoch + 1 == self.reported

    def _write_best(self, result: EpochResult) -> None:
        states = [group.weights() for group in self._running]
        # On the host, since a GPU may have no room for all weights a second time.
        weights_R = {name: torch.cat([state[name].cpu() for state in states]) for name in states[0]}
        notes = {"epoch": result.epoch, "score": result.score, "identity": self.task.config.identity}
        self.files.write(BEST, weights_R, notes)

    def _join_best(self) -> None:
        """Append the best weights of these seeds to those of the earlier ones; idempotent."""
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
        notes = {**self._notes(), "lanes": lanes, "best_score": self.best_score, "result": _result_to_json(result)}
        self.files.write(CHECKPOINT, tensors, notes)

    def _resume(self) -> None:
        """Load the checkpoint if it is of this trial, the ledger has all its epochs except perhaps the last, and the
        best weights are not older (a power cut may have lost them alone).

        The checkpoint may have other groups of lanes, since these depend on the device. If it does not fit, the trial
        starts again and reports only the epochs that the ledger lacks.
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
        """The notes that a checkpoint must share with this worker to be loaded, besides the seeds of its lanes."""
        return {"identity": self.task.config.identity, "order_seed": self.task.order_seed}

    def close(self) -> None:
        """Leave the trials that train together with this one."""
        for part in self.parts:
            part.leave()

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        """The scores and the loss of each lane on the test split, with the weights of the trial's best epoch.

        The measure is computed from the sums of the counts by sentence, so both agree bit for bit.

        Raises WeightsLostError if the weights are missing, damaged, or those of an earlier epoch.
        """
        load_sent(task.code)
        torch.set_num_threads(1)
        device = choose_device(task.device)
        limit_memory(device, task.gpu_share)
        config = as_network(task.config)
        corpus = corpus_of(stored_in(task), config.data)
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
    """Regroup the states of ``before`` groups (``0.name``, ``1.name``, ...) into groups of so many ``lanes`` each.

    Tensors without a lane axis are the same in every group.
    """
    first = [name.removeprefix("0.") for name in tensors if name.startswith("0.")]
    groups: list[dict[str, torch.Tensor]] = [{} for _ in lanes]
    for name in first:
        own = [tensors[f"{number}.{name}"] for number in range(before)]
        parts = torch.split(torch.cat(own), list(lanes)) if own[0].dim() else own[:1] * len(lanes)
        for group, part in zip(groups, parts, strict=True):
            group[name] = part
    return groups


def _is_as_by_itself(config: TrialConfig, device: torch.device) -> bool:
    """Whether a trial gives the same bits in a shared program as by itself, as far as this device can."""
    if device.type != "cpu":
        return True
    compiled = decided("lstm", device.type, dtype_of(config.training)).kernels == "compiled"
    return compiled and apart_on_cpu(config.model, config.training) is None


def _no_tick() -> None:
    """The deadline check of a trial without a time limit."""


def best_weights(folder: Path, identity: str | None = None, epoch: int | None = None) -> dict[str, torch.Tensor]:
    """The weights of all lanes at the best epoch of the trial in ``folder``.

    Raises UserError if they are missing or damaged, if the file is another one, if ``identity`` is given and they
    belong to another config, and if ``epoch`` is and they are of another one.
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
    """The groups of seeds that are trained in one batch. ``auto`` joins all on a GPU, and narrow networks on a CPU."""
    together = task.lanes
    if together == "auto":
        fused = device.type == "cuda" or as_network(task.config).model.stack.hidden <= WIDEST_FUSED_ON_CPU
        together = len(task.seeds) if fused else 1
    return [task.seeds[start : start + together] for start in range(0, len(task.seeds), together)]


def stored_in(task: TrialTask) -> Path:
    """The folder of the corpus that a network reads."""
    assert task.corpus is not None, "a network reads a corpus"
    return task.corpus


@lru_cache(maxsize=4)
def corpus_of(store: Path, data: DataConfig, vectors: Path | None = None) -> PreparedCorpus:
    """The corpus in a store, read according to ``data``; cached for workers that train many trials.

    Pretrained vectors are needed only for training: saved weights include them.
    """
    return prepare(open_store(store), data, LONGEST_AFFIX, vectors=None if vectors is None else open_vectors(vectors))


def _joined(reports: Sequence[EpochReport]) -> EpochResult:
    """The joint report of all lanes, group by group; the score is NaN if the loss of any lane is not finite."""
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
    """The curves that the ranking measure records for each lane, by name."""
    curves_R = [counts.curves() for counts in counts_R]
    return {f"{split}_{name}": tuple(curves[name] for curves in curves_R) for name in curves_R[0]}


def _result_to_json(result: EpochResult) -> dict[str, Any]:
    return asdict(result)


def _result_from_json(notes: Mapping[str, Any]) -> EpochResult:
    metrics = {name: tuple(values) for name, values in notes["metrics"].items()}
    return EpochResult(**{**notes, "metrics": metrics})
