"""Gates with a mistake each, by their names."""

from typing import Any, Literal

import torch
from torch import Tensor

from skipstack.own import Frozen, LayerSizes, LogisticGate, Streams, project


class Own(LogisticGate):
    def __init__(self, config: Frozen, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.before: Any = 0.0
        self.calls = 0

    def g(self, below_GTBI: Tensor) -> Tensor:
        return torch.sigmoid(project(below_GTBI, self.weight, self.bias))


class WrongShape(Own):
    class Config(Frozen):
        kind: Literal["wrong_shape"] = "wrong_shape"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI).mean(dim=-1)


class Raises(Own):
    class Config(Frozen):
        kind: Literal["raises"] = "raises"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI) * (1 / self.calls)


class Waits(Own):
    class Config(Frozen):
        kind: Literal["waits"] = "waits"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        g_GTBH = self.g(below_GTBI)
        return g_GTBH / g_GTBH.max().item()


class MixesDevices(Own):
    class Config(Frozen):
        kind: Literal["mixes_devices"] = "mixes_devices"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI) * torch.ones(skip_GTBH.shape[-1])


class Copies(Own):
    class Config(Frozen):
        kind: Literal["copies"] = "copies"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI) * torch.ones(skip_GTBH.shape[-1]).to(skip_GTBH)


class GlobalNoise(Own):
    class Config(Frozen):
        kind: Literal["global_noise"] = "global_noise"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI) * torch.rand_like(skip_GTBH)


class Keeps(Own):
    class Config(Frozen):
        kind: Literal["keeps"] = "keeps"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        before, self.before = self.before, self.g(below_GTBI).detach().mean(dim=(1, 2), keepdim=True)
        return torch.sigmoid(self.g(below_GTBI) - before)


class MixesSentences(Own):
    class Config(Frozen):
        kind: Literal["mixes_sentences"] = "mixes_sentences"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.g(below_GTBI) - self.g(below_GTBI).mean(dim=2, keepdim=True))


class SeesPadding(Own):
    class Config(Frozen):
        kind: Literal["sees_padding"] = "sees_padding"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.g(below_GTBI) - self.g(below_GTBI).mean(dim=1, keepdim=True))


class MixesLanes(Own):
    class Config(Frozen):
        kind: Literal["mixes_lanes"] = "mixes_lanes"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.g(below_GTBI) - self.g(below_GTBI).mean(dim=0))


class Detached(Own):
    class Config(Frozen):
        kind: Literal["detached"] = "detached"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI.detach())


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient


class WrongGradient(Own):
    class Config(Frozen):
        kind: Literal["wrong_gradient"] = "wrong_gradient"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return Twice.apply(self.g(below_GTBI))


class CountsUpdates(Own):
    class Config(Frozen):
        kind: Literal["counts_updates"] = "counts_updates"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        self.calls += self.training
        return self.g(below_GTBI) * (1 + 0.1 * self.calls if self.training else 1)
