"""Computes the gradients of the loss, adds the L2 penalty, and clips gradients.

Axes: R lanes (a lane is one seed's copy of the network), B sentences, U rows of a table that a batch looked up.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from skipstack.models.ground.parameters import role_of
from skipstack.models.kernels.ordered import added_up
from skipstack.models.kernels.rows import gradient_rows
from skipstack.models.layers.lanes import lane_by_lane
from skipstack.models.training.lane_optimiser import Named

run: Any = getattr(torch.autograd.graph, "_engine_run_backward", None)
"""The private function behind ``torch.autograd.backward``; None if this version of torch lacks the function."""


def backward(loss_RB: Tensor, share_RB: Tensor) -> None:
    """Add the gradient of ``(share_RB * loss_RB).sum()`` to every parameter's ``grad``.

    ``loss_RB``: the loss of each sentence. ``share_RB``: the weight of each sentence. Calls ``run`` if possible, since
    ``torch.autograd.backward`` first loads sympy, which takes half a second.
    """
    assert share_RB.shape == loss_RB.shape
    if run is None:
        torch.autograd.backward(loss_RB, share_RB)
    else:
        run((loss_RB,), (share_RB,), False, False, (), allow_unreachable=True, accumulate_grad=True)


@torch.no_grad()
def penalise(parameters: Named, l2_R: Sequence[float], *, biases: bool = False) -> None:
    """Add l2 * theta, the gradient of the penalty l2/2 |theta|^2 (dinarelli2016 eq. 1), to the parameters' gradients.

    ``l2_R``: the l2 of each lane. ``biases``: whether theta is all parameters, as in chen2017 eq. 20. If not, theta
    omits biases and gains (``Role.decays``), as dinarelli2016 omits biases.
    """
    for parameter in parameters.values():
        if parameter.grad is not None and (biases or role_of(parameter).decays):
            if len(set(l2_R)) == 1:
                parameter.grad.add_(parameter, alpha=l2_R[0])
                continue
            for gradient, lane, l2 in zip(parameter.grad, parameter, l2_R, strict=True):
                gradient.add_(lane, alpha=l2)


@torch.no_grad()
def clip(parameters: Named, longest: float | Tensor) -> None:
    """Scale each lane's gradient of all parameters down to a Euclidean norm of at most ``longest``.

    ``longest``: a number for all lanes, or a tensor longest_R with a number for each lane.
    """
    learnt = [(each, each.grad) for each in parameters.values() if each.grad is not None]
    norms = (_norm(*each) for each in learnt)
    norm_R = lane_by_lane(lambda *norms_R: torch.linalg.vector_norm(torch.stack(norms_R), dim=0), *norms)
    scale_R = (norm_R.reciprocal() * longest).clamp(max=1)
    for parameter, gradient in learnt:
        if gradient.is_sparse:
            (lane_U, _), values_UE = gradient_rows(parameter)
            values_UE.mul_(scale_R[lane_U].unsqueeze(1))
        else:
            gradient.mul_(scale_R.view(-1, *[1] * (gradient.dim() - 1)))


def _norm(parameter: Tensor, gradient: Tensor) -> Tensor:
    """Return the Euclidean norm of each lane's gradient of one parameter: norm_R."""
    if gradient.is_sparse:
        (lane_U, _), values_UE = gradient_rows(parameter)
        norm_U = torch.linalg.vector_norm(values_UE, dim=1)
        return added_up(norm_U.square(), lane_U, len(parameter)).sqrt_()
    return lane_by_lane(lambda each: torch.linalg.vector_norm(each.flatten(1), dim=1), gradient)
