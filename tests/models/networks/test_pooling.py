"""Pooling against a plain loop over texts, and texts that are classified end to end."""

from typing import get_args

import numpy as np
import pytest
import torch

from skipstack.models.configs.model import Pooling
from skipstack.models.networks.model import pooled

LANES, STEPS, TEXTS, FEATURES = 2, 6, 4, 3
LENGTHS = torch.tensor([[6, 1, 3, 5], [2, 6, 4, 1]])


def plain(states_TX: np.ndarray, directions: int, how: str) -> np.ndarray:
    """Of the states of one text without padding."""
    if how == "last":
        forward, *backward = np.split(states_TX, directions, axis=1)
        return np.concatenate([forward[-1], *(part[0] for part in backward)])
    return states_TX.mean(axis=0) if how == "mean" else states_TX.max(axis=0)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("how", get_args(Pooling))
def test_a_text_is_pooled_over_its_own_tokens(how: Pooling, directions: int) -> None:
    generator = torch.Generator().manual_seed(7)
    features = torch.randn(LANES, STEPS, TEXTS, directions * FEATURES, dtype=torch.float64, generator=generator) - 1
    text = pooled(features, LENGTHS, directions, how)
    assert text.shape == (LANES, 1, TEXTS, directions * FEATURES)
    for lane in range(LANES):
        for place in range(TEXTS):
            own = features[lane, : LENGTHS[lane, place], place].numpy()
            assert np.abs(text[lane, 0, place].numpy() - plain(own, directions, how)).max() < 1e-12


@pytest.mark.parametrize("how", get_args(Pooling))
def test_padding_neither_counts_nor_learns(how: Pooling) -> None:
    generator = torch.Generator().manual_seed(8)
    features = torch.randn(LANES, STEPS, TEXTS, 2 * FEATURES, dtype=torch.float64, generator=generator)
    features.requires_grad_()
    pooled(features, LENGTHS, 2, how).square().sum().backward()
    assert features.grad is not None
    padding = torch.arange(STEPS).view(1, -1, 1) >= LENGTHS.unsqueeze(1)
    assert not features.grad[padding].any()
    assert features.grad[~padding].any()
