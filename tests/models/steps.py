"""Updates of a run, counted across its epochs."""

import torch

from skipstack.data.store.batches import training_batches
from skipstack.models.training.loop import Training


def steps(run: Training, count: int) -> list[torch.Tensor]:
    """The losses of ``count`` updates of four sentences, through as many epochs as they need."""
    run.model.train()
    train, seeds = run.corpus.stored.splits["train"], [lane.seed for lane in run.lanes]
    losses: list[torch.Tensor] = []
    for epoch in range(count):
        for batch in training_batches(train, batch_size=4, order_seed=11, lane_seeds=seeds, epoch=epoch):
            losses.append(run.step(batch)[0].cpu())
            if len(losses) == count:
                return losses
    raise AssertionError("not reached")
