"""Optimisers, lane by lane."""

from collections.abc import Iterable, Sequence
from typing import assert_never

import torch
from torch import Tensor
from torch.optim.adam import adam

from skipstack.models.training.config import Adagrad, Adam, LazyAdam, Optimiser, Sgd
from skipstack.models.training.lane_optimiser import LaneOptimiser, Named, many_rows


class LaneSgd(LaneOptimiser):
    """v = momentum * v + gradient; the direction is v. Without momentum, by rows."""

    def __init__(self, parameters: Named, config: Sgd) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else ())
        self.momentum = config.momentum

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The velocity."""
        return slots[0].mul_(self.momentum).add_(gradient) if slots else gradient

    def by_row(self, table: Tensor) -> bool:
        """Without momentum a row without a gradient stays."""
        return not self.momentum and many_rows(table)


class LaneAdagrad(LaneOptimiser):
    """s = s + g^2; the direction is g / (sqrt(s) + epsilon) (Duchi, Hazan and Singer, 2011, diagonal matrices). By
    rows.
    """

    def __init__(self, parameters: Named, config: Adagrad) -> None:
        super().__init__(parameters, ("square",))
        self.epsilon = config.epsilon

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The gradient over the root of the sum of all squares so far."""
        square = slots[0].addcmul_(gradient, gradient)
        return gradient / square.sqrt().add_(self.epsilon)

    def by_row(self, table: Tensor) -> bool:
        """A row without a gradient stays, and so does its sum."""
        return many_rows(table)


class LaneAdam(LaneOptimiser):
    """m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, both corrected for their start; the direction is
    m / (sqrt(v) + epsilon) (Kingma and Ba, 2015, algorithm 1). All parameters of a lane are one call of torch's fused
    kernel, which reads and writes each number once."""

    def __init__(self, parameters: Named, config: Adam | LazyAdam) -> None:
        super().__init__(parameters, ("mean", "square"))
        assert all(each.is_contiguous() for each in parameters.values()), "the kernel reads memory in its order"
        self.config = config

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Along the corrected mean over the root of the corrected square."""
        dense = {name: gradient.contiguous() for name, gradient in gradients.items()}
        done = float(self.steps - 1)
        for lane, rate in enumerate(learning_rate_R.unbind()):
            adam(
                [self.parameters[name][lane] for name in dense],
                [gradient[lane] for gradient in dense.values()],
                self._of_lane("mean", dense, lane),
                self._of_lane("square", dense, lane),
                max_exp_avg_sqs=[],
                state_steps=list(
                    rate.new_full((len(dense),), done, dtype=torch.float32).unbind()
                ),  # adam counts on in them
                fused=True,
                amsgrad=False,
                beta1=self.config.beta1,
                beta2=self.config.beta2,
                lr=rate,
                weight_decay=0.0,
                eps=self.config.epsilon,
                maximize=False,
            )

    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """As the kernel has it, for rows."""
        (mean, square), done = slots, float(self.steps)
        beta1, beta2 = self.config.beta1, self.config.beta2
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (square / (1 - beta2**done)).sqrt_().add_(self.config.epsilon)
        return mean.div(1 - beta1**done).div_(root)

    def _of_lane(self, slot: str, names: Iterable[str], lane: int) -> list[Tensor]:
        return [self.slots[f"{slot}.{name}"][lane] for name in names]


class LaneLazyAdam(LaneAdam):
    """Adam, by rows on every device: not the same as Adam (``models/training/config.py`` says in what)."""

    def by_row(self, table: Tensor) -> bool:
        """Which rows move is what it is about."""
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
