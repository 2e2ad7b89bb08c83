"""What a layer costs beside ``torch.nn.LSTM`` of the same size, and another cell beside our LSTM, forward and backward,
in one direction and in both.

In both directions it is measured as the product runs it: sentences are put into each direction's order, and come back.
Freed memory is kept, for both, as in training.
"""

import math
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

import pytest
import torch
from torch import nn

from skipstack.models.configs.cells import CellKind, ShortcutConfig
from skipstack.models.configs.model import StackConfig
from skipstack.models.ground.allocation import keep_freed_memory
from skipstack.models.ground.initialise import initialise
from skipstack.models.kernels.linear_scan import linear_recurrence
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.lanes import Dropout, Lane, Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.networks.build import build_stack
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from skipstack.models.parts.cells.minimal import MinimalCell
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

SIZES = ((465, 32, 25), (128, 32, 25), (96, 16, 20), (24, 16, 12), (465, 1, 25))
"""Hidden units, sentences and tokens of each."""
LAYERS = ("our LSTM", "block", "both_gated")
CELLS: Final[dict[str, CellKind]] = {"our LSTM": "lstm", "GRU": "gru", "minGRU": "min_gru", "minLSTM": "min_lstm"}
SCANNED = ((128, 32, 25), (24, 16, 12), (128, 8, 512))
"""Likewise, for recurrences that can be scanned."""
DEPTH = 3
"""Layers of a stack with residual connections."""
ROUNDS, SECONDS = 25, 0.02
"""Of a round as long as that, or of one pass, the mean."""


def layer_of(name: str, directions: int, hidden: int) -> Layer:
    sizes = LayerSizes(lanes=1, directions=directions, below=hidden, hidden=hidden)
    streams = Streams([1], "gates", torch.device("cpu"))
    if name in CELLS:
        return build_cell(CELLS[name], sizes, streams)
    return build_shortcut(ShortcutConfig.model_validate({"topology": name}), sizes, streams)


def ours(name: str, directions: int, hidden: int, sentences: int, steps: int) -> Callable[[], None]:
    """A pass of a layer of ours, all gradients computed; a shortcut comes from a layer in its own directions."""
    layer = layer_of(name, directions, hidden)
    initialise(layer, [1], 1.0)
    below_RTBI = torch.randn(1, steps, sentences, hidden, requires_grad=True)
    skipped_GTBH = None if name in CELLS else torch.randn(directions, steps, sentences, hidden)
    lengths_RB = torch.full((1, sentences), steps)

    def step() -> None:
        if directions == 1:
            layer.run(below_RTBI, skipped_GTBH).output_GTBF.sum().backward()
            return
        order = ReadingOrder(lengths_RB, steps)
        order.together(layer.run(order.apart(below_RTBI), skipped_GTBH).output_GTBF).sum().backward()

    return step


def theirs(directions: int, hidden: int, sentences: int, steps: int) -> Callable[[], None]:
    lstm = nn.LSTM(hidden, hidden, bidirectional=directions == 2)
    below_TBI = torch.randn(steps, sentences, hidden, requires_grad=True)
    return lambda: lstm(below_TBI)[0].sum().backward()


def seconds(step: Callable[[], None], times: int) -> float:
    """The thread's own, a pass."""
    started = time.thread_time()
    for _ in range(times):
        step()
    return (time.thread_time() - started) / times


def ratios(passes: dict[str, Callable[[], None]], beside: str) -> dict[str, float]:
    """The median over rounds, in which all take turns, of the seconds of each, times those of the one beside them."""
    times = {name: max(1, int(SECONDS / max(seconds(each, 3), 1e-4))) for name, each in passes.items()}
    rounds = [{name: seconds(each, times[name]) for name, each in passes.items()} for _ in range(ROUNDS)]
    return {name: median(each[name] / each[beside] for each in rounds) for name in passes if name != beside}


def measured(
    question: str,
    directions: int,
    sizes: Sequence[tuple[int, int, int]],
    passes: Callable[[int, int, int], dict[str, Callable[[], None]]],
    beside: str,
    bar: float,
) -> None:
    """Records each beside another one, by size, and asks all to stay below the bar."""
    torch.set_num_threads(1)
    keep_freed_memory()
    found: dict[str, dict[str, float]] = {}
    for size in sizes:
        for name, ratio in ratios(passes(*size), beside).items():
            row = name if question == "scan" else f"{name}, {('one direction', 'both directions')[directions - 1]}"
            found.setdefault(row, {})["H {}, B {}, T {}".format(*size)] = ratio
    record(question, found, f"times {beside}")
    assert max(max(each.values()) for each in found.values()) <= bar, found


