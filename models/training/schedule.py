"""Schedules of the learning rate, separate for each lane (one seed's copy of the network)."""

from math import cos, pi
from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Constant, Cosine, Decay, Halving, InverseTime, Linear, Schedule


def next_learning_rate(
    config: Schedule, learning_rate_R: Tensor, previous_error_R: Tensor, error_R: Tensor, *, done: int, left: int
) -> Tensor:
    """Compute each lane's learning rate of the next epoch.

    ``learning_rate_R``: the rates of the epoch that just ended. ``previous_error_R``, ``error_R``: the dev errors
    before and after that epoch. ``done``: the number of finished epochs. ``left``: the number of remaining epochs.

    The schedules are defined in ``models/configs/training.py``. ``cosine`` changes the rates only within epochs, by
    factors of the initial rate (``shares``), so this function returns the initial rate. ``halving`` never halves a rate
    directly after the first epoch: there is no error before that epoch, so ``previous_error_R`` is NaN. With a previous
    error of 0, where the paper's quotient is undefined, the rate is halved if the error stays 0.
    """
    match config:
        case Constant() | Cosine():
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


def shares(config: Schedule, *, done: int, epochs: int, updates: int) -> list[float]:
    """Compute the learning rate at each update of an epoch, divided by the result of ``next_learning_rate`` for the
    epoch. This is 1 for schedules that change the rate only between epochs.

    ``done``: the number of finished epochs. ``epochs``: the number of all epochs. ``updates``: the number of updates of
    an epoch. If training continues after the last epoch, the rate of ``cosine`` stays 0.
    """
    if not isinstance(config, Cosine):
        return [1.0] * updates
    times = [done + update / updates for update in range(updates)]
    return [
        min((time + 1 / updates) / config.warmup, 1.0)
        if time < config.warmup
        else (1 + cos(pi * min((time - config.warmup) / (epochs - config.warmup), 1.0))) / 2
        for time in times
    ]
