"""``make gpu-check``: in ten minutes and without ray, whether all is right on a machine with a GPU, and how fast.

It runs the tests that are marked ``gpu`` in ``tests/models``, then times steps of training: ours with 1, 4 and 16
lanes, and ``nn.LSTM`` (cuDNN) of the same depth and width, forward and backward alone.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle

import torch
from torch import Tensor, nn

from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.config import StackConfig
from skipstack.models.device import choose_device, clock
from skipstack.models.fused.choice import HAS_TRITON
from skipstack.models.lanes import Lane
from skipstack.models.stack import Memory
from skipstack.models.training.loop import Training
from tests.models.accelerator import presets

TIMED = ("quickstart", "tagger", "collins/taggers", "chen2017/default", "wu2017/default", "gui2019/ner", "gui2019/lm")
LANES = (1, 4, 16)
LENGTH = 25
"""Tokens of every sentence."""
SENTENCES, EPOCHS = 8_000, 10
"""Of a run, where runs an hour are told: each lane is one."""
COLUMNS = ("network", "lanes", "ms a step", "times nn.LSTM", "tokens a second", "runs an hour")


def seconds(step: Callable[[], object], device: torch.device, budget: float) -> float:
    """Of a step, as often as the budget of seconds allows, after two that do not count."""
    step(), step()
    started, count = clock(device), 0
    while count == 0 or time.perf_counter() - started < budget:
        step()
        count += 1
    return (clock(device) - started) / count


def ours(preset: str, lanes: int, device: torch.device) -> tuple[Callable[[], object], int]:
    """A step of training of a preset's base, and how many numbers its first layer reads of a token."""
    config, task = presets.base(preset)
    recipe = config.training.model_copy(update={"pretraining": None})
    run = Training(
        model=config.model,
        training=recipe,
        corpus=presets.corpus(config.model, recipe, task, LENGTH),
        lanes=[Lane(seed=seed) for seed in range(lanes)],
        order_seed=0,
        device=device,
    )
    run.model.train()
    memory = Memory() if TASKS[task].continues else None
    loaded = [each for _, each in run.loader(run.batches(), memory)]
    tokens, _ = loaded[0]
    below = run.model.embedder(tokens.forms_RTB, run.lexicon, tokens.distinct).shape[-1]
    rates, again = run.rates(), cycle(loaded)
    return lambda: run.update(*next(again), rates), below


def theirs(stack: StackConfig, below: int, sentences: int, device: torch.device) -> Callable[[], object]:
    """``nn.LSTM`` of the same depth and width, forward and backward."""
    lstm = nn.LSTM(below, stack.hidden, stack.depth, bidirectional=stack.directions == "both").to(device)
    x = torch.randn(LENGTH, sentences, below, device=device)

    def step() -> None:
        output: Tensor = lstm(x)[0]
        lstm.zero_grad()
        output.sum().backward()

    return step


def timed(names: Sequence[str], lanes: Sequence[int], device: torch.device, budget: float) -> list[list[str]]:
    """A row for each network and number of lanes."""
    rows = []
    for name in names:
        config, task = presets.base(name)
        stack, size = config.model.stack, config.training.batch_size
        assert isinstance(stack, StackConfig)
        for count in lanes:
            step, below = ours(name, count, device)
            own = seconds(step, device, budget)
            plain = seconds(theirs(stack, below, size, device), device, budget)
            tokens = count * size * (config.training.window if TASKS[task].continues else LENGTH)
            runs = tokens / own * 3600 / (EPOCHS * SENTENCES * LENGTH)
            figures = (f"{1e3 * own:.1f}", f"{own / plain:.1f}", f"{tokens / own:,.0f}", f"{runs:,.1f}")
            rows.append([f"`{name}`", str(count), *figures])
            print(f"{name}, {count} lanes: {1e3 * own:.1f} ms a step", file=sys.stderr)
    return rows


def main() -> int:
    """Run the tests, then print a table in markdown. 1 where a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cpu: only to try this program")
    parser.add_argument("--presets", nargs="+", default=TIMED)
    parser.add_argument("--lanes", nargs="+", type=int, default=LANES)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each figure")
    parser.add_argument("--without-tests", action="store_true")
    chosen = parser.parse_args()
    try:
        device = choose_device(chosen.device)
    except UserError as mistake:
        parser.error(str(mistake))
    failed = 0
    if not chosen.without_tests:
        failed = subprocess.run([sys.executable, "-m", "pytest", "-m", "gpu", "tests/models"], check=False).returncode
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "one thread of a CPU"
    steps = "fused by Triton" if device.type == "cuda" and HAS_TRITON else "not fused"
    print(f"\n{where}, torch {torch.__version__}, steps {steps}; sentences of {LENGTH} tokens\n")
    rows = timed(chosen.presets, chosen.lanes, device, chosen.seconds)
    for cells in (COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 1)], *rows):
        print(f"| {' | '.join(cells)} |")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