@pytest.mark.parametrize("directions", [1, 2])
def test_layers_beside_an_lstm(directions: int) -> None:
    def passes(*size: int) -> dict[str, Callable[[], None]]:
        return {"torch.nn.LSTM": theirs(directions, *size), **{name: ours(name, directions, *size) for name in LAYERS}}

    measured("layer", directions, SIZES, passes, "torch.nn.LSTM", 4)


def stacked(name: str, directions: int, hidden: int, sentences: int, steps: int, **changed: Any) -> Callable[[], None]:
    """A pass of a stack without dropout, as networks have it: of one layer, unless changed."""
    config = StackConfig.model_validate(
        {
            "depth": 1,
            "hidden": hidden,
            "cell": CELLS[name],
            "composition": 0,
            "directions": "both" if directions == 2 else "forward",
            **changed,
        }
    )
    stack = build_stack(config, hidden, [Lane(seed=1)], Dropout([0.0], Streams([1], "dropout", torch.device("cpu"))))
    initialise(stack, [1], 1.0)
    below_RTBI = torch.randn(1, steps, sentences, hidden, requires_grad=True)
    lengths_RB = torch.full((1, sentences), steps)
    return lambda: stack(below_RTBI, lengths_RB).sum().backward()


@pytest.mark.parametrize("directions", [1, 2])
def test_cells_beside_our_lstm(directions: int) -> None:
    def passes(*size: int) -> dict[str, Callable[[], None]]:
        return {name: stacked(name, directions, *size) for name in CELLS}

    measured("cells", directions, SIZES, passes, "our LSTM", 1.1)


class Residual(nn.Module):
    """Layers of GRU, each of which reads the normalised layer below and adds the layer below, in torch's operations."""

    def __init__(self, hidden: int, directions: int) -> None:
        super().__init__()
        both, width = directions == 2, directions * hidden
        sizes = [hidden, *[width] * (DEPTH - 1)]
        self.grus = nn.ModuleList(nn.GRU(size, hidden, bidirectional=both) for size in sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in sizes)

    def forward(self, x_TBI: torch.Tensor) -> torch.Tensor:
        for number, (gru, norm) in enumerate(zip(self.grus, self.norms, strict=True)):
            h_TBI = gru(norm(x_TBI))[0]
            x_TBI = h_TBI + x_TBI if number else h_TBI
        return x_TBI


@pytest.mark.parametrize("directions", [1, 2])
def test_residual_connections_and_normalisation_beside_torchs(directions: int) -> None:
    def passes(hidden: int, sentences: int, steps: int) -> dict[str, Callable[[], None]]:
        theirs, below_TBI = Residual(hidden, directions), torch.randn(steps, sentences, hidden, requires_grad=True)
        own = {"depth": DEPTH, "residual": True, "normalisation": "layer", "join": "each_layer"}
        return {
            "torch.nn.GRU": lambda: theirs(below_TBI).sum().backward(),
            "GRU": stacked("GRU", directions, hidden, sentences, steps, **own),
        }

    measured("residual", directions, SIZES, passes, "torch.nn.GRU", 1.1)


def scanned(hidden: int, sentences: int, steps: int) -> dict[str, Callable[[], None]]:
    """A layer of minLSTM compiled as a loop, and after the same compiled product by a scan and by a loop of torch."""
    cell = layer_of("minLSTM", 1, hidden)
    assert isinstance(cell, MinimalCell)
    initialise(cell, [1], 1.0)
    below_GTBI = torch.randn(1, steps, sentences, hidden, requires_grad=True)
    return {
        "the compiled loop": lambda: cell.run(below_GTBI).output_GTBF.sum().backward(),
        "a scan of torch": lambda: (
            linear_recurrence(*cell.coefficients(cell.affine(below_GTBI)), None).sum().backward()
        ),
        "a loop of torch": lambda: cell.loop((cell.affine(below_GTBI),), None).output_GTBF.sum().backward(),
    }


def test_a_parallel_scan_beside_loops() -> None:
    measured("scan", 1, SCANNED, scanned, "the compiled loop", math.inf)
