"""A trained lane taken out of its weights, to be evaluated or used."""

from collections.abc import Mapping

import torch
from torch import Tensor

from skipstack.models.build import Sizes, unfilled
from skipstack.models.config import ModelConfig
from skipstack.models.lanes import Lane
from skipstack.models.model import Network


def lane_of(weights_R: Mapping[str, Tensor], lane: int) -> dict[str, Tensor]:
    """The weights of one lane, as those of a network with that lane alone."""
    return {name: weight[lane : lane + 1] for name, weight in weights_R.items()}


def trained(
    config: ModelConfig, *, sizes: Sizes, weights: Mapping[str, Tensor], dtype: torch.dtype, device: torch.device
) -> Network:
    """The network of one lane with these weights. Raises RuntimeError where they do not fit the config."""
    model, _ = unfilled(config, sizes=sizes, lanes=[Lane(seed=0)], dtype=dtype, device=device)
    model.load_state_dict(dict(weights))
    return model.eval()
