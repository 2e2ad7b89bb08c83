"""Measures the parameters, memory and time of configs on real batches, without training a trial or saving anything."""

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Literal, Self, final

import torch
from torch import Tensor

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.system import at_niceness, load_average, niceness, niceness_on_ray, usable_cpus
from skipstack.data.store.batches import Batch
from skipstack.models.ground.device import choose_device, clock
from skipstack.models.kernels.choice import in_a_line
from skipstack.models.networks.build import Sizes, build
from skipstack.models.training.evaluate import evaluated
from skipstack.models.training.loop import Training, dtype_of
from skipstack.search.api.planning.plan import Measurement, Meter, Room
from skipstack.search.execution.workers.worker import TrainingWorker, corpus_of, lane_groups, stored_in
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import TrialTask, trial_task
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig, as_network

UPDATES, READINGS = 5, 3
"""The maximum numbers of updates and of dev batches that are timed for each config."""


@dataclass(frozen=True, slots=True)
class _Some:
    """A sample of the batches of an epoch. ``count``: the number of all batches. ``timed``: a few representative
    batches. ``largest``: the batch with the most positions.
    """

    count: int
    timed: tuple[Batch, ...]
    largest: Batch

    @classmethod
    def of(cls, batches: Callable[[], Iterable[Batch]], timed: int) -> Self:
        """Sort the batches by their numbers of positions, cut them into ``timed`` equal runs, and sample the middle
        batch of each run. ``batches`` is called twice, so that only the sampled batches are kept in memory. Both calls
        must return the same batches.
        """
        positions = [batch.forms_RTB.size for batch in batches()]
        order = sorted(range(len(positions)), key=positions.__getitem__)
        amid = middles(order, timed)
        kept = {place: batch for place, batch in enumerate(batches()) if place in (*amid, order[-1])}
        return cls(len(order), tuple(kept[place] for place in amid), kept[order[-1]])


@final
class TrainingMeter(Meter):
    """Measures configs with the code that trains trials in workers. Raises UserError if the machine does not have
    ``device``.

    ``record``: the study's record, which names its prepared corpora. ``folder``: the study's folder. ``trials``: the
    number of trials that train together as one program, so that each takes a share of the program's seconds.
    """

    def __init__(self, record: StudyRecord, folder: StudyFolder, device: str, trials: int = 1) -> None:
        self.record = record
        self.folder = folder
        self.device = choose_device(device)
        self.trials = trials
        self._sizes: dict[str, Sizes] = {}
        self._parameters: dict[str, int] = {}
        self._read: dict[str, tuple[_Some, _Some]] = {}

    def parameters(self, subject: Subject) -> int:
        """The number of parameters of one lane (one seed's copy of the network). They are counted on a network with 0
        lanes, which has all parameters but no weights to initialise.
        """
        config = as_network(subject)
        key = canonical_json([config.data.model_dump(mode="json"), config.model.model_dump(mode="json")])
        if key not in self._parameters:
            sizes, dtype = self._sizes_of(config), dtype_of(config.training)
            model, _ = build(config.model, sizes=sizes, lanes=[], dtype=dtype, device=torch.device("cpu"))
            self._parameters[key] = sum(parameter.shape[1:].numel() for parameter in model.parameters())
        return self._parameters[key]

    def measure(self, subject: Subject) -> Measurement:
        """Measure the first group of a trial's lanes. The lanes of a group train together, and groups train one after
        another.

        If trials share a program, one group of each of them is measured, all groups together. The returned seconds are
        the measured seconds times the number of groups of a trial, divided by the number of trials in the program. The
        group is measured at the niceness that trials have on Ray.
        """
        return at_niceness(niceness_on_ray(), partial(self._measure, subject))

    def _measure(self, subject: Subject) -> Measurement:
        config = as_network(subject)
        gc.collect()  # frees the network of the previous measurement
        task = self._task(config)
        own = lane_groups(task, self.device)[0]
        seeds = tuple(range(self.trials * len(own)))
        (training,) = TrainingWorker(replace(task, seeds=seeds, lanes=len(seeds))).groups
        updates, readings = self._batches(config, training)
        training.model.train()
        activations = _kept_for_backward(training, updates.largest)
        update = fmean(self._seconds(training.step, batch) for batch in updates.timed)
        training.model.eval()
        reading = fmean(self._seconds(partial(_read, training), batch) for batch in readings.timed)
        programs = len(task.seeds) / len(own) / self.trials
        weights = _bytes(list(training.model.parameters()))
        return Measurement(
            lanes=len(seeds),
            weights=weights,
            # Gradients of lookup tables may be sparse, so this is an upper bound.
            gradients=_bytes([weight for weight in training.model.parameters() if weight.grad is not None]),
            optimiser=_bytes(list(training.optimiser.slots.values())),
            activations=activations,
            step_seconds=programs * update,
            epoch_seconds=programs * (update * updates.count + reading * readings.count),
        )

    def _task(self, config: TrialConfig) -> TrialTask:
        seeds = tuple(range(self.record.study.search.seeds))
        return trial_task(self.record, self.folder, config, number=0, seeds=seeds, device=self.device.type)

    def _sizes_of(self, config: TrialConfig) -> Sizes:
        key = canonical_json(config.data)
        if key not in self._sizes:
            self._sizes[key] = Sizes.of_corpus(corpus_of(stored_in(self._task(config)), config.data))
        return self._sizes[key]

    def _batches(self, config: TrialConfig, training: Training) -> tuple[_Some, _Some]:
        """Sample the batches of a training epoch and those of an evaluation on dev."""
        recipe = config.training.model_dump(mode="json", include={"batch_size", "window"})
        key = canonical_json([config.data.model_dump(mode="json"), recipe, len(training.lanes)])
        if key not in self._read:
            dev = partial(evaluated, training.corpus.stored, "dev", training.device)
            self._read[key] = _Some.of(training.batches, UPDATES), _Some.of(dev, READINGS)
        return self._read[key]

    def _seconds(self, work: Callable[[Batch], object], batch: Batch) -> float:
        started = clock(self.device)
        work(batch)
        return clock(self.device) - started


