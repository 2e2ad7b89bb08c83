"""Schedules of the learning rate over epochs, for each lane (one seed's copy of the network) apart."""

from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Constant, Decay, Halving, InverseTime, Linear, Schedule


def next_learning_rate(
    config: Schedule, learning_rate_R: Tensor, previous_error_R: Tensor, error_R: Tensor, *, done: int, left: int
) -> Tensor:
    """Compute each lane's learning rate of the next epoch.

    ``learning_rate_R``: the rates of the epoch that just ended. ``previous_error_R``, ``error_R``: the dev errors
    before and after that epoch. ``done``: the number of finished epochs. ``left``: the number of epochs that follow.

    ``halving`` (wu2017): a rate >= ``minimum`` is halved if |e_p - e_c| / e_p <= ``tolerance``. ``previous_error_R`` is
    NaN before the first epoch, so no rate is halved after it. At e_p = 0 the paper's quotient is undefined; an error
    that stays at 0 counts as unchanged, so the rate is halved.

    ``linear`` (dinarelli2016): the rate falls by the same amount after each epoch, and would be 0 after the last.

    ``decay`` (Zaremba et al., 2014): the rate is constant for ``after`` epochs, then falls by the same factor after
    each.

    ``inverse_time`` (Ma and Hovy, 2016): the rate of epoch e, counted from 0, is the initial rate / (1 + rho e), where
    rho is ``decay``.
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
