"""Every preset's training and evaluation on a device that is not there: what is launched, moved and waited for.

A program of its own, since torch counts devices at the first backward pass of a process.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

import skipstack.models.training.captured as capturing
from skipstack.data.basis.system import GPU_CONTEXT
from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.sources import task_of
from skipstack.data.formats.running_text import END
from skipstack.data.labels.spans import find_spans, reading, types_of
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import Constant, TrainingConfig
from skipstack.models.conformance.accelerator.simulated import Accelerator
from skipstack.models.conformance.accelerator.trial_memory import trial_memory
from skipstack.models.conformance.accelerator.work import Work
from skipstack.models.ground.device_memory import HANDLES, WORKSPACE, room_of
from skipstack.models.kernels.layers import Weights, lstm_layer
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.captured import tensors
from skipstack.models.training.evaluate import POSITIONS_ON_DEVICE, SENTENCES_AT_ONCE, STREAM_WINDOW, STREAMS
from skipstack.models.training.graphs import Graphs
from skipstack.models.training.loop import EpochReport, Training
from skipstack.search.execution.engines.capacity import share_of
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig
from tests.models.conformance.accelerator.caching import Allocator, Log
from tests.models.conformance.accelerator.telling import tell

Done = TypeVar("Done")

LANES = (Lane(seed=0), Lane(seed=1))
LENGTH, FORMS, DIGITS = 8, 1000, 8
"""Tokens of every sentence; different words, and where the input has no place for more."""
SENTENCE = 32
"""Tokens of every sentence where memory is counted."""
CARDS = tuple(size * 10**9 for size in (16, 24, 40, 80))
"""Bytes of the GPUs on which a trial has its share."""
TOGETHER = (1, 4, 16)
"""Trials of one program, of one seed each."""
STEPS = 2
"""Of an epoch, and batches of an evaluation: the first is counted."""
WHOLE = ("dinarelli2016/atis", "gui2019/lm", "gui2019/ner", "collins/parser")
"""Presets whose epochs and evaluations, between them, end in every way there is."""
SCHEME = "bioes"
SPANS = ("O", *(f"{prefix}-{kind}" for kind in ("a", "b", "c", "d") for prefix in "BIES"))


@dataclass(frozen=True, slots=True)
class Counted:
    """What a step of training does, and a batch of an evaluation."""

    training: Work
    evaluation: Work


@dataclass(frozen=True, slots=True)
class Captured:
    """What the host does of a captured step, what stands in its graphs, and how often any was launched."""

    step: Work
    inside: Work
    replays: int


class _DeviceAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Forbids what is computed on the host: a graph would not do it again."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in tensors([list(args), list((kwargs or {}).values()), result]):
            assert isinstance(each, FakeTensor), f"{func} has a tensor of the host"
        return result


class WatchedGraphs(Graphs):
    """Records nothing: it does what is to be recorded, on the device that is not there, and counts that apart."""

    def __init__(self, work: Work) -> None:
        self.work, self.inside, self.replays = work, Work(), 0

    def warmed(self, work: Callable[[], Done]) -> Done:
        """As ever."""
        return work()

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Nothing is done by its replays but to count them."""
        before = copy(self.work)
        with _DeviceAlone():
            work()
        self.inside = self.work - before

        def replay() -> None:
            self.replays += 1

        return replay


def base(preset: str) -> tuple[TrialConfig, str]:
    """The config that a preset varies, and its task."""
    config = load_study(preset)[0].space.base
    return config, task_of(config.data.corpus)


def counted(config: TrialConfig, task: str) -> Counted:
    """Of a config; of equal networks, learnt alike, once."""
    return _counted(config.model, _recipe(config), task)


@functools.cache
def _counted(model: ModelConfig, recipe: TrainingConfig, task: str) -> Counted:
    accelerator = Accelerator()
    with accelerator:
        run = training(model, recipe, task, accelerator)
        return Counted(_step(run, accelerator.work), _batch(run, accelerator.work))


def trained(config: TrialConfig) -> Work:
    """What a step of training does."""
    accelerator = Accelerator()
    with accelerator:
        run = training(config.model, _recipe(config), task_of(config.data.corpus), accelerator)
        return _step(run, accelerator.work)


@functools.cache
def captured(model: ModelConfig, recipe: TrainingConfig, task: str) -> Captured:
    """What a captured step does; where it could not be one, whatever that raises."""
    accelerator = Accelerator()
    with accelerator:
        graphs = WatchedGraphs(accelerator.work)
        run = training(model, recipe, task, accelerator, graphs)
        run.train_epoch()  # of text that goes on, the first batch is of another shape
        return Captured(_step(run, accelerator.work), graphs.inside, graphs.replays)


