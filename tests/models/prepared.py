"""Compiles the kernels for float64, in which most tests compute: ``python -m tests.models.prepared``."""

import torch

from skipstack.models.training.prepare import prepare

if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    prepare()
