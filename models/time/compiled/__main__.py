"""python -m skipstack.models.time.compiled: compile the loops beforehand, so that the first training need not."""

import torch

from skipstack.models.time.loops import block_loop, lstm_loop


def prepare() -> None:
    """One step forward and backward of each, in the type that networks have."""
    for loop, gates in ((lstm_loop, 4), (block_loop, 3)):
        pre_GTBX, weight_GHX = torch.zeros(1, 1, 1, gates, requires_grad=True), torch.zeros(1, 1, gates)
        found = loop(pre_GTBX, weight_GHX)
        h_GTBH = found if isinstance(found, torch.Tensor) else found[0]
        h_GTBH.sum().backward()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    prepare()
