"""Lanes: replicas of one network that differ in their seeds, trained side by side in one batched computation.

Every parameter and activation has a leading lane axis, R. A lane computes the same as a separate training with its
seed: it has its own initialisation, dropout stream, data order and scalars. Axis N: all entries of a lane.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.draws import drawn


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """A replica of the network: its seed, and scalars that override the config's. None means the config's value.

    The lanes of several trials that train together may differ in these scalars (``models/configs/shared.py``).
    """

    seed: int
    learning_rate: float | None = None
    embedder_dropout: float | None = None
    stack_dropout: float | None = None
    skip_share: float | None = None
    entropy_weight: float | None = None
    entropy_decay: float | None = None


def rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    """Returns the scalar of each lane: the lane's own, or the config's ``rate`` if the lane has none."""
    return [rate if own is None else own for own in own_R]


def lane_by_lane(work: Callable[..., Tensor], *tensors_R: Tensor) -> Tensor:
    """Returns ``work(*tensors_R)``. The first axis of the tensors and of the result must be the lane.

    On a CPU, ``work`` is called lane by lane: in one call, torch's order of summation, and so the last bits of a lane's
    result, would depend on the number of lanes.
    """
    lanes = len(tensors_R[0])
    if lanes == 1 or tensors_R[0].device.type != "cpu":
        return work(*tensors_R)
    return torch.cat([work(*(each.narrow(0, lane, 1) for each in tensors_R)) for lane in range(lanes)])


class Streams:
    """Random streams, one for each lane. Each draw is made for all lanes at once, and draws are counted.

    A lane's random numbers depend only on its seed and on the number of earlier draws, on every kind of device
    (``models/kernels/draws.py``).
    """

    def __init__(self, seeds: Sequence[int], name: str, device: torch.device) -> None:
        self.lanes = len(seeds)
        self.key_R = torch.tensor([derive(seed, name) for seed in seeds], device=device)
        self.draws: int | Tensor = 0

    def uniform(self, like_R: Tensor) -> Tensor:
        """Draws numbers in [0, 1), shaped like ``like_R``, whose first axis is R, or G = lanes * directions."""
        self.skip()
        return drawn(self.key_R, self.draws, like_R)

    def skip(self) -> None:
        """Counts a draw without making it, because no lane needs its numbers, or because the caller computes them from
        ``key_R`` and ``draws``. Later draws are the same as if this draw had been made.
        """
        self.draws += 1

    def count_on_device(self) -> None:
        """Counts draws in a tensor on the device from now on, so that replays of a captured step update the count."""
        self.draws = torch.as_tensor(self.draws).to(self.key_R.device)

    def get_state(self) -> Tensor:
        """Returns the number of draws so far, as a tensor."""
        return torch.as_tensor(self.draws).clone()

    def set_state(self, state: Tensor) -> None:
        """Continues from ``state``, which ``get_state`` returned."""
        if isinstance(self.draws, int):
            self.draws = int(state)
        else:
            self.draws.fill_(int(state))


class Dropout(nn.Module):
    """Sets a share of the units to zero in training, and scales the others by 1 / (1 - rate). Lanes may differ in rate.

    wu2017 scales the weights by 1 - rate at test time instead. Up to that constant factor, the functions are equal.
    """

    share_R: Tensor

    def __init__(self, rates_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        self.rates_R = tuple(rates_R)
        # Always float64, whatever the network's precision. Not saved with the weights, since rates are in the config.
        self.register_buffer("share_R", torch.as_tensor(np.array(rates_R, dtype=np.float64)), persistent=False)
        self.streams = streams

    def forward(self, x: Tensor) -> Tensor:
        """Applies dropout to ``x``, whose first axis is R, or G = lanes * directions."""
        factors = self.factors(x)
        return x if factors is None else x * factors

    def factors(self, x: Tensor) -> Tensor | None:
        """Returns the factor of each entry of ``x``: 0 if dropped, otherwise 1 / (1 - rate). None means no dropout."""
        if not self.training:
            return None
        if not any(self.rates_R):
            self.streams.skip()
            return None
        if choose("dropout", x) == "compiled":
            from skipstack.models.kernels.compiled.philox import keep  # numba takes a quarter of a second to load

            self.streams.skip()
            kept = torch.empty_like(x, memory_format=torch.contiguous_format)
            kept_RN = kept.numpy().reshape(self.streams.lanes, -1)
            keep(self.streams.key_R.numpy(), int(self.streams.draws), self.share_R.numpy(), kept_RN)
            return kept
        uniform_RN = self.streams.uniform(x).view(self.streams.lanes, -1)
        share, *others = set(self.rates_R)
        if not others:
            return uniform_RN.ge_(share).mul_(1 / (1 - share)).view(x.shape)
        share_R1, scale_R1 = (each_R.to(x.dtype).unsqueeze(1) for each_R in (self.share_R, 1 / (1 - self.share_R)))
        return uniform_RN.ge_(share_R1).mul_(scale_R1).view(x.shape)

    kept = factors
    """The name of ``factors`` until 0.2.0. Users' code files of older studies, which must not change, still use it."""
