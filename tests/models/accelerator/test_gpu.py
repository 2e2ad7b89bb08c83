"""On a GPU every preset's network computes what it computes on a CPU, and a step of its training waits for nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
import torch

from skipstack.models.heads.base import Gold
from skipstack.models.model import Tokens
from skipstack.models.training.loop import Training
from skipstack.search.study_files.document import presets
from tests.models.test_golden import training

pytestmark = pytest.mark.gpu

TOLERANCE = 1e-9
"""Float64 on both; sums are taken in another order."""
WARM, WATCHED = 2, 3
"""Steps: before the first ones are over, libraries are loaded and memory is reserved."""


def without_draws(preset: str, folder: Path, device: str) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The losses of a batch and all gradients, of a network that draws nothing."""
    run = training(preset, folder, device=device)
    run.model.eval()
    tokens, gold = run.loader.load(next(run.batches()))
    loss_RB = run.model.loss(tokens, gold, run.lexicon)
    loss_RB.sum().backward()
    gradients = {name: each.grad for name, each in run.model.named_parameters() if each.grad is not None}
    return loss_RB.detach().flatten().tolist(), {name: each.to_dense().cpu() for name, each in gradients.items()}


@pytest.mark.parametrize("preset", presets())
def test_losses_and_gradients_are_those_of_a_cpu(preset: str, tmp_path: Path) -> None:
    (losses, gradients), (agreed, expected) = (without_draws(preset, tmp_path, each) for each in ("cuda", "cpu"))
    assert losses == pytest.approx(agreed, rel=TOLERANCE)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        assert (gradient - expected[name]).abs().max() <= TOLERANCE * (1 + expected[name].abs().max()), name


@contextmanager
def waiting_forbidden() -> Iterator[None]:
    """Within, whatever waits for the device raises RuntimeError."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("preset", presets())
def test_a_step_waits_for_nothing(preset: str, tmp_path: Path) -> None:
    run = training(preset, tmp_path, precision="float32", device="cuda")
    run.pretrain()
    run.model.train()
    rates = run.rates()
    steps = islice(_loaded(run), WARM + WATCHED)
    for tokens, gold in islice(steps, WARM):
        run.update(tokens, gold, rates)
    with waiting_forbidden():
        for tokens, gold in steps:
            run.update(tokens, gold, rates)
    torch.cuda.synchronize()


def _loaded(run: Training) -> Iterator[tuple[Tokens, Gold]]:
    while True:
        for _, loaded in run.loader(run.batches()):
            yield loaded
