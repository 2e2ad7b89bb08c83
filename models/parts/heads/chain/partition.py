"""The log-partition of a chain, with its gradient.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (KK: previous tag, tag).
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from skipstack.models.kernels.products import batches
from skipstack.models.parts.heads.chain.program import Chain, alphas, ending, total
from skipstack.models.parts.heads.chain.semirings import Log, MatrixLog
from skipstack.models.parts.heads.doubts import Doubts


def log_partition(chain: Chain, doubts: Doubts | None = None) -> Tensor:
    """Computes log Z = log sum_t exp r(t) over all tag sequences t of each sentence: log_partition_RB.

    The gradient is the marginals: P(t_i = k) for an emission, the expected count for a transition. A sentence whose tag
    sequences are all forbidden has log Z = -inf and no gradient.

    The computation by matrix products (``MatrixLog``) is accurate for ordinary scores. Sentences whose results may be
    inaccurate are detected, and recomputed with the exact semiring ``Log``. If ``doubts`` is given, nothing is
    recomputed, and ``doubts`` records whether any result may be inaccurate.
    """
    total_RB: Tensor
    doubtful_RB: Tensor
    total_RB, doubtful_RB = _MatrixLogPartition.apply(  # type: ignore[no-untyped-call]
        chain.emissions_RTBK, chain.start_RK, chain.transition_RKK, chain.end_RK, chain.lengths_RB, doubts is None
    )
    if doubts is not None:
        doubts.note(doubtful_RB)
        return total_RB
    if not doubtful_RB.any():
        return total_RB
    hard = chain.alone(*doubtful_RB.nonzero(as_tuple=True))
    return total_RB.masked_scatter(doubtful_RB, total(hard, alphas(hard, Log()), Log()))


class _MatrixLogPartition(Function):
    """Computes log Z with the semiring ``MatrixLog``, with a backward pass written by hand.

    Let E = exp(transition), p_t = softmax(alpha_t) and s_t = p_{t-1} E. The marginals of the t-th tag are mu_t = d log
    Z / d alpha_t. The chain rule gives
        q_t = mu_t / s_t,   mu_{t-1} = p_{t-1} (E q_t),   d log Z / d transition = E * sum_t p_{t-1} q_t^T
    from mu_n = softmax(alpha_n + end). Each step needs one matrix product, and no exponential or logarithm. For an
    incoming gradient of 1, no number exceeds 1 / ``least`` (the smallest s_t that counts as accurate).
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions_RTBK: Tensor,
        start_RK: Tensor,
        transition_RKK: Tensor,
        end_RK: Tensor,
        lengths_RB: Tensor,
        asks: bool,
    ) -> tuple[Tensor, Tensor]:
        """Returns log_partition_RB, and for each sentence whether its log-partition may be inaccurate.

        ``asks``: whether to check the smallest s_t on the host. The check waits for the device, but may save work.
        """
        chain = Chain(
            emissions_RTBK=emissions_RTBK,
            start_RK=start_RK,
            transition_RKK=transition_RKK,
            end_RK=end_RK,
            lengths_RB=lengths_RB,
        ).levelled()
        semiring = MatrixLog()
        alpha_RTBK = alphas(chain, semiring)
        total_RB = total(chain, alpha_RTBK, semiring)
        last_RBK = ending(chain, alpha_RTBK).softmax(dim=-1)
        p_RTBK = _stacked(semiring.p_TRBK, alpha_RTBK)
        s_RTBK = _stacked(semiring.s_TRBK, alpha_RTBK)
        # An underflow loses at most the smallest normal number in each of K terms, even if denormal numbers are flushed
        # to zero. Relative to a sum of at least ``least``, this loss is smaller than a rounding error.
        numbers = torch.finfo(s_RTBK.dtype)
        least = 4 * s_RTBK.shape[-1] * numbers.tiny / numbers.eps
        doubtful_RB = torch.zeros_like(lengths_RB, dtype=torch.bool)
        if s_RTBK.numel() and not (asks and s_RTBK.amin() >= least):  # NaN counts as too small
            read_RTBK = (emissions_RTBK[:, 1:] > -torch.inf) & chain.inside()[:, 1:].unsqueeze(-1)
            doubtful_RB = (~(s_RTBK >= least) & read_RTBK).any(dim=3).any(dim=1)
            p_RTBK, s_RTBK = p_RTBK.nan_to_num(), s_RTBK.nan_to_num().clamp_min(least)
        doubtful_RB |= ~total_RB.isfinite()
        last_RBK = last_RBK.where(~doubtful_RB.unsqueeze(-1), 0)
        ctx.save_for_backward(p_RTBK, s_RTBK, chain.transition_RKK.exp(), last_RBK, lengths_RB)
        ctx.mark_non_differentiable(doubtful_RB)
        return total_RB, doubtful_RB

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_RB: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of emissions, start, transition and end: the marginals times ``gradient_RB``."""
        p_RTBK, s_RTBK, matrix_RKK, last_RBK, lengths_RB = ctx.saved_tensors
        lanes, steps, sentences, tags = p_RTBK.shape
        last_RBK = last_RBK * gradient_RB.unsqueeze(-1)
        mu_RTBK = last_RBK.new_zeros(lanes, steps + 1, sentences, tags)
        places = (lengths_RB - 1).view(lanes, 1, sentences, 1).expand(-1, -1, -1, tags)
        mu_RTBK.scatter_(1, places, last_RBK.unsqueeze(1))
        back_RKK, q_RTBK = matrix_RKK.transpose(1, 2), torch.empty_like(p_RTBK)
        mu, p, s, q = mu_RTBK.unbind(1), p_RTBK.unbind(1), s_RTBK.unbind(1), q_RTBK.unbind(1)
        for t in reversed(range(steps)):
            torch.div(mu[t + 1], s[t], out=q[t])
            mu[t].addcmul_(p[t], batches(q[t], back_RKK))
        used_RKK = batches(p_RTBK.flatten(1, 2).transpose(1, 2), q_RTBK.flatten(1, 2))
        return mu_RTBK, mu_RTBK[:, 0].sum(dim=1), matrix_RKK * used_RKK, last_RBK.sum(dim=1), None, None


def _stacked(kept_TRBK: list[Tensor], like_RTBK: Tensor) -> Tensor:
    """Stacks the values of all steps: kept_RTBK, which has no steps if all sentences have one token."""
    return torch.stack(kept_TRBK, dim=1) if kept_TRBK else like_RTBK[:, :0]
