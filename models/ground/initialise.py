"""Initial values of parameters (wu2017, section 5.1.2), drawn separately for each lane (one seed's copy of a network).

A parameter's role (``models/ground/parameters.py``) determines the kind of its initial values.
"""

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
    """Fill every parameter of ``model`` with initial values. Row r of a parameter belongs to lane r, and depends only
    on ``seeds[r]`` and the parameter's name.

    ``scale``: the factor of normal values. ``spread``: if set, every parameter that does not start at zero or one
    is uniform in [-spread, spread) (Zaremba et al., 2014). ``scale`` is then ignored.

    Values are drawn in float32 on the CPU. So they do not depend on the precision, the device or the network's other
    parameters. Parameters on the simulated device, which stores no values, are skipped.
    """
    for name, parameter in model.named_parameters():
        start = role_of(parameter).start
        if parameter.device.type == SIMULATED:
            continue
        for seed, row in zip(seeds, parameter, strict=True):
            generator = torch.Generator().manual_seed(derive(seed, "initialise", name))
            row.copy_(_values(start, row.shape, scale, spread, generator))


def _values(start: Start, shape: torch.Size, scale: float, spread: float | None, generator: torch.Generator) -> Tensor:
    """Draw the initial values of one lane's part of a parameter. ``start``: the kind of values.

    The paper's formula is N(0, 1/sqrt(fan_in)) * scale; we read 1/sqrt(fan_in) as the standard deviation. A table of
    vectors has no fan-in, so the width of its vectors replaces it.
    """
    if start == "zero":
        return torch.zeros(shape)
    if start == "one":
        return torch.ones(shape)
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
    """Return random orthogonal matrices (Saxe et al., 2013) made from ``normal_DHX``, for D directions, H hidden units
    and X columns (H columns for each gate): an H x H matrix for each direction and gate.

    In cell ``sutskever``, an axis of length 2 stands before H, for the matrices that multiply h_{t-1} and s~_{t-1}
    (``models/parts/cells/sutskever.py``).
    """
    hidden, orthogonal_DHX = normal_DHX.shape[-2], torch.empty_like(normal_DHX, dtype=torch.float64)
    for block, made in zip(*(torch.split(each, hidden, dim=-1) for each in (normal_DHX, orthogonal_DHX)), strict=True):
        _make_orthogonal(block, made)
    return orthogonal_DHX


def _make_orthogonal(normal_DHH: Tensor, made_DHH: Tensor) -> None:
    """Write uniformly distributed orthogonal matrices into ``made_DHH``, made from normal values ``normal_DHH``.

    Such a matrix is the Q of A = QR, if A has normal entries and R a positive diagonal. The k-th Householder reflection
    of A is made from a vector that is also normal, and independent of the previous vectors. So these vectors are drawn
    directly, and no A is decomposed (Stewart, 1980, The efficient generation of random orthogonal matrices). With x the
    k-th column from the diagonal on,
    r = -sgn(x_1) |x|,   v = x / (x_1 - r),   tau = 1 - x_1 / r,   Q = prod_k (I - tau_k v_k v_k^T) sgn(r_k)
    """
    x_DHH = normal_DHH.double().tril_()
    first_DH = x_DHH.diagonal(dim1=-2, dim2=-1).clone()
    r_DH = -torch.linalg.vector_norm(x_DHH, dim=-2).copysign(first_DH)
    v_DHH = x_DHH.div_((first_DH - r_DH).unsqueeze(-2))
    q_DHH = torch.linalg.householder_product(v_DHH, 1 - first_DH / r_DH)
    torch.mul(q_DHH, r_DH.sign().unsqueeze(-2), out=made_DHH)
