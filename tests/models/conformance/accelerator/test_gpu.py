"""On a GPU every preset's network computes what it computes on a CPU, and a step of its training waits for nothing.

Captured steps (``models/training/captured.py``) train there what others train, and wait for nothing either.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
import torch

from skipstack.models.ground.precision import Precision, products_in
from skipstack.models.kernels.products import product
from skipstack.models.networks.model import Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.heads.chain.partition import Doubts
from skipstack.models.training import captured
from skipstack.models.training.graphs import CudaGraphs, Graphs
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.document import presets
from tests.models.kernels.test_products import UNIT
from tests.models.test_golden import training
from tests.models.training.test_captured import padding, trained

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
    without_waiting(training(preset, tmp_path, precision="float32", device="cuda"), WARM)


@pytest.mark.parametrize("preset", presets())
def test_a_captured_step_waits_for_nothing(preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "WARM", 1)
    run = training(preset, tmp_path, precision="float32", device="cuda", graphs=CudaGraphs(torch.device("cuda")))
    every = len(list(run.batches()))  # the same ones again and again: an epoch later each shape is captured
    without_waiting(run, 2 * every)


@pytest.mark.parametrize("preset", presets())
def test_captured_steps_train_what_others_train(preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "WARM", 1)

    def found(graphs: Graphs | None) -> dict[str, torch.Tensor]:
        run = training(preset, tmp_path, device="cuda", graphs=graphs)
        state = trained(padding(run))
        assert run.captured is None or run.captured.steps
        return {name: value.cpu().double() for name, value in state.items()}

    ours, expected = found(CudaGraphs(torch.device("cuda"))), found(None)
    assert ours.keys() == expected.keys()
    for name, value in ours.items():
        apart = (value - expected[name]).abs().nan_to_num().max()  # an error that dev did not have yet is none
        assert apart <= TOLERANCE * (1 + expected[name].abs().nan_to_num().max()), name


@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
def test_a_product_is_rounded_as_asked(precision: Precision) -> None:
    """Beside float64; in float32 it is over a hundred times as near."""
    x, weight = (torch.randn(2, 512, 512, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    exact = x.double() @ weight.double()

    def apart(asked: Precision) -> list[float]:
        leaf = x.cuda().requires_grad_()
        with products_in(asked):
            made = product(leaf, weight.cuda())
        made.backward(made.detach())
        assert leaf.grad is not None
        of_x = exact @ weight.double().mT
        return [float((each.cpu() - true).norm() / true.norm()) for each, true in ((made, exact), (leaf.grad, of_x))]

    for near, rounded in zip(apart("float32"), apart(precision), strict=True):
        assert 100 * near < rounded < 2 * UNIT[precision]


def without_waiting(run: Training, warm: int) -> None:
    """Some steps, after ``warm`` ones that may wait."""
    run.pretrain()
    run.model.train()
    if run.model.head.may_doubt:
        run.model.head.doubts = Doubts()
    rates = run.rates()
    steps = islice(_loaded(run), warm + WATCHED)
    for tokens, gold in islice(steps, warm):
        run.update(tokens, gold, rates)
    with waiting_forbidden():
        for tokens, gold in steps:
            run.update(tokens, gold, rates)
    torch.cuda.synchronize()


def _loaded(run: Training) -> Iterator[tuple[Tokens, Gold]]:
    while True:
        for _, loaded in run.loader(run.batches()):
            yield loaded
