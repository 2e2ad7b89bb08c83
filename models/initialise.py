"""Initial values as wu2017 gives them (section 5.1.2), lane by lane. A parameter's role says which it takes."""

import math
from collections.abc import Sequence
from typing import assert_never

import torch
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive
from skipstack.models.parameters import Start, role_of


@torch.no_grad()
def initialise(model: nn.Module, seeds: Sequence[int], scale: float, spread: float | None = None) -> None:
    """Fill every parameter of ``model``; row r of each comes from ``seeds[r]`` and its name alone.

    With a ``spread``, all that does not start at zero is uniform between its negative and itself (Zaremba et al.,
    2014), and ``scale`` is not read.

    Values are drawn in float64 on the CPU, so they are the same in every precision, on every
    device, and whatever other parameters the network has.
    """
    for name, parameter in model.named_parameters():
        start = role_of(parameter).start
        for seed, row in zip(seeds, parameter, strict=True):
            generator = torch.Generator().manual_seed(derive(seed, "initialise", name))
            row.copy_(_values(start, row.shape, scale, spread, generator))


def _values(start: Start, shape: torch.Size, scale: float, spread: float | None, generator: torch.Generator) -> Tensor:
    """N(0, 1/sqrt(fan_in)) * scale; we read 1/sqrt(fan_in) as the standard deviation.

    A lookup has no fan in; we take the width of its vectors.
    """
    if start == "zero":
        return torch.zeros(shape, dtype=torch.float64)
    if spread is not None:
        return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) * spread
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    match start:
        case "orthogonal":
            return _orthogonal(normal)
        case "width":
            return normal * (scale / math.sqrt(max(shape[-1], 1)))
        case "fan_in":
            return normal * (scale / math.sqrt(shape[-2]))
        case _:
            assert_never(start)


def _orthogonal(normal_DHX: Tensor) -> Tensor:
    """Random orthogonal blocks through SVD (Saxe et al., 2013): one H x H block a gate, X = gates * H.

    The lecture's LSTM has two such rows of blocks, an axis more: from h_{t-1} and from s~_{t-1}.
    """
    hidden = normal_DHX.shape[-2]
    blocks = torch.split(normal_DHX, hidden, dim=-1)
    return torch.cat([torch.linalg.svd(block)[0] for block in blocks], dim=-1)
