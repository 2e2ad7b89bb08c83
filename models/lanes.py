"""Lanes: replicas of one network, trained side by side as one program.

Every parameter and activation has a leading lane axis R. A lane equals the solo run with its
seed: its own initialisation, dropout stream, data order and scalars.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive
from skipstack.models.device import generator_on


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One replica: its seed, and the scalars in which it differs from the config (None: the config's)."""

    seed: int
    learning_rate: float | None = None
    embedder_dropout: float | None = None
    stack_dropout: float | None = None
    skip_share: float | None = None


def rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    """The scalar of each lane: its own, or that of the config."""
    return [rate if own is None else own for own in own_R]


class Streams:
    """One random stream a lane, on the device where its numbers are used."""

    def __init__(self, seeds: Sequence[int], name: str, device: torch.device) -> None:
        self.seeds, self.name = tuple(seeds), name
        self.generators = [generator_on(device).manual_seed(derive(seed, name)) for seed in seeds]

    def uniform(self, like_R: Tensor) -> Tensor:
        """Numbers in [0, 1), of the shape of ``like_R`` (lane axis first); each lane's come from its own stream."""
        drawn_R = torch.empty(like_R.shape, dtype=like_R.dtype, device=like_R.device)
        for generator, drawn in zip(self.generators, drawn_R, strict=True):
            drawn.uniform_(generator=generator)
        return drawn_R

    def get_state(self) -> Tensor:
        """The states of all streams, one row a lane, as bytes on the CPU."""
        return torch.stack([generator.get_state() for generator in self.generators])

    def set_state(self, state_RN: Tensor, epoch: int) -> None:
        """Continue every stream where ``get_state`` was called, after ``epoch`` epochs.

        No kind of device can continue a stream of another, whose state is of another size. From there, every stream
        begins anew, by its seed and the epoch.
        """
        for seed, generator, state_N in zip(self.seeds, self.generators, state_RN, strict=True):
            if state_N.shape == generator.get_state().shape:
                generator.set_state(state_N.clone())  # it reads the storage, not the view
            else:
                generator.manual_seed(derive(seed, self.name, epoch))


class Dropout(nn.Module):
    """Sets a share of the units to zero while training and scales the others by 1 / (1 - rate).

    wu2017 scales the weights by 1 - rate at test time instead, which is the same function of
    the trained network up to that constant. A lane whose rate is 0 draws nothing.
    """

    def __init__(self, rates_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        self.rates_R = tuple(rates_R)
        self.streams = streams

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with a lane axis first; the same shape back."""
        if not self.training or not any(self.rates_R):
            return x
        scale = torch.empty_like(x)
        for rate, generator, scale_of_lane in zip(self.rates_R, self.streams.generators, scale, strict=True):
            if rate:
                scale_of_lane.bernoulli_(1 - rate, generator=generator)
            else:
                scale_of_lane.fill_(1)
        alike = len(set(self.rates_R)) == 1  # one operation does for all
        for rate, scales in [(self.rates_R[0], scale)] if alike else zip(self.rates_R, scale, strict=True):
            scales.div_(1 - rate)
        return x * scale
