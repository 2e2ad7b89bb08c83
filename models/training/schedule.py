"""Schedules of the learning rate over epochs, separate for each lane (one seed's copy of the network)."""

from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Constant, Decay, Halving, InverseTime, Linear, Schedule


def next_learning_rate(
    config: Schedule, learning_rate_R: Tensor, previous_error_R: Tensor, error_R: Tensor, *, done: int, left: int
) -> Tensor:
    """Compute each lane's learning rate of the next epoch.

    ``learning_rate_R``: the rates of the epoch that just ended. ``previous_error_R``, ``error_R``: the dev errors
    before and after that epoch. ``done``: the number of finished epochs. ``left``: the number of remaining epochs.

    The schedules are defined in ``models/configs/training.py``. In ``halving``, ``previous_error_R`` is NaN before the
    first epoch, so no rate is halved after the first epoch. With a previous error of 0, where the paper's quotient is
    undefined, the rate is halved if the error stays 0.
    """
    match config:
        case Constant():
            return learning_rate_R
        case Halving():
            small = (previous_error_R - error_R).abs() <= config.tolerance * previous_error_R
            return torch.where(small & (learning_rate_R >= config.minimum), learning_rate_R / 2, learning_rate_R)
        case Linear():
            return learning_rate_R * (max(left, 0) / (max(left, 0) + 1))
        case Decay():
            return learning_rate_R * config.factor if done >= config.after else learning_rate_R
        case InverseTime():
            return learning_rate_R * ((1 + config.decay * (done - 1)) / (1 + config.decay * done))
        case _:
            assert_never(config)