def room(
    device: str,
    gpus_per_trial: float | Literal["auto"],
    *,
    cpus_per_trial: int = 1,
    concurrent: int | None = None,
    trials_per_program: int = 1,
) -> Room:
    """Compute how many trials (or programs of several trials) this machine can train in parallel.

    ``device``: where trials compute. ``gpus_per_trial``: the share of a GPU for each trial. ``auto`` means a whole GPU
    if trials compute on GPUs. With 0, trials compute on a CPU, and ``device="cuda"`` is an error. ``cpus_per_trial``:
    the CPUs of each trial. ``concurrent``: the maximum number of concurrent trials; None means no maximum. Raises
    UserError if there is no such ``device``, if no trial fits, or if requested kernels cannot run on the device.
    """
    chosen = choose_device(device if gpus_per_trial or device == "cuda" else "cpu").type
    share = float(chosen == "cuda") if gpus_per_trial == "auto" else gpus_per_trial
    cpus = usable_cpus()
    if cpus_per_trial > cpus:
        here = counted(cpus, "CPU")
        raise UserError(f"--cpus-per-trial: got {cpus_per_trial} (allowed: at most the {here} of this machine)")
    slots = cpus // cpus_per_trial
    if chosen == "cuda":
        gpus = torch.cuda.device_count()
        if not 0 < share <= gpus:
            raise UserError(f"--gpus-per-trial {share:g}: got {gpus} GPUs here (allowed: above 0, at most that many)")
        slots = min(slots, gpus // int(share) if share >= 1 else gpus * int(1 / share + 1e-9))
    return Room(
        slots=slots if concurrent is None else min(slots, -(-concurrent // trials_per_program)),
        device=chosen,
        gpus_per_trial=share,
        kernels=in_a_line(torch.device(chosen)),
        trials_per_program=trials_per_program,
        cpus=cpus,
        load_average=load_average(),
        niceness=niceness_on_ray() if sys.platform == "linux" else niceness(),
    )


def middles(order: Sequence[int], runs: int) -> list[int]:
    """Cut ``order`` into ``runs`` equal runs (at most one per element), and return the middle element of each run."""
    runs = min(runs, len(order))
    return [order[(2 * run + 1) * len(order) // (2 * runs)] for run in range(runs)]


@torch.no_grad()
def _read(training: Training, batch: Batch) -> None:
    """Run the costly part of an evaluation on one batch."""
    training.model.measure(*training.loader.load(batch), training.lexicon)


def _kept_for_backward(training: Training, batch: Batch) -> int:
    """Run one update, and return the bytes that its forward pass saves for the backward pass, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in training.model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = max(storage.nbytes(), kept.get(storage.data_ptr(), 0))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        training.step(batch)
    return sum(kept.values())


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)
