"""Lanes: replicas of one network, trained side by side in one batched computation.

Every parameter and activation has a leading lane axis R. A lane equals the solo run with its
seed: its own initialisation, dropout stream, data order and scalars.
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
    """A replica of the network: its seed, and the scalars that override the config's (None: the config's).

    When lanes of several trials train together, their networks may differ in these (``models/configs/shared.py``).
    """

    seed: int
    learning_rate: float | None = None
    embedder_dropout: float | None = None
    stack_dropout: float | None = None
    skip_share: float | None = None
    entropy_weight: float | None = None
    entropy_decay: float | None = None


def rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    """The scalar of each lane: its own, or else the config's."""
    return [rate if own is None else own for own in own_R]


def lane_by_lane(work: Callable[..., Tensor], *tensors_R: Tensor) -> Tensor:
    """The result of ``work`` on tensors; all have lanes first, as does the result. On a CPU the lanes are computed one
    after another: there torch's order of summation, and so the rounding, depends on the number of lanes.
    """
    lanes = len(tensors_R[0])
    if lanes == 1 or tensors_R[0].device.type != "cpu":
        return work(*tensors_R)
    return torch.cat([work(*(each.narrow(0, lane, 1) for each in tensors_R)) for lane in range(lanes)])


class Streams:
    """Random streams, one per lane. Draws are counted, and each is made for all lanes at once: a lane's numbers depend
    only on its own seed and the number of earlier draws, on every kind of device (``models/kernels/draws.py``).
    """

    def __init__(self, seeds: Sequence[int], name: str, device: torch.device) -> None:
        self.lanes = len(seeds)
        self.key_R = torch.tensor([derive(seed, name) for seed in seeds], device=device)
        self.draws: int | Tensor = 0

    def uniform(self, like_R: Tensor) -> Tensor:
        """Numbers in [0, 1), of the shape of ``like_R`` (lanes first, or groups of each lane)."""
        self.skip()
        return drawn(self.key_R, self.draws, like_R)

    def skip(self) -> None:
        """Advances the counter without drawing, so that lanes stay aligned with those that need the numbers."""
        self.draws += 1

    def count_on_device(self) -> None:
        """Count draws in a tensor beside the keys from now on: a captured step that is replayed continues counting
        (``models/training/captured.py``).
        """
        self.draws = torch.as_tensor(self.draws).to(self.key_R.device)

    def get_state(self) -> Tensor:
        """The number of draws so far."""
        return torch.as_tensor(self.draws).clone()

    def set_state(self, state: Tensor) -> None:
        """Continue where ``get_state`` was called."""
        if isinstance(self.draws, int):
            self.draws = int(state)
        else:
            self.draws.fill_(int(state))


class Dropout(nn.Module):
    """Sets a share of the units to zero while training and scales the others by 1 / (1 - rate).

    wu2017 scales the weights by 1 - rate at test time instead, which is the same function of
    the trained network up to that constant.
    """

    share_R: Tensor

    def __init__(self, rates_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        self.rates_R = tuple(rates_R)
        # In float64 in every precision of the network: the rates come from the config, not from files of weights.
        self.register_buffer("share_R", torch.as_tensor(np.array(rates_R, dtype=np.float64)), persistent=False)
        self.streams = streams

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with a lane axis first, or with groups of each lane; the same shape back."""
        factors = self.factors(x)
        return x if factors is None else x * factors

    def factors(self, x: Tensor) -> Tensor | None:
        """The factors of ``x``: 0, or 1 / (1 - rate); None where nothing is dropped."""
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
    """The name of ``factors`` until 0.2.0; code files that studies have locked still call it."""
