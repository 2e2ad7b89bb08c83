"""SGD, AdaGrad, Adam, AdamW and lazy Adam with a learning rate for each lane (one seed's copy of the network)."""

from collections.abc import Sequence
from functools import cache
from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Adagrad, Adam, AdamW, LazyAdam, Optimiser, Sgd
from skipstack.models.ground.parameters import role_of
from skipstack.models.training.lane_optimiser import LaneOptimiser, Named, many_rows
from skipstack.models.training.pretrained import PretrainedRows


class LaneSgd(LaneOptimiser):
    """Stochastic gradient descent with classical momentum: v = momentum * v + gradient; the direction is v."""

    def __init__(self, parameters: Named, config: Sgd) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else (), "momentum" if config.momentum else "sgd")
        self.momentum = config.momentum

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Update the velocity v and return it. Without momentum, return the gradient."""
        return slots[0].mul_(self.momentum).add_(gradient) if slots else gradient

    def constants(self) -> tuple[float, ...]:
        """Return the momentum."""
        return (self.momentum,)

    def by_row(self, table: Tensor) -> bool:
        """Whether to update a table by rows: True for a large table on a CPU, unless momentum moves all rows."""
        return not self.momentum and many_rows(table)


class LaneAdagrad(LaneOptimiser):
    """Diagonal AdaGrad (Duchi, Hazan and Singer, 2011): s = s + g^2, direction g / (sqrt(s) + epsilon), gradient g."""

    def __init__(self, parameters: Named, config: Adagrad) -> None:
        super().__init__(parameters, ("square",), "adagrad")
        self.epsilon = config.epsilon

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Add g^2 to s, and return g / (sqrt(s) + epsilon)."""
        square = slots[0].addcmul_(gradient, gradient)
        return gradient / square.sqrt().add_(self.epsilon)

    def constants(self) -> tuple[float, ...]:
        """Return epsilon."""
        return (self.epsilon,)

    def by_row(self, table: Tensor) -> bool:
        """Whether to update a table by rows: True for a large table on a CPU. All other rows keep their values."""
        return many_rows(table)


class LaneAdam(LaneOptimiser):
    """Adam (Kingma and Ba, 2015, algorithm 1): m = b1 m + (1 - b1) g and v = b2 v + (1 - b2) g^2, where g is the
    gradient. The direction is m / (sqrt(v) + epsilon), with m and v corrected for bias.

    One call of torch's fused kernel updates all parameters of a lane, except tables whose gradient has only some rows.
    The kernel reads and writes each number once. Old versions of torch lack this kernel. In float64 on a GPU the kernel
    is not used, since there it accepts only learning rates in float32. Our compiled kernel updates the rows of tables.
    It updates whole parameters only if torch's kernel, which is as fast, cannot run.
    """

    def __init__(self, parameters: Named, config: Adam | AdamW | LazyAdam) -> None:
        super().__init__(parameters, ("mean", "square"), "adam")
        self.config = config
        self._by_lane = cache(self._views)

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Update each parameter named in ``gradients``, by torch's fused kernel if possible."""
        refused = learning_rate_R.dtype != torch.float32 and not learning_rate_R.is_cpu
        if refused or not hasattr(torch, "_fused_adam_"):
            super().update(gradients, learning_rate_R)
            return
        names = tuple(gradients)
        gradients_of_lanes = zip(*(gradient.contiguous().unbind() for gradient in gradients.values()), strict=True)
        rates = learning_rate_R.unbind()
        for (parameters, means, squares), own, rate in zip(
            self._by_lane(names), gradients_of_lanes, rates, strict=True
        ):
            steps = [self._done(rate)] * len(names)
            # the kernel of ``torch.optim.Adam(fused=True)``, without its checks at each step
            torch._fused_adam_(
                parameters,
                list(own),
                means,
                squares,
                max_exp_avg_sqs=[],
                state_steps=steps,
                lr=rate,
                beta1=self.config.beta1,
                beta2=self.config.beta2,
                weight_decay=0.0,
                eps=self.config.epsilon,
                amsgrad=False,
                maximize=False,
            )

    def _done(self, rate: Tensor) -> Tensor:
        """Return the number of updates, including the current one, as a float32 tensor for torch's kernel."""
        if isinstance(self.steps, int):
            return rate.new_full((), float(self.steps), dtype=torch.float32)
        return self.steps.float()

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Update m and v, and return the direction. Used where neither torch's nor a compiled kernel is available."""
        mean, square = slots
        done = float(self.steps) if isinstance(self.steps, int) else self.steps.double()
        beta1, beta2 = self.config.beta1, self.config.beta2
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (square / (1 - beta2**done)).sqrt_().add_(self.config.epsilon)
        return mean.div(1 - beta1**done).div_(root)

    def constants(self) -> tuple[float, ...]:
        """Return the arguments in the kernel's order. The last two are the bias corrections at the current step."""
        beta1, beta2, done = self.config.beta1, self.config.beta2, float(self.steps)
        return beta1, 1 - beta1, beta2, 1 - beta2, self.config.epsilon, 1 - beta1**done, 1 - beta2**done

    def _views(self, names: tuple[str, ...]) -> list[tuple[list[Tensor], ...]]:
        """Return three lists for each lane: the parameters with these names, their m, and their v, as views."""
        by_name = [[each.detach().unbind() for each in self.tensors[name]] for name in names]
        return [
            tuple([tensors[kind][lane] for tensors in by_name] for kind in range(3))
            for lane in range(len(by_name[0][0]))
        ]