def structure(config: TrialConfig) -> str:
    """What kind of network it is, whatever its sizes: the config with other numbers than 0 as 1."""

    def alike(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner if key == "composition" else alike(inner) for key, inner in value.items()}
        return bool(value) if isinstance(value, int | float) else value

    return json.dumps(alike(config.model.model_dump(mode="json")))


def several(preset: str) -> list[int]:
    """The launches of a step of so many trials together as ``TOGETHER`` says, which differ in all that lanes may."""
    config, task = base(preset)
    found = []
    for count in TOGETHER:
        accelerator = Accelerator()
        lanes = [
            Lane(
                seed=number,
                embedder_dropout=0.1,
                stack_dropout=0.05 * (number % 5),
            )
            for number in range(count)
        ]
        recipes = [_numbered(_recipe(config), number) for number in range(count)]
        with accelerator:
            run = training(config.model, _recipe(config), task, accelerator, lanes=lanes, recipes=recipes)
            found.append(_step(run, accelerator.work).launches)
    return found


def _numbered(recipe: TrainingConfig, number: int) -> TrainingConfig:
    """The recipe with numbers of its own, wherever lanes may differ."""
    changed: dict[str, Any] = {
        "optimiser": recipe.optimiser.model_copy(update={"learning_rate": 0.001 * (number + 1)}),
        "l2": 0.01 * (number + 1) if recipe.l2 else 0.0,
        "clip_norm": None if recipe.clip_norm is None else 1.0 + number,
    }
    return recipe.model_copy(update=changed)


class _SeenError(Exception):
    """What is counted is over."""


def _step(run: Training, work: Work) -> Work:
    """What is done from one update to the next."""
    return _between(work, run.train_epoch)


def _batch(run: Training, work: Work) -> Work:
    """What is done from one batch of an evaluation to the next."""

    def evaluated(reached: Callable[[], None]) -> None:
        measure = run.model.measure

        def measured(*read: Any) -> Any:
            reached()
            return measure(*read)

        run.model.measure = measured  # type: ignore[method-assign]
        run.evaluate("dev")

    return _between(work, evaluated)


def _between(work: Work, run: Callable[[Callable[[], None]], object]) -> Work:
    """What is done from the first call of what ``run`` is given to the second, which ends it."""
    seen: list[Work] = []

    def reached() -> None:
        seen.append(copy(work))
        if len(seen) == STEPS:
            raise _SeenError

    with suppress(_SeenError):
        run(reached)
    first, second = seen
    return second - first


def whole(preset: str) -> EpochReport:
    """A whole epoch, its pretraining and what comes back at its end included: what it reports means nothing."""
    config, task = base(preset)
    shorter = config.training.pretraining
    if shorter is not None:
        shorter = shorter.model_copy(update={"word_epochs": 1, "label_epochs": 1})
    accelerator = Accelerator()
    with accelerator:
        recipe = config.training.model_copy(update={"pretraining": shorter})
        return training(config.model, recipe, task, accelerator).run_epoch()


def held(preset: str) -> dict[str, Any]:
    """What training all seeds of a preset's base takes of a GPU, and on which GPUs its share is enough: torch's
    allocator, as ``caching.py`` has it, then never runs out.
    """
    config, task = base(preset)
    return _held(config.model, config.training, task, load_study(preset)[0].search.seeds)


@functools.cache
def _held(model: ModelConfig, recipe: TrainingConfig, task: str, seeds: int) -> dict[str, Any]:
    log = Log()
    lanes = [Lane(seed=seed) for seed in range(seeds)]
    read = corpus(model, recipe, task, SENTENCE)
    memory = trial_memory(model, recipe, read, lanes=lanes, memory=log)
    enough = [Allocator(tensors_of(memory.together, card)).follow(log.events) for card in CARDS]
    return {"seeds": seeds, **asdict(memory), "enough": enough}


def tensors_of(together: int, card: int) -> int:
    """The bytes of tensors, without cuBLAS's, for which torch may then ask the GPU."""
    return limit_of(together, card) - HANDLES * WORKSPACE


def limit_of(together: int, card: int) -> int:
    """All the bytes for which torch may then ask the GPU."""
    share = share_of(together, card)
    return card - GPU_CONTEXT if share == 1 else room_of(share, card)


def _recipe(config: TrialConfig) -> TrainingConfig:
    """How it is trained, but for what lies outside the steps: pretraining, and what changes between epochs."""
    return config.training.model_copy(update={"pretraining": None, "schedule": Constant(), "epochs": 1})


def training(
    model: ModelConfig,
    recipe: TrainingConfig,
    task: str,
    accelerator: Accelerator,
    graphs: Graphs | None = None,
    lanes: Sequence[Lane] = LANES,
    recipes: Sequence[TrainingConfig] | None = None,
) -> Training:
    """A run of two updates an epoch."""
    return Training(
        model=model,
        training=recipe,
        corpus=corpus(model, recipe, task),
        lanes=lanes,
        recipes=recipes,
        order_seed=0,
        device=accelerator.device,
        graphs=graphs,
    )


