"""Counts the GPU memory of a trial on the simulated device, where nothing is computed.

The count includes an update and an evaluation with batches of the same size as on a GPU, the memory of cuBLAS, and the
memory of captured steps. Memory that single operations use internally is not counted, since torch does not report it.
"""

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from skipstack.data.store.batches import Batch
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.stored import Split
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.conformance.accelerator.memory import Memory
from skipstack.models.conformance.accelerator.simulated import Accelerator
from skipstack.models.ground.device_memory import BEGUN, HANDLES, WORKSPACE
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.stack import Memory as States
from skipstack.models.parts.heads.doubts import Doubts
from skipstack.models.training.captured import SHAPES, obstacle, tensors
from skipstack.models.training.evaluate import evaluated
from skipstack.models.training.loop import Training
from skipstack.models.training.pretraining import pretrain


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialMemory:
    """The GPU memory of a trial in bytes, in parts that add up to ``together``.

    ``resident``: weights, the optimiser's state and the lexicon. ``step``: an update (with its gradients) or
    pretraining, whichever takes more. ``evaluation``: the largest batch of an evaluation, and the results of all
    batches. ``graphs``: captured steps. ``libraries``: cuBLAS, and memory that torch reserves in advance.
    """

    resident: int
    step: int
    evaluation: int
    graphs: int
    libraries: int

    @property
    def together(self) -> int:
        """The sum of all fields. ``step`` and ``evaluation`` add up: torch keeps the memory of an update, but reuses
        little of this memory in an evaluation, whose tensors have other sizes.
        """
        return self.resident + self.step + self.evaluation + self.graphs + self.libraries


def trial_memory(
    model: ModelConfig,
    training: TrainingConfig,
    corpus: PreparedCorpus,
    *,
    lanes: Sequence[Lane],
    captured: bool = False,
    memory: Memory | None = None,
) -> TrialMemory:
    """Count the memory of training ``lanes``, copies of one network, as one program.

    ``captured``: whether steps are captured as CUDA graphs, if the network allows it. ``memory``: the counter of the
    simulated device; None means a new counter. The process must not have run a backward pass before its first
    ``Accelerator``.
    """
    accelerator = Accelerator(memory)
    memory = accelerator.memory
    with accelerator:
        run = Training(
            model=model, training=training, corpus=corpus, lanes=lanes, order_seed=0, device=accelerator.device
        )
        captured = captured and obstacle(run.model) is None
        if captured:
            run.loader = replace(run.loader, pads=True)
        resident = memory.held
        before = _most(memory, lambda: _pretrain(run)) + _pretraining_ids(run)
        step, inputs = _step(run, memory)
        step = max(step, before)
        return TrialMemory(
            resident=resident,
            step=step,
            evaluation=max(
                _evaluation(run, memory, split) for split in ("dev", "test") if split in corpus.stored.splits
            ),
            graphs=step + inputs if captured else 0,
            libraries=(1 + captured) * HANDLES * WORKSPACE + (3 if captured else 1) * BEGUN,
        )


def _step(run: Training, memory: Memory) -> tuple[int, int]:
    """Return two numbers of bytes: the peak of an update on the largest batch, and an upper bound on the inputs of
    captured steps.
    """
    run.model.train()
    run.model.begin(0)
    states = States() if TASKS[run.corpus.stored.task].continues else None
    batch, batches = _largest(run.batches)
    loaded = tensors(run.loader.load(batch, states))
    inputs = min(SHAPES, batches) * sum(each.nbytes for each in loaded)
    del loaded

    def update() -> None:
        run.model.head.doubts = Doubts() if run.model.head.may_doubt else None
        run.step(batch, states)
        run.model.head.doubts = None

    if states is not None:
        update()  # running text has states only from the second update on
    for each in run.model.parameters():
        each.grad = None
    return _most(memory, update), inputs


@torch.no_grad()
def _evaluation(run: Training, memory: Memory, split: str) -> int:
    run.model.eval()
    for each in run.model.parameters():
        each.grad = None  # gradients already count in ``TrialMemory.step``
    batches = [each.forms_RTB.size for each in evaluated(run.corpus.stored, split, run.device)]
    batch, _ = _largest(lambda: evaluated(run.corpus.stored, split, run.device))
    results = []

    def read() -> None:
        run.model.head.doubts = Doubts() if run.model.head.may_doubt else None
        results.append(run.model.measure(*run.loader.load(batch), run.lexicon))
        run.model.head.doubts = None

    before = memory.held
    most = _most(memory, read)
    kept = (memory.held - before) * sum(batches) // batch.forms_RTB.size
    return max(most + kept, 2 * kept)  # at the end the results are concatenated, for a single copy to the host


def _largest(batches: Callable[[], Iterable[Batch]]) -> tuple[Batch, int]:
    """Return the batch with the most positions, and the number of batches."""
    every = list(batches())
    return max(every, key=lambda batch: batch.forms_RTB.size), len(every)


def _most(memory: Memory, work: Callable[[], object]) -> int:
    """Run ``work``, and return its peak memory in bytes, not counting the memory held before."""
    gc.collect()  # unreachable tensors must not count
    before = memory.begin()
    work()
    return memory.most - before


def _pretrain(run: Training) -> None:
    """Pretrain for one epoch, if configured. A few sentences are enough, since all updates take the same memory."""
    config = run.config.pretraining
    if config is None:
        return
    short = config.model_copy(
        update={"word_epochs": min(1, config.word_epochs), "label_epochs": min(1, config.label_epochs)}
    )
    stored = run.corpus.stored
    train = _beginning(stored.splits["train"], config.batch_size)
    corpus = replace(run.corpus, stored=replace(stored, splits={**stored.splits, "train": train}))
    pretrain(short, run.model, corpus, [lane.seed for lane in run.lanes], run.initial_scale)


def _pretraining_ids(run: Training) -> int:
    """Return the bytes of the windows, targets and orders in pretraining, which cover the whole training split."""
    config = run.config.pretraining
    if config is None:
        return 0
    each = 2 * config.context + 1 + len(run.lanes)
    return torch.int64.itemsize * each * len(run.corpus.stored.splits["train"].forms_N)


def _beginning(split: Split, tokens: int) -> Split:
    """Return a split of the first sentences: enough for ``tokens`` tokens, or all if there are fewer tokens."""
    sentences = min(1 + int(split.offsets_S1.searchsorted(tokens)), len(split.lengths_S))
    ends, tag_ends = split.offsets_S1[: sentences + 1], split.tag_offsets_S1[: sentences + 1]
    return Split(split.forms_N[: ends[-1]], split.tags_L[: tag_ends[-1]], split.lengths_S[:sentences], ends, tag_ends)
