"""python -m skipstack.models.compiled: compile all there is beforehand, so that the first training need not."""

import torch

from skipstack.models.inputs.characters import CharacterCnn
from skipstack.models.inputs.config import CharacterCnnConfig
from skipstack.models.time.layer import Weights
from skipstack.models.time.loops import block_layer, lstm_layer


def prepare() -> None:
    """One step forward and backward of each, in the type that networks have."""
    found = [CharacterCnn(1, 1, CharacterCnnConfig(size=1, filters=1))(torch.zeros(1, 1, 1, dtype=torch.int64))]
    for layer, gates in ((lstm_layer, 4), (block_layer, 3)):
        below_GTBI = torch.zeros(1, 1, 1, 1, requires_grad=True)
        weights = Weights(*(torch.zeros(1, 1, *shape) for shape in ((1, gates), (gates,), (1, gates))))
        found.append(layer(below_GTBI, weights)[0])
    torch.autograd.backward([each.sum() for each in found])


if __name__ == "__main__":
    prepare()
