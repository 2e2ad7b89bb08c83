"""What a layer costs beside ``torch.nn.LSTM`` of the same size, forward and backward, in one direction and in both.

In both directions it is measured as the product runs it: sentences are put into each direction's order, and come back.
Freed memory is kept, for both, as in training.
"""

import time
from collections.abc import Callable
from statistics import median

import pytest
import torch
from torch import nn

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.ground.allocation import keep_freed_memory
from skipstack.models.ground.initialise import initialise
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.parts.cells.build import build_shortcut
from skipstack.models.parts.cells.lstm import LstmCell

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

SIZES = ((465, 32, 25), (128, 32, 25), (96, 16, 20), (24, 16, 12), (465, 1, 25))
"""Hidden units, sentences and tokens of each."""
LAYERS = ("plain LSTM", "block", "both_gated")
ROUNDS, SECONDS = 25, 0.02
"""Of a round as long as that, or of one pass, the mean."""


def layer_of(name: str, directions: int, hidden: int) -> Layer:
    sizes = LayerSizes(lanes=1, directions=directions, below=hidden, hidden=hidden)
    if name == "plain LSTM":
        return LstmCell(sizes)
    streams = Streams([1], "gates", torch.device("cpu"))
    return build_shortcut(ShortcutConfig.model_validate({"topology": name}), sizes, streams)


def ours(name: str, directions: int, hidden: int, sentences: int, steps: int) -> Callable[[], None]:
    """A pass of a layer of ours, all gradients computed; a shortcut comes from a layer in its own directions."""
    layer = layer_of(name, directions, hidden)
    initialise(layer, [1], 1.0)
    below_RTBI = torch.randn(1, steps, sentences, hidden, requires_grad=True)
    skipped_GTBH = None if name == "plain LSTM" else torch.randn(directions, steps, sentences, hidden)
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


@pytest.mark.parametrize("directions", [1, 2])
def test_layers_beside_an_lstm(directions: int, capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    with capsys.disabled():
        print(f"\n{directions} of the directions, times nn.LSTM; torch {torch.__version__}, one thread")
        for hidden, sentences, steps in SIZES:
            size = (directions, hidden, sentences, steps)
            passes = {"nn.LSTM": theirs(*size), **{name: ours(name, *size) for name in LAYERS}}
            times = {name: max(1, int(SECONDS / max(seconds(each, 3), 1e-4))) for name, each in passes.items()}
            rounds = [{name: seconds(each, times[name]) for name, each in passes.items()} for _ in range(ROUNDS)]
            ratios = {name: median(each[name] / each["nn.LSTM"] for each in rounds) for name in LAYERS}
            found = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
            print(f"H {hidden}, B {sentences}, T {steps}: {found}")
            assert max(ratios.values()) < 4
