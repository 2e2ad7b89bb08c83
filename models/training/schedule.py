"""Learning rates over the epochs, lane by lane."""

from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.training import Constant, Decay, Halving, InverseTime, Linear, Schedule


def next_learning_rate(
    config: Schedule, learning_rate_R: Tensor, previous_error_R: Tensor, error_R: Tensor, *, done: int, left: int
) -> Tensor:
    """The rates of the next epoch, given the dev error rates before and after this one.

    ``done`` epochs are finished, and ``left`` follow.

    wu2017: a rate >= ``minimum`` is halved where |e_p - e_c| / e_p <= ``tolerance``. ``previous_error_R`` is NaN before
    the first epoch, which halves nothing. At e_p = 0 the paper's quotient is undefined; an error that stays at 0 counts
    as no growth and halves.

    dinarelli2016: the rate falls by the same amount after each epoch, so that it would be 0 after the last.

    Zaremba et al. (2014): the rate is constant for ``after`` epochs, then falls by the same factor after each.

    Ma and Hovy (2016): the rate of epoch e, counted from 0, is the initial one / (1 + rho e).
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
