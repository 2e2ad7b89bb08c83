"""Counts what a scan and a loop over time launch, forward and backward, for 8, 16 and 512 steps; prints JSON.

A process of its own: gradients on the simulated device need it before the first gradient of the process.
"""

import torch
from torch import Tensor

from skipstack.models.conformance.accelerator.simulated import Accelerator
from skipstack.models.kernels.linear_scan import linear_recurrence
from tests.models.conformance.accelerator.telling import tell


def by_steps(kept_GTBH: Tensor, added_GTBH: Tensor) -> Tensor:
    """h_t = kept_t h_{t-1} + added_t, step by step."""
    h_GBH, outputs = torch.zeros_like(kept_GTBH[:, 0]), []
    for kept_GBH, added_GBH in zip(kept_GTBH.unbind(1), added_GTBH.unbind(1), strict=True):
        h_GBH = torch.addcmul(added_GBH, kept_GBH, h_GBH)
        outputs.append(h_GBH)
    return torch.stack(outputs, dim=1)


def counted() -> dict[str, object]:
    """The launches of each, and how often the host waited."""
    launched: dict[str, list[int]] = {"scan": [], "loop": []}
    with Accelerator() as accelerator:
        for steps in (8, 16, 512):
            for name, run in (("scan", lambda *parts: linear_recurrence(*parts, None)), ("loop", by_steps)):
                parts = [torch.empty(2, steps, 3, 4, device=accelerator.device).requires_grad_() for _ in range(2)]
                before = accelerator.work.launches
                run(*parts).sum().backward()
                launched[name].append(accelerator.work.launches - before)
        return {**launched, "waits": accelerator.work.waits}


if __name__ == "__main__":
    tell(counted())
