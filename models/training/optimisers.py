"""Optimisers, lane by lane."""

from collections.abc import Sequence
from functools import cache
from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Adagrad, Adam, LazyAdam, Optimiser, Sgd
from skipstack.models.training.lane_optimiser import LaneOptimiser, Named, many_rows


class LaneSgd(LaneOptimiser):
    """v = momentum * v + gradient; the direction is v. Without momentum, rows can be updated alone."""

    def __init__(self, parameters: Named, config: Sgd) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else ())
        self.momentum = config.momentum

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The velocity."""
        return slots[0].mul_(self.momentum).add_(gradient) if slots else gradient

    @property
    def rule(self) -> str:
        """The name of its compiled version; without momentum there is no velocity to keep."""
        return "momentum" if self.momentum else "sgd"

    def constants(self) -> tuple[float, ...]:
        """The momentum."""
        return (self.momentum,)

    def by_row(self, table: Tensor) -> bool:
        """True without momentum, for large tables on a CPU: a row without a gradient does not move."""
        return not self.momentum and many_rows(table)


class LaneAdagrad(LaneOptimiser):
    """s = s + g^2; the direction is g / (sqrt(s) + epsilon) (Duchi, Hazan and Singer, 2011, diagonal matrices).

    Rows of a table can be updated alone.
    """

    def __init__(self, parameters: Named, config: Adagrad) -> None:
        super().__init__(parameters, ("square",))
        self.epsilon = config.epsilon

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The gradient over the root of the sum of all squares so far."""
        square = slots[0].addcmul_(gradient, gradient)
        return gradient / square.sqrt().add_(self.epsilon)

    @property
    def rule(self) -> str:
        """The name of its compiled version."""
        return "adagrad"

    def constants(self) -> tuple[float, ...]:
        """The epsilon that avoids a division by zero."""
        return (self.epsilon,)

    def by_row(self, table: Tensor) -> bool:
        """True for large tables on a CPU: a row without a gradient does not change, nor does its sum."""
        return many_rows(table)


class LaneAdam(LaneOptimiser):
    """m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, both corrected for their start; the direction is
    m / (sqrt(v) + epsilon) (Kingma and Ba, 2015, algorithm 1). All parameters of a lane are one call of torch's fused
    kernel, which reads and writes each number once; except in float64 on a GPU, where the kernel takes rates in float32
    only."""

    def __init__(self, parameters: Named, config: Adam | LazyAdam) -> None:
        super().__init__(parameters, ("mean", "square"))
        self.config = config
        self._by_lane = cache(self._views)

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Moves along the corrected mean over the root of the corrected square."""
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
        """The number of updates, this one included, as the kernel reads it."""
        if isinstance(self.steps, int):
            return rate.new_full((), float(self.steps), dtype=torch.float32)
        return self.steps.float()

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The kernel's direction, for rows and for float64 on a GPU."""
        mean, square = slots
        done = float(self.steps) if isinstance(self.steps, int) else self.steps.double()
        beta1, beta2 = self.config.beta1, self.config.beta2
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (square / (1 - beta2**done)).sqrt_().add_(self.config.epsilon)
        return mean.div(1 - beta1**done).div_(root)

    @property
    def rule(self) -> str:
        """The name of its compiled version, for rows only: for whole parameters, torch's kernel is as fast."""
        return "adam"

    def constants(self) -> tuple[float, ...]:
        """beta1, beta2, epsilon, and the bias corrections of both averages after this many steps."""
        beta1, beta2, done = self.config.beta1, self.config.beta2, float(self.steps)
        return beta1, beta2, self.config.epsilon, 1 - beta1**done, 1 - beta2**done

    def _views(self, names: tuple[str, ...]) -> list[tuple[list[Tensor], ...]]:
        """The parameters of each lane with these names, their means and squares, as views to be updated in place."""
        by_name = [[each.detach().unbind() for each in self.tensors[name]] for name in names]
        return [
            tuple([tensors[kind][lane] for tensors in by_name] for kind in range(3))
            for lane in range(len(by_name[0][0]))
        ]


class LaneLazyAdam(LaneAdam):
    """Adam by rows on every device; ``models/configs/training.py`` says how it differs from Adam."""

    def by_row(self, table: Tensor) -> bool:
        """True: updating only these rows defines it."""
        return True


def optimiser(config: Optimiser, parameters: Named) -> LaneOptimiser:
    """The optimiser that ``config`` describes."""
    match config:
        case Sgd():
            return LaneSgd(parameters, config)
        case Adam():
            return LaneAdam(parameters, config)
        case LazyAdam():
            return LaneLazyAdam(parameters, config)
        case Adagrad():
            return LaneAdagrad(parameters, config)
        case _:
            assert_never(config)