def corpus(model: ModelConfig, recipe: TrainingConfig, task: str, length: int = LENGTH) -> PreparedCorpus:
    """Sentences of one length, as many as the steps and batches need."""
    scheme = SCHEME if model.head.kind in ("crf", "margin") else None
    forms = ("", *(f"w{number}" for number in range(DIGITS if model.embedder.kind == "one_hot" else FORMS)))
    tags = SPANS if scheme else (END, *(f"t{number:04}" for number in range(1, FORMS if TASKS[task].continues else 50)))
    splits = {name: _split(task, tags, len(forms), *size) for name, size in _sizes(recipe, task, length)}
    stored = StoredCorpus(
        "0" * 16,
        forms,
        np.full(len(forms), 9),
        tags,
        splits,
        scheme=scheme,
        span_types=types_of(tags, SCHEME) if scheme else (),
        task=task,
    )
    return prepare(stored, DataConfig(vocabulary={"minimum_count": 1}), LONGEST_AFFIX)


def _sizes(recipe: TrainingConfig, task: str, length: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each split's sentences and their length."""
    size = recipe.batch_size
    if TASKS[task].continues:
        yield "train", (1, size * recipe.window * STEPS)
        yield "dev", (1, STREAMS * STREAM_WINDOW * STEPS)
    else:
        yield "train", (size * STEPS, length)
        yield "dev", (max(SENTENCES_AT_ONCE, POSITIONS_ON_DEVICE // length) * STEPS, length)


def _split(task: str, tags: tuple[str, ...], forms: int, sentences: int, length: int) -> Split:
    rng = np.random.default_rng(0)
    offsets_S1 = np.arange(sentences + 1) * length
    single = TASKS[task].single_label
    tags_L = rng.integers(len(tags), size=sentences if single else sentences * length).astype(np.int32)
    spans = (
        find_spans(tags_L[None], offsets_S1, reading(tags, SCHEME, types_of(tags, SCHEME)))[1]
        if tags == SPANS
        else None
    )
    if TASKS[task].continues:
        tags_L[LENGTH - 1 :: LENGTH] = tags.index(END)
    return Split(
        rng.integers(1, forms, size=sentences * length).astype(np.int32),
        tags_L,
        np.full(sentences, length, dtype=np.int32),
        offsets_S1,
        np.arange(sentences + 1) if single else offsets_S1,
        spans,
        np.tile(np.arange(length, dtype=np.int32), sentences) if task == "parsing" else None,
    )


def gradients(device: torch.device) -> list[tuple[Any, ...]]:
    """What a layer with a backward pass of its own puts out, and its gradients: shapes, strides and types."""
    below_GTBI = torch.zeros(4, 5, 3, 3, device=device, requires_grad=True)
    shapes = (2, 2, 3, 8), (2, 2, 8), (2, 2, 2, 8)
    weights = Weights(*(torch.zeros(shape, device=device, requires_grad=True) for shape in shapes))
    layer = lstm_layer(below_GTBI, weights)
    assert layer is not None
    layer[0].sum().backward()
    found = (*layer, below_GTBI.grad, *(each.grad for each in weights))
    assert all(each.device == device for each in found)
    return [(*each.shape, *each.stride(), str(each.dtype)) for each in found]


def networks() -> dict[str, Work]:
    """What a step of each network does that a preset's trials may have: one of each structure."""
    found, seen = {}, set()
    for preset in presets():
        space = Space(load_study(preset)[0].space)
        for point in space.one_at_a_time() if space.finite else ():
            config = space.config(point)
            if structure(config) not in seen:
                seen.add(structure(config))
                found[f"{preset}: {point}"] = trained(config)
    return found


def found(what: str, *named: str) -> dict[str, object]:
    """What is asked for: presets, with the gradients of a loop, networks, captured steps of presets or memory.

    ``named``: these presets alone.
    """
    torch.set_num_threads(1)
    names = named or tuple(presets())
    if what == "networks":
        return {name: asdict(work) for name, work in networks().items()}
    if what == "memory":
        return {name: held(name) for name in names}
    if what == "several":
        return {name: several(name) for name in names}
    if what == "captured":
        capturing.WARM = 0
        steps = {name: captured(config.model, _recipe(config), task) for name in names for config, task in [base(name)]}
        return {name: asdict(each) for name, each in steps.items()}
    accelerator = Accelerator()
    with accelerator:
        loop = gradients(accelerator.device)
    of_each = {name: asdict(counted(*base(name))) for name in names}
    return {"gradients": loop, "presets": of_each, "epochs": [whole(name).epoch for name in WHOLE]}


if __name__ == "__main__":
    tell(found(*sys.argv[1:]))
