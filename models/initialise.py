"""Initial values as wu2017 gives them (section 5.1.2), lane by lane.

What a parameter is, its own name says: ``bias*`` and ``bilinear`` are zero, ``recurrent`` is orthogonal,
``table`` is a lookup table, everything else a weight whose last two axes are (fan in, fan out).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive


@torch.no_grad()
def initialise(model: nn.Module, seeds: Sequence[int], scale: float, spread: float | None = None) -> None:
    """Fill every parameter of ``model``; row r of each comes from ``seeds[r]`` and its name alone.

    With a ``spread``, all but biases and bilinear forms are uniform between its negative and itself (Zaremba et al.,
    2014), and ``scale`` is not read.

    Values are drawn in float64 on the CPU, so they are the same in every precision, on every
    device, and whatever other parameters the network has.
    """
    for name, parameter in model.named_parameters():
        for seed, row in zip(seeds, parameter, strict=True):
            generator = torch.Generator().manual_seed(derive(seed, "initialise", name))
            row.copy_(_values(name.rpartition(".")[2], row.shape, scale, spread, generator))


def _values(name: str, shape: torch.Size, scale: float, spread: float | None, generator: torch.Generator) -> Tensor:
    """N(0, 1/sqrt(fan_in)) * scale; we read 1/sqrt(fan_in) as the standard deviation.

    A lookup has no fan in; we take the width of its vectors. A bilinear form, which the paper does not have, takes its
    gradient from both sides at once: it can start at zero, where it prefers nothing.
    """
    if name.startswith("bias") or name == "bilinear":
        return torch.zeros(shape, dtype=torch.float64)
    if spread is not None:
        return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) * spread
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    match name:
        case "recurrent":
            return _orthogonal(normal)
        case "table":
            return normal * (scale / math.sqrt(max(shape[-1], 1)))
        case _:
            return normal * (scale / math.sqrt(shape[-2]))


def _orthogonal(normal_DHX: Tensor) -> Tensor:
    """Random orthogonal blocks through SVD (Saxe et al., 2013): one H x H block a gate, X = gates * H.

    The lecture's LSTM has two such rows of blocks, an axis more: from h_{t-1} and from s~_{t-1}.
    """
    hidden = normal_DHX.shape[-2]
    blocks = torch.split(normal_DHX, hidden, dim=-1)
    return torch.cat([torch.linalg.svd(block)[0] for block in blocks], dim=-1)
