"""python -m skipstack.models.time.compiled: compile the loops beforehand, so that the first training need not."""

import torch

from skipstack.models.time.layer import Weights
from skipstack.models.time.loops import block_layer, lstm_layer


def prepare() -> None:
    """One step forward and backward of each, in the type that networks have."""
    for layer, gates in ((lstm_layer, 4), (block_layer, 3)):
        below_GTBI = torch.zeros(1, 1, 1, 1, requires_grad=True)
        found = layer(below_GTBI, Weights(*(torch.zeros(1, 1, *shape) for shape in ((1, gates), (gates,), (1, gates)))))
        torch.autograd.backward(found[0].sum())


if __name__ == "__main__":
    prepare()
