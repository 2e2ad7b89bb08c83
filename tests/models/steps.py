"""Updates of a run, counted across its epochs, and lanes that do not know of each other."""

from collections.abc import Callable, Sequence

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


def equal_solo_runs(training: Callable[..., Training], lanes: Sequence[object], count: int) -> None:
    """In a run of several lanes each loses and learns, update by update, as in the run of this lane alone."""
    fused = training(*lanes)
    losses, learnt = steps(fused, count), dict(fused.model.named_parameters())
    for number, lane in enumerate(lanes):
        solo = training(lane)
        assert all(abs(f[number] - s[0]) < 1e-10 for f, s in zip(losses, steps(solo, count), strict=True))
        for name, value in solo.model.named_parameters():
            assert (learnt[name][number] - value[0]).abs().max() < 1e-10, name
