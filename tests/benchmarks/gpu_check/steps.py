"""Steps of training: ours with some lanes, captured (``models/training/captured.py``) and not, in float32 and how many
times as fast in less (``models/ground/precision.py``), and ``nn.LSTM`` (cuDNN, in float32 too) of the same depth and
width, forward and backward alone.

Captured steps may become the default where they are faster, and no further ``apart`` from others than these are from
themselves: the furthest of all losses and weights after some steps, as a share of the largest.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle

import torch
from torch import Tensor, nn

from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.model import StackConfig
from skipstack.models.ground.device import clock
from skipstack.models.ground.precision import Precision
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.chain.partition import Doubts
from skipstack.models.training.graphs import CudaGraphs, Graphs
from skipstack.models.training.loop import Training
from tests.models.conformance.accelerator import presets

LENGTH = 25
"""Tokens of every sentence."""
SENTENCES, EPOCHS = 8_000, 10
"""Of a run, where runs an hour are told: each lane is one."""
REDUCED: Sequence[Precision] = ("tf32", "bfloat16")
COMPARED = 8
"""Steps after which losses and weights are compared."""


def seconds(step: Callable[[], object], device: torch.device, budget: float) -> float:
    """Of a step, as often as the budget of seconds allows, after two that do not count."""
    step(), step()
    started, count = clock(device), 0
    while count == 0 or time.perf_counter() - started < budget:
        step()
        count += 1
    return (clock(device) - started) / count


@dataclass(frozen=True, slots=True)
class Ours:
    """A run, what does its next step, and how many numbers its first layer reads of a token."""

    run: Training
    step: Callable[[], Tensor]
    below: int


def ours(
    preset: str,
    lanes: int,
    device: torch.device,
    graphs: Graphs | None = None,
    *,
    precision: Precision = "float32",
) -> Ours:
    """The training of a preset's base, whose batches are padded alike with graphs and without."""
    config, task = presets.base(preset)
    recipe = config.training.model_copy(update={"pretraining": None, "precision": precision})
    run = Training(
        model=config.model,
        training=recipe,
        corpus=presets.corpus(config.model, recipe, task, LENGTH),
        lanes=[Lane(seed=seed) for seed in range(lanes)],
        order_seed=0,
        device=device,
        graphs=graphs,
    )
    run.loader = replace(run.loader, pads=True)
    run.model.train()
    if run.trusting:
        run.model.head.doubts = Doubts()
    memory = Memory() if TASKS[task].continues else None
    loaded = [each for _, each in run.loader(run.batches(), memory)]
    tokens, _ = loaded[0]
    below = run.model.embedder(tokens.forms_RTB, run.lexicon, tokens.distinct).shape[-1]
    rates, again = run.rates(), cycle(loaded)
    return Ours(run, lambda: run.update(*next(again), rates)[0], below)


def apart(one: Ours, other: Ours) -> float:
    """How far two trainings that should be the same are from each other."""
    pairs = [(one.step(), other.step()) for _ in range(COMPARED)]
    pairs += zip(one.run.model.parameters(), other.run.model.parameters(), strict=True)
    return max(float((a - b).detach().abs().max() / b.detach().abs().max().clamp(min=1e-30)) for a, b in pairs)


def captured_beside(name: str, lanes: int, device: torch.device, own: float, budget: float) -> dict[str, float]:
    """What a captured step takes, how many times as fast it is as one that takes ``own`` seconds, how far it is from
    one, and how far these are from each other.
    """
    step = ours(name, lanes, device, CudaGraphs(device))
    further = apart(step, ours(name, lanes, device))
    again = apart(ours(name, lanes, device), ours(name, lanes, device))
    took = seconds(step.step, device, budget)
    return {
        "captured_milliseconds": 1e3 * took,
        "captured_times_as_fast": own / took,
        "captured_apart": further,
        "apart_again": again,
    }


def theirs(stack: StackConfig, below: int, sentences: int, device: torch.device) -> Callable[[], object]:
    """``nn.LSTM`` of the same depth and width, forward and backward."""
    lstm = nn.LSTM(below, stack.hidden, stack.depth, bidirectional=stack.directions == "both").to(device)
    x = torch.randn(LENGTH, sentences, below, device=device)

    def step() -> None:
        output: Tensor = lstm(x)[0]
        lstm.zero_grad()
        output.sum().backward()

    return step


@contextmanager
def cudnn_in_float32() -> Iterator[None]:
    """Unasked, cuDNN multiplies in TF32; what else runs in this process finds its setting as before."""
    before = torch.backends.cudnn.rnn.fp32_precision
    torch.backends.cudnn.rnn.fp32_precision = "ieee"
    try:
        yield
    finally:
        torch.backends.cudnn.rnn.fp32_precision = before


def steps(name: str, count: int, device: torch.device, budget: float) -> dict[str, float]:
    """What a step of a preset's base takes with so many lanes, beside others."""
    config, task = presets.base(name)
    stack, size = config.model.stack, config.training.batch_size
    assert isinstance(stack, StackConfig)
    made = ours(name, count, device)
    own = seconds(made.step, device, budget)
    with cudnn_in_float32():
        plain = seconds(theirs(stack, made.below, size, device), device, budget)
    tokens = count * size * (config.training.window if TASKS[task].continues else LENGTH)
    found = {
        "milliseconds": 1e3 * own,
        "times_nn_lstm": own / plain,
        "tokens_a_second": tokens / own,
        "runs_an_hour": tokens / own * 3600 / (EPOCHS * SENTENCES * LENGTH),
    }
    for each in REDUCED:
        found[f"times_as_fast_in_{each}"] = own / seconds(
            ours(name, count, device, precision=each).step, device, budget
        )
    if device.type == "cuda":  # there are graphs of a GPU alone
        found |= captured_beside(name, count, device, own, budget)
    return found
