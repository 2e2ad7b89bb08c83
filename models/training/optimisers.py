"""Optimisers, lane by lane: each lane has its own learning rate, and no lane's step reads another's.

Every parameter, gradient and slot has the lanes first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import assert_never

import torch
from torch import Tensor
from torch.optim.adam import adam

from skipstack.models.parameters import role_of
from skipstack.models.training.config import Adagrad, Adam, Optimiser, Sgd

Named = Mapping[str, Tensor]


class LaneOptimiser(ABC):
    """Updates parameters in place from their gradients; its slots (momenta) are named ``slot.parameter``."""

    def __init__(self, parameters: Named, slots: tuple[str, ...]) -> None:
        self.parameters = dict(parameters)
        self.slots = {
            f"{slot}.{name}": torch.zeros_like(parameter, requires_grad=False)
            for slot in slots
            for name, parameter in self.parameters.items()
        }
        self.steps = torch.zeros((), dtype=torch.int64)

    @torch.no_grad()
    def step(self, learning_rate_R: Tensor) -> None:
        """One update of every parameter that has a gradient."""
        self.steps += 1
        gradients = {name: each.grad for name, each in self.parameters.items() if each.grad is not None}
        self.update(gradients, learning_rate_R)

    @abstractmethod
    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Subtract each lane's learning rate times the direction from the parameters that have these gradients."""

    def move(self, name: str, direction: Tensor, learning_rate_R: Tensor) -> None:
        """Subtract the direction from one parameter."""
        rate = learning_rate_R.view(-1, *[1] * (direction.dim() - 1))
        self.parameters[name].addcmul_(rate, direction, value=-1)

    def state(self) -> dict[str, Tensor]:
        """The slots and the number of steps."""
        return {**self.slots, "steps": self.steps}

    def load(self, state: Named) -> None:
        """Continue where ``state`` was called."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])


class LaneSgd(LaneOptimiser):
    """v = momentum * v + gradient; the direction is v."""

    def __init__(self, parameters: Named, config: Sgd) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else ())
        self.momentum = config.momentum

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Along the velocity."""
        for name, gradient in gradients.items():
            velocity = self.slots[f"velocity.{name}"].mul_(self.momentum).add_(gradient) if self.momentum else gradient
            self.move(name, velocity, learning_rate_R)


class LaneAdam(LaneOptimiser):
    """m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, both corrected for their start; the direction is
    m / (sqrt(v) + epsilon) (Kingma and Ba, 2015, algorithm 1). All parameters of a lane are one call of torch's fused
    kernel, which reads and writes each number once."""

    def __init__(self, parameters: Named, config: Adam) -> None:
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

    def _of_lane(self, slot: str, names: Iterable[str], lane: int) -> list[Tensor]:
        return [self.slots[f"{slot}.{name}"][lane] for name in names]


class LaneAdagrad(LaneOptimiser):
    """s = s + g^2; the direction is g / (sqrt(s) + epsilon) (Duchi, Hazan and Singer, 2011, diagonal matrices)."""

    def __init__(self, parameters: Named, config: Adagrad) -> None:
        super().__init__(parameters, ("square",))
        self.epsilon = config.epsilon

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Along the gradient over the root of the sum of all squares so far."""
        for name, gradient in gradients.items():
            square = self.slots[f"square.{name}"].addcmul_(gradient, gradient)
            self.move(name, gradient / square.sqrt().add_(self.epsilon), learning_rate_R)


def optimiser(config: Optimiser, parameters: Named) -> LaneOptimiser:
    """The optimiser that ``config`` describes."""
    match config:
        case Sgd():
            return LaneSgd(parameters, config)
        case Adam():
            return LaneAdam(parameters, config)
        case Adagrad():
            return LaneAdagrad(parameters, config)
        case _:
            assert_never(config)


@torch.no_grad()
def penalise(parameters: Named, l2: float) -> None:
    """Add the gradient of l2/2 |theta|^2 (dinarelli2016 eq. 1), l2 * theta, to that of each parameter that decays.

    That paper's theta are its matrices, since it leaves biases out of its notation; those of chen2017 eq. 20 are all
    parameters, scores of moves among them. We leave biases out of the penalty in both.
    """
    for parameter in parameters.values():
        if parameter.grad is not None and role_of(parameter).decays:
            parameter.grad.add_(parameter, alpha=l2)


@torch.no_grad()
def clip(parameters: Named, longest: float) -> None:
    """Scale the gradients of each lane down to a Euclidean norm of at most ``longest`` over all of its parameters."""
    gradients = [parameter.grad for parameter in parameters.values() if parameter.grad is not None]
    norms_NR = torch.stack([torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients])
    norm_R = torch.linalg.vector_norm(norms_NR, dim=0)
    scale_R = (longest / norm_R).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(scale_R.view(-1, *[1] * (gradient.dim() - 1)))
