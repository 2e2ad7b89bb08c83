"""Networks from trained weights, to be evaluated or used."""

from collections.abc import Mapping

import torch
from torch import Tensor

from skipstack.models.configs.model import ModelConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, unfilled
from skipstack.models.networks.ensemble import Ensemble
from skipstack.models.networks.model import Network


def lane_of(weights_R: Mapping[str, Tensor], lane: int) -> dict[str, Tensor]:
    """The weights of one lane, for a network of one lane."""
    return {name: weight[lane : lane + 1] for name, weight in weights_R.items()}


def trained(
    config: ModelConfig, *, sizes: Sizes, weights: Mapping[str, Tensor], dtype: torch.dtype, device: torch.device
) -> Network:
    """The network with these weights; for several lanes their ensemble, which reads and decides as one. Raises
    RuntimeError where they do not fit the config.
    """
    lanes = [Lane(seed=0)] * len(next(iter(weights.values())))
    model, _ = unfilled(config, sizes=sizes, lanes=lanes, dtype=dtype, device=device)
    model.load_state_dict(dict(weights))
    return (Ensemble(model) if len(lanes) > 1 else model).eval()
