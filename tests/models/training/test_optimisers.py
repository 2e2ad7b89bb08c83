"""Each lane's optimiser against torch's own on that lane alone."""

from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.configs.training import (
    Adagrad,
    Adam,
    AdamW,
    Cosine,
    Decay,
    Halving,
    InverseTime,
    Linear,
    Optimiser,
    Sgd,
)
from skipstack.models.conformance.accelerator.simulated import Accelerator, RefusedError
from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.ground.parameters import BIAS, TABLE, Parameter, parameter
from skipstack.models.training.gradients import clip, penalise
from skipstack.models.training.lane_optimiser import LaneOptimiser
from skipstack.models.training.optimisers import LaneAdam, optimiser
from skipstack.models.training.schedule import next_learning_rate, shares
from tests.models.kernels.chosen import chosen

RATES = (0.1, 0.05, 0.007)
LONGEST = 4.2


def lanes() -> dict[str, Parameter]:
    generator = torch.Generator().manual_seed(0)
    made = {"table": parameter(3, 5, 2, role=TABLE), "bias": parameter(3, 4, role=BIAS)}
    for each in made.values():
        each.data = torch.randn(each.shape, generator=generator, dtype=torch.float64)
    return made


def loss(parameters: Mapping[str, Tensor], step: int) -> Tensor:
    """A function whose gradient differs from step to step and from lane to lane."""
    return sum(((value - step).sin() * (value + 0.1)).sum() for value in parameters.values())  # type: ignore[return-value]


def torchs(config: Optimiser, named: Mapping[str, Tensor], rate: float) -> torch.optim.Optimizer:
    parameters = list(named.values())
    if isinstance(config, Sgd):
        return torch.optim.SGD(parameters, lr=rate, momentum=config.momentum)
    if isinstance(config, Adagrad):
        return torch.optim.Adagrad(parameters, lr=rate, eps=config.epsilon)
    if isinstance(config, AdamW):
        groups = [
            {"params": [value], "weight_decay": 0.0 if name == "bias" else config.weight_decay}
            for name, value in named.items()
        ]
        return torch.optim.AdamW(groups, lr=rate, betas=(config.beta1, config.beta2), eps=config.epsilon)
    return torch.optim.Adam(parameters, lr=rate, betas=(config.beta1, config.beta2), eps=config.epsilon)


@pytest.mark.first(4)
@pytest.mark.parametrize("kernels", ["compiled", "reference"])
@pytest.mark.parametrize(
    "config",
    [
        Sgd(),
        Sgd(momentum=0.9),
        Adam(beta1=0.8, beta2=0.95, epsilon=1e-3),
        AdamW(beta1=0.8, beta2=0.95, epsilon=1e-3, weight_decay=0.3),
        Adagrad(),
        Adagrad(epsilon=0.1),
    ],
    ids=str,
)
def test_each_lane_moves_as_torchs_optimiser_moves_it_alone(config: Optimiser, kernels: Kernels) -> None:
    ours = lanes()
    fused = optimiser(config, ours)
    for step in range(7):
        for value in ours.values():
            value.grad = None
        loss(ours, step).backward()
        with chosen(kernels):
            fused.step(torch.tensor(RATES, dtype=torch.float64))
    for lane, rate in enumerate(RATES):
        theirs = {name: value.detach()[lane].clone().requires_grad_() for name, value in lanes().items()}
        solo = torchs(config, theirs, rate)
        for step in range(7):
            solo.zero_grad()
            loss(theirs, step).backward()
            solo.step()
        for name, value in theirs.items():
            assert (ours[name][lane] - value).abs().max() < 1e-12


