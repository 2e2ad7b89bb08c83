"""Optimisers that update each lane (one seed's copy of the network) with the lane's own learning rate."""

from collections.abc import Sequence
from functools import cache
from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Adagrad, Adam, LazyAdam, Optimiser, Sgd
from skipstack.models.training.lane_optimiser import LaneOptimiser, Named, many_rows


class LaneSgd(LaneOptimiser):
    """Stochastic gradient descent with classical momentum: v = momentum * v + gradient; the direction is v.

    Without momentum, the rows of a table that have a gradient can be updated alone.
    """

    def __init__(self, parameters: Named, config: Sgd) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else ())
        self.momentum = config.momentum

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Update the velocity v and return it; without momentum, return the gradient."""
        return slots[0].mul_(self.momentum).add_(gradient) if slots else gradient

    @property
    def rule(self) -> str:
        """The name of the compiled kernel: without momentum it is a simpler one, without a velocity."""
        return "momentum" if self.momentum else "sgd"

    def constants(self) -> tuple[float, ...]:
        """Return the momentum."""
        return (self.momentum,)

    def by_row(self, table: Tensor) -> bool:
        """Whether the gradient of a table should have only the rows that were looked up.

        True for large tables on a CPU if there is no momentum: a row without a gradient then does not move.
        """
        return not self.momentum and many_rows(table)


class LaneAdagrad(LaneOptimiser):
    """AdaGrad: s = s + g^2, where g is the gradient; the direction is g / (sqrt(s) + epsilon) (Duchi, Hazan and Singer,
    2011, diagonal matrices).

    The rows of a table that have a gradient can be updated alone.
    """

    def __init__(self, parameters: Named, config: Adagrad) -> None:
        super().__init__(parameters, ("square",))
        self.epsilon = config.epsilon

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Add the squared gradient to s, and return the gradient divided by the root of s plus epsilon."""
        square = slots[0].addcmul_(gradient, gradient)
        return gradient / square.sqrt().add_(self.epsilon)

    @property
    def rule(self) -> str:
        """The name of the compiled kernel."""
        return "adagrad"

    def constants(self) -> tuple[float, ...]:
        """Return the epsilon that avoids a division by zero."""
        return (self.epsilon,)

    def by_row(self, table: Tensor) -> bool:
        """Whether the gradient of a table should have only the rows that were looked up.

        True for large tables on a CPU: a row without a gradient does not change, nor does its sum s.
        """
        return many_rows(table)


class LaneAdam(LaneOptimiser):
    """Adam: m = b1 m + (1 - b1) g and v = b2 v + (1 - b2) g^2, both corrected for their start at 0, where g is the
    gradient; the direction is m / (sqrt(v) + epsilon) (Kingma and Ba, 2015, algorithm 1).

    All parameters of a lane, except tables whose gradient has only some rows, are updated in one call of torch's fused
    kernel, which reads and writes each number once. The kernel is not used if torch lacks it, nor in float64 on a GPU,
    where it takes learning rates in float32 only.
    """

    def __init__(self, parameters: Named, config: Adam | LazyAdam) -> None:
        super().__init__(parameters, ("mean", "square"))
        self.config = config
        self._by_lane = cache(self._views)

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Subtract each lane's learning rate times the direction from each parameter named in ``gradients``, by torch's
        fused kernel if it can.
        """
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
        """Return the number of updates, the current one included, as torch's kernel reads it: a tensor in float32."""
        if isinstance(self.steps, int):
            return rate.new_full((), float(self.steps), dtype=torch.float32)
        return self.steps.float()

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Update the averages m and v, and return the direction that torch's kernel would compute.

        Used where neither torch's kernel nor a compiled one updates the parameters.
        """
        mean, square = slots
        done = float(self.steps) if isinstance(self.steps, int) else self.steps.double()
        beta1, beta2 = self.config.beta1, self.config.beta2
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (square / (1 - beta2**done)).sqrt_().add_(self.config.epsilon)
        return mean.div(1 - beta1**done).div_(root)

    @property
    def rule(self) -> str:
        """The name of the compiled kernel. It updates rows of tables, and whole parameters only if torch's kernel,
        which is as fast, cannot.
        """
        return "adam"

    def constants(self) -> tuple[float, ...]:
        """Return beta1, beta2, epsilon, and the current step's bias corrections of both averages."""
        beta1, beta2, done = self.config.beta1, self.config.beta2, float(self.steps)
        return beta1, beta2, self.config.epsilon, 1 - beta1**done, 1 - beta2**done

    def _views(self, names: tuple[str, ...]) -> list[tuple[list[Tensor], ...]]:
        """Return for each lane three lists: the parameters with these names, their averages m, and their averages v, as
        views that can be updated in place.
        """
        by_name = [[each.detach().unbind() for each in self.tensors[name]] for name in names]
        return [
            tuple([tensors[kind][lane] for tensors in by_name] for kind in range(3))
            for lane in range(len(by_name[0][0]))
        ]


class LaneLazyAdam(LaneAdam):
    """Adam that updates only the rows of tables that were looked up, on every device, unless there is an L2 penalty.
    ``LazyAdam`` in ``models/configs/training.py`` tells how the result differs from Adam's.
    """

    def by_row(self, table: Tensor) -> bool:
        """Return True: updating only the rows that were looked up is what defines this optimiser."""
        return True


def optimiser(config: Optimiser, parameters: Named) -> LaneOptimiser:
    """Create the optimiser that ``config`` describes."""
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