class LaneAdamW(LaneAdam):
    """Adam with decoupled weight decay: each weight is multiplied by 1 - rate * weight_decay, then moved by Adam.

    ``biases``: whether biases and gains decay, too. ``pretrained``: rows that keep their values if frozen.
    """

    def __init__(self, parameters: Named, config: AdamW, *, biases: bool, pretrained: PretrainedRows | None) -> None:
        super().__init__(parameters, config)
        self.decays = {
            name: config.weight_decay * _moving(parameter, pretrained)
            for name, parameter in self.parameters.items()
            if config.weight_decay and (biases or role_of(parameter).decays)
        }

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Shrink the weights among the parameters named in ``gradients``, then update all of them."""
        for name, gradient in gradients.items():
            if name in self.decays:
                rate = learning_rate_R.view(-1, *[1] * (gradient.dim() - 1))
                self.parameters[name].mul_(1 - rate * self.decays[name])
        super().update(gradients, learning_rate_R)


def _moving(parameter: Tensor, pretrained: PretrainedRows | None) -> float | Tensor:
    """Return 1 for each row that training moves and 0 for each frozen row, or the number 1 if no row can be frozen."""
    return pretrained.moving() if pretrained is not None and pretrained.table is parameter else 1.0


class LaneLazyAdam(LaneAdam):
    """Adam that updates only the rows of tables that were looked up, unless there is an L2 penalty. ``LazyAdam`` in
    ``models/configs/training.py`` describes the differences from Adam.
    """

    def by_row(self, table: Tensor) -> bool:
        """Return True, on every device and for every size."""
        return True


def optimiser(
    config: Optimiser, parameters: Named, *, biases: bool = False, pretrained: PretrainedRows | None = None
) -> LaneOptimiser:
    """Create the optimiser for a config. ``biases``, ``pretrained``: as in ``LaneAdamW``."""
    match config:
        case Sgd():
            return LaneSgd(parameters, config)
        case Adam():
            return LaneAdam(parameters, config)
        case AdamW():
            return LaneAdamW(parameters, config, biases=biases, pretrained=pretrained)
        case LazyAdam():
            return LaneLazyAdam(parameters, config)
        case Adagrad():
            return LaneAdagrad(parameters, config)
        case _:
            assert_never(config)
