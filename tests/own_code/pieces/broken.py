"""Gates with a mistake each, by their names."""

from typing import Literal

import torch
from torch import Tensor

from skipstack.data.basis.frozen import Frozen
from skipstack.models.cells.gates import LogisticGate
from skipstack.models.lanes import Streams
from skipstack.models.time.layer import LayerSizes, project


class Own(LogisticGate):
    def __init__(self, config: Frozen, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.before = torch.zeros(1)

    def g(self, below_GTBI: Tensor) -> Tensor:
        return torch.sigmoid(project(below_GTBI, self.weight, self.bias))


class WrongShape(Own):
    class Config(Frozen):
        kind: Literal["wrong_shape"] = "wrong_shape"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI).mean(dim=-1)


class MixesLanes(Own):
    class Config(Frozen):
        kind: Literal["mixes_lanes"] = "mixes_lanes"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.g(below_GTBI) - self.g(below_GTBI).mean(dim=0))


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


class Global(Own):
    class Config(Frozen):
        kind: Literal["global_noise"] = "global_noise"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI) * torch.rand_like(skip_GTBH)


class Waits(Own):
    class Config(Frozen):
        kind: Literal["waits"] = "waits"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        g = self.g(below_GTBI)
        return g / g.max().item()


class Detached(Own):
    class Config(Frozen):
        kind: Literal["detached"] = "detached"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return self.g(below_GTBI.detach())


class Keeps(Own):
    class Config(Frozen):
        kind: Literal["keeps"] = "keeps"

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        before, self.before = self.before, self.g(below_GTBI).detach().mean(dim=(1, 2), keepdim=True)
        return torch.sigmoid(self.g(below_GTBI) - before)
