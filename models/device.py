"""Where numbers are computed."""

import torch

from data.errors import UserError


def choose_device(name: str) -> torch.device:
    """``auto`` takes a GPU where there is one; ``cpu`` and ``cuda`` are taken at their word, UserError where absent."""
    present = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if present else "cpu")
    if name == "cuda" and not present:
        raise UserError("--device cuda: no GPU here (allowed: auto, cpu)")
    return torch.device(name)
