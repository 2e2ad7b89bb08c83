"""What a layer that skips costs beside the LSTM: sizes of gui2019's number prediction, H = 200, B = 100, T = 11."""

import time
from collections.abc import Callable
from statistics import median

import pytest
import torch
from torch import nn

from skipstack.models.configs.skips import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig
from skipstack.models.ground.initialise import initialise
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.skips.layers import AttentionSkipLstm, DynamicSkipLstm, FixedSkipLstm
from skipstack.models.parts.skips.reinforce import Made, Reinforce, Rewards
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

SIZES = LayerSizes(lanes=1, directions=1, below=10, hidden=200)
STEPS, TEXTS, ROUNDS, REPEATS, LIMIT = 11, 100, 15, 10, 1.6


def trained(layer: nn.Module, reinforce: Reinforce | None) -> Callable[[], None]:
    """A step of learning from the last state, the policy's share included, all gradients computed."""
    initialise(layer, [1], 1.0)
    x = torch.randn(1, STEPS, TEXTS, SIZES.below, generator=torch.Generator().manual_seed(2))
    lengths = torch.full((1, TEXTS), STEPS)

    def step() -> None:
        unrolled = layer.run(x)
        loss = unrolled.output_GTBF[:, -1].sum(dim=-1)
        if reinforce is not None:
            assert unrolled.choices is not None
            rewards = Rewards(loss.unsqueeze(1), torch.ones_like(loss).unsqueeze(1))
            loss = loss - reinforce([Made(unrolled.choices, seen_before=False)], rewards, lengths)
        loss.sum().backward()

    return step


def layers() -> dict[str, tuple[Layer, Reinforce | None]]:
    config, streams = DynamicSkipConfig(), Streams([0], "skips", torch.device("cpu"))
    return {
        "LSTM": (LstmCell(SIZES), None),
        "fixed skip": (FixedSkipLstm(SIZES, FixedSkipConfig()), None),
        "attention": (AttentionSkipLstm(SIZES, AttentionSkipConfig()), None),
        "dynamic skip": (DynamicSkipLstm(SIZES, config, [config.share], streams), Reinforce(config, [Lane(seed=0)])),
    }


def test_a_dynamic_skip_costs_little_more_than_the_cell() -> None:
    torch.set_num_threads(1)
    steps = {name: trained(*parts) for name, parts in layers().items()}
    took: dict[str, list[float]] = {name: [] for name in steps}
    for round_ in range(ROUNDS + 1):
        for name, step in steps.items():
            started = time.process_time()
            for _ in range(REPEATS):
                step()
            if round_:  # the first warms up
                took[name].append((time.process_time() - started) / REPEATS)
    ratios = {
        name: median(ours / plain for ours, plain in zip(took[name], took["LSTM"], strict=True)) for name in steps
    }
    rows = {name: {"ms a step": 1000 * median(took[name]), "times the LSTM": ratio} for name, ratio in ratios.items()}
    record("skips", rows)
    assert ratios["dynamic skip"] <= LIMIT