@pytest.mark.parametrize("counted", [False, True], ids=["counted by the host", "counted on the device"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("config", [Sgd(), Sgd(momentum=0.9), Adam(), AdamW(), Adagrad()], ids=str)
def test_a_gpu_refuses_the_update_of_no_optimiser_in_any_precision(
    config: Optimiser, dtype: torch.dtype, counted: bool
) -> None:
    """A GPU's kernel of Adam reads rates in float32 alone: one in float64 raised."""
    accelerator = Accelerator()
    with accelerator:
        ours = {name: torch.zeros(3, 5, device=accelerator.device, dtype=dtype) for name in ("weight", "bias")}
        fused = optimiser(config, ours, biases=True)
        if counted:
            fused.count_on(accelerator.device)
        before = accelerator.work.waits
        for value in ours.values():
            value.grad = torch.ones_like(value)
        fused.step(torch.zeros(3, device=accelerator.device, dtype=dtype))
        assert accelerator.work.waits == before


def test_the_simulated_gpu_refuses_a_rate_in_float64_as_torchs_kernel_does() -> None:
    accelerator = Accelerator()
    with accelerator:
        weight, gradient, mean, square = ([torch.zeros(5, device=accelerator.device).double()] for _ in range(4))
        step = torch.ones((), device=accelerator.device)
        constants = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False}
        for rate, refused in ((step, False), (step.double(), True)):
            with pytest.raises(RefusedError, match="float32") if refused else nullcontext():
                torch._fused_adam_(weight, gradient, mean, square, [], [step], lr=rate, **constants)


@pytest.mark.parametrize("counted", [False, True], ids=["counted by the host", "counted on the device"])
def test_adam_in_float64_on_a_gpu_is_the_kernels_of_a_cpu(counted: bool) -> None:
    """Its operations, on a CPU's numbers."""
    config, found = Adam(beta1=0.8, beta2=0.95, epsilon=1e-3), []
    for whole in (LaneAdam.update, LaneOptimiser.update):
        ours = lanes()
        subject = optimiser(config, ours)
        if counted:
            subject.count_on(torch.device("cpu"))
        for step in range(7):
            for value in ours.values():
                value.grad = None
            loss(ours, step).backward()
            with chosen("reference"), pytest.MonkeyPatch.context() as patch:
                patch.setattr(LaneAdam, "update", whole)
                subject.step(torch.tensor(RATES, dtype=torch.float64))
        found.append(ours)
    kernels, plain = found
    for name, value in kernels.items():
        assert (plain[name] - value).abs().max() < 1e-12


def test_clipping_is_torchs_on_each_lane_alone() -> None:
    ours = lanes()
    loss(ours, 3).backward()
    before = {name: value.grad.clone() for name, value in ours.items() if value.grad is not None}
    clip(ours, LONGEST)
    norms = []
    for lane in range(3):
        theirs = [value.detach()[lane].clone().requires_grad_() for value in ours.values()]
        for value, gradient in zip(theirs, before.values(), strict=True):
            value.grad = gradient[lane].clone()
        norms.append(float(torch.nn.utils.clip_grad_norm_(theirs, LONGEST)))
        for value, name in zip(theirs, ours, strict=True):
            assert value.grad is not None
            gradient = ours[name].grad
            assert gradient is not None
            # torch adds 1e-6 to the norm that it divides by
            assert torch.allclose(gradient[lane], value.grad, rtol=1e-6, atol=0)
    assert min(norms) < LONGEST < max(norms), "the test needs a lane that is clipped and one that is not"


def test_the_halving_rule_is_the_papers_lane_by_lane() -> None:
    rates = torch.tensor([0.02, 0.02, 0.02, 0.0004, 0.02, 0.02], dtype=torch.float64)
    before = torch.tensor([0.100, 0.100, 0.100, 0.100, torch.nan, 0.0], dtype=torch.float64)
    after = torch.tensor([0.0996, 0.099, 0.1004, 0.1, 0.1, 0.0], dtype=torch.float64)
    expected = []
    for rate, e_p, e_c in zip(rates.tolist(), before.tolist(), after.tolist(), strict=True):
        small = e_p == e_c == 0 or (e_p > 0 and abs(e_p - e_c) / e_p <= 0.005)
        expected.append(rate / 2 if small and rate >= 0.0005 else rate)
    halved = next_learning_rate(Halving(), rates, before, after, done=1, left=9)
    assert np.allclose(halved.numpy(), expected, rtol=0, atol=0)
    assert expected == [0.01, 0.02, 0.01, 0.0004, 0.02, 0.01]


def test_a_linear_rate_falls_by_as_much_after_each_epoch_to_0_after_the_last() -> None:
    epochs, error = 5, torch.zeros(3, dtype=torch.float64)
    rate = first = torch.tensor(RATES, dtype=torch.float64)
    for epoch in range(1, epochs + 3):
        share = max(epochs - epoch + 1, 0) / epochs
        assert torch.allclose(rate, first * share, rtol=1e-14, atol=0)
        rate = next_learning_rate(Linear(), rate, error, error, done=epoch, left=epochs - epoch)


def test_a_decaying_rate_stays_for_some_epochs_then_falls_by_a_factor_before_each() -> None:
    rate, error, rates = torch.tensor([1.0, 0.5], dtype=torch.float64), torch.zeros(2, dtype=torch.float64), []
    for epoch in range(1, 6):
        rates.append(rate.tolist())
        rate = next_learning_rate(Decay(factor=0.5, after=3), rate, error, error, done=epoch, left=0)
    assert rates == [[1.0, 0.5], [1.0, 0.5], [1.0, 0.5], [0.5, 0.25], [0.25, 0.125]]


def test_a_rate_falls_with_the_inverse_of_time() -> None:
    rate, error, rates = torch.tensor([1.0, 0.5], dtype=torch.float64), torch.zeros(2, dtype=torch.float64), []
    for epoch in range(1, 5):
        rates.append(rate.tolist())
        rate = next_learning_rate(InverseTime(decay=0.25), rate, error, error, done=epoch, left=0)
    expected = [[start / (1 + 0.25 * epoch) for start in (1.0, 0.5)] for epoch in range(4)]
    assert torch.allclose(torch.tensor(rates), torch.tensor(expected), rtol=1e-15, atol=0)


@pytest.mark.parametrize(("epochs", "updates", "warmup"), [(4, 5, 0), (4, 5, 1.4), (3, 10, 0.3), (2, 7, 1)])
def test_a_cosine_with_warm_up_is_torchs_update_by_update(epochs: int, updates: int, warmup: float) -> None:
    ours = [
        share
        for done in range(epochs)
        for share in shares(Cosine(warmup=warmup), done=done, epochs=epochs, updates=updates)
    ]
    total, risen = epochs * updates, round(warmup * updates)
    rates = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedules = torch.optim.lr_scheduler
    theirs: torch.optim.lr_scheduler.LRScheduler = schedules.CosineAnnealingLR(rates, T_max=total - risen)
    if risen:
        rising = schedules.LinearLR(rates, start_factor=1 / risen, total_iters=risen - 1)
        theirs = schedules.SequentialLR(rates, [rising, theirs], milestones=[risen])
    expected = []
    for _ in range(total):
        expected.append(theirs.get_last_lr()[0])
        rates.step()
        theirs.step()
    assert np.allclose(ours, expected, rtol=0, atol=1e-12)
    assert max(ours) == 1
    assert shares(Cosine(warmup=warmup), done=epochs, epochs=epochs, updates=updates) == [0.0] * updates


def test_schedules_by_epoch_leave_the_rate_alone_within_an_epoch() -> None:
    for each in (Halving(), Linear(), Decay(), InverseTime()):
        assert shares(each, done=2, epochs=4, updates=3) == [1.0] * 3
    rate, error = torch.tensor(RATES, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    assert torch.equal(next_learning_rate(Cosine(), rate, error, error, done=3, left=2), rate)


@pytest.mark.parametrize("biases", [False, True])
def test_a_bias_decays_only_where_all_parameters_are_penalised(biases: bool) -> None:
    ours, config = lanes(), AdamW(weight_decay=0.5)
    before = {name: value.detach().clone() for name, value in ours.items()}
    for value in ours.values():
        value.grad = torch.zeros_like(value)
    optimiser(config, ours, biases=biases).step(torch.tensor(RATES, dtype=torch.float64))
    for name, value in ours.items():
        factor = 1 - torch.tensor(RATES, dtype=torch.float64) * (0.5 if biases or name == "table" else 0)
        assert torch.allclose(value.detach(), before[name] * factor.view(-1, *[1] * (value.dim() - 1)), rtol=1e-15)


def test_the_penalty_is_the_gradient_of_half_lambda_times_the_square_of_each_lanes_weights_alone() -> None:
    ours, l2 = lanes(), 0.03
    loss(ours, 3).backward()
    before = {name: value.grad.clone() for name, value in ours.items() if value.grad is not None}
    penalise(ours, [l2])
    for lane in range(3):
        weights = ours["table"].detach()[lane].clone().requires_grad_()
        (l2 / 2 * weights.square().sum()).backward()
        assert weights.grad is not None
        gradient = ours["table"].grad
        assert gradient is not None
        assert torch.allclose(gradient[lane] - before["table"][lane], weights.grad, rtol=0, atol=1e-15)
    assert torch.equal(ours["bias"].grad, before["bias"])  # type: ignore[arg-type]
