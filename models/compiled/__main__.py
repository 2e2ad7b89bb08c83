"""python -m skipstack.models.compiled: compile all there is beforehand, so that the first training need not."""

import torch

from skipstack.models.draws import drawn
from skipstack.models.inputs.characters import CharacterCnn
from skipstack.models.inputs.config import CharacterCnnConfig
from skipstack.models.time.layer import Weights
from skipstack.models.time.loops import block_layer, lstm_layer
from skipstack.models.time.reading import ReadingOrder


def prepare() -> None:
    """One step forward and backward of each, in the type that networks have."""
    one = torch.ones(1, 1, dtype=torch.int64)
    x_GTBI = torch.zeros(1, 1, 1, 1, requires_grad=True)
    order = ReadingOrder(one, 1)
    found = [CharacterCnn(1, 2, CharacterCnnConfig(size=1, filters=1))(one.unsqueeze(0))]
    found.append(order.together(order.apart(x_GTBI)))
    for layer, gates in ((lstm_layer, 4), (block_layer, 3)):
        weights = Weights(*(torch.zeros(1, 1, *shape) for shape in ((1, gates), (gates,), (1, gates))))
        found.append(layer(x_GTBI, weights)[0])
    torch.autograd.backward([each.sum() for each in found])
    drawn(one[0], 1, x_GTBI)


if __name__ == "__main__":
    prepare()
