"""Builds networks from trained weights, for evaluation or use."""

from collections.abc import Mapping

import torch
from torch import Tensor

from skipstack.models.configs.model import ModelConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, unfilled
from skipstack.models.networks.ensemble import Ensemble
from skipstack.models.networks.model import Network


def lane_of(weights_R: Mapping[str, Tensor], lane: int) -> dict[str, Tensor]:
    """Select the weights of one lane (one seed's copy of the network), as weights of a network with one lane."""
    return {name: weight[lane : lane + 1] for name, weight in weights_R.items()}


def trained(
    config: ModelConfig, *, sizes: Sizes, weights: Mapping[str, Tensor], dtype: torch.dtype, device: torch.device
) -> Network:
    """Build a network with these weights, in evaluation mode. Several lanes become an ensemble.

    Raises RuntimeError if the weights do not fit the config, and UserError if the network cannot be built (``unfilled``
    lists the reasons).
    """
    lanes = [Lane(seed=0)] * len(next(iter(weights.values())))
    model, _ = unfilled(config, sizes=sizes, lanes=lanes, dtype=dtype, device=device)
    model.load_state_dict(dict(weights))
    return (Ensemble(model) if len(lanes) > 1 else model).eval()
