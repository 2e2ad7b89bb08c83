"""Initial values after wu2017 (section 5.1.2), lane by lane. A parameter's role decides which it gets."""

import math
from collections.abc import Sequence
from typing import assert_never

import torch
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive
from skipstack.models.ground.device import SIMULATED
from skipstack.models.ground.parameters import Start, role_of


@torch.no_grad()
def initialise(model: nn.Module, seeds: Sequence[int], scale: float, spread: float | None = None) -> None:
    """Fill every parameter of ``model``; row r of each comes from ``seeds[r]`` and its name alone.

    With a ``spread``, every parameter that does not start at zero is uniform in [-spread, spread) (Zaremba et al.,
    2014), and ``scale`` is not read.

    Values are drawn in float32 on the CPU, so they are the same in every precision, on every
    device, and whatever other parameters the network has. The simulated device has no values.
    """
    for name, parameter in model.named_parameters():
        start = role_of(parameter).start
        if parameter.device.type == SIMULATED:
            continue
        for seed, row in zip(seeds, parameter, strict=True):
            generator = torch.Generator().manual_seed(derive(seed, "initialise", name))
            row.copy_(_values(start, row.shape, scale, spread, generator))


def _values(start: Start, shape: torch.Size, scale: float, spread: float | None, generator: torch.Generator) -> Tensor:
    """N(0, 1/sqrt(fan_in)) * scale; we read 1/sqrt(fan_in) as the standard deviation.

    A lookup has no fan in; we take the width of its vectors.
    """
    if start == "zero":
        return torch.zeros(shape)
    if spread is not None:
        return torch.rand(shape, generator=generator).mul_(2).sub_(1).mul_(spread)
    normal = torch.randn(shape, generator=generator)
    match start:
        case "orthogonal":
            return _orthogonal(normal)
        case "width":
            return normal.mul_(scale / math.sqrt(max(shape[-1], 1)))
        case "fan_in":
            return normal.mul_(scale / math.sqrt(shape[-2]))
        case _:
            assert_never(start)


def _orthogonal(normal_DHX: Tensor) -> Tensor:
    """Random orthogonal blocks (Saxe et al., 2013), one H x H block a gate, X = gates * H.

    The lecture's LSTM has two such rows of blocks, and one more axis for them: from h_{t-1} and from s~_{t-1}.
    """
    hidden, orthogonal_DHX = normal_DHX.shape[-2], torch.empty_like(normal_DHX, dtype=torch.float64)
    for block, made in zip(*(torch.split(each, hidden, dim=-1) for each in (normal_DHX, orthogonal_DHX)), strict=True):
        _make_orthogonal(block, made)
    return orthogonal_DHX


def _make_orthogonal(normal_DHH: Tensor, made_DHH: Tensor) -> None:
    """Orthogonal matrices, each equally likely: the Q of A = QR, where A is normal and R's diagonal positive.

    The k-th Householder reflection of such an A is made from a vector that is normal, too, and independent of those
    before; so we draw these, and no A is reduced (Stewart, 1980, The efficient generation of random orthogonal
    matrices). With x the k-th column from the diagonal on,
    r = -sgn(x_1) |x|,   v = x / (x_1 - r),   tau = 1 - x_1 / r,   Q = prod_k (I - tau_k v_k v_k^T) sgn(r_k)
    """
    x_DHH = normal_DHH.double().tril_()
    first_DH = x_DHH.diagonal(dim1=-2, dim2=-1).clone()
    r_DH = -torch.linalg.vector_norm(x_DHH, dim=-2).copysign(first_DH)
    v_DHH = x_DHH.div_((first_DH - r_DH).unsqueeze(-2))
    q_DHH = torch.linalg.householder_product(v_DHH, 1 - first_DH / r_DH)
    torch.mul(q_DHH, r_DH.sign().unsqueeze(-2), out=made_DHH)
