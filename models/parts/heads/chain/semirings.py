"""The semirings that combine the scores of a chain's tag sequences.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (KK: previous tag, tag).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from skipstack.models.kernels.products import batches
from skipstack.models.parts.heads.chain.program import Semiring


class Log(Semiring):
    """The semiring whose sum of x and y is log(exp x + exp y). The sum over all tag sequences t is log sum_t exp r(t).

    Each sum is relative to its largest term, so results are exact, also for -inf. A step takes K^2 exponentials.
    """

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes log sum_i exp(value[i] + transition[i, j]), minus the largest value."""
        terms = transition_RKK.new_empty(0)

        def times(values_RBK: Tensor) -> Tensor:
            product_RBK: Tensor = _LogProduct.apply(  # type: ignore[no-untyped-call]
                values_RBK - _largest(values_RBK), transition_RKK, terms
            )
            return product_RBK

        return times

    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Returns the largest value. It needs no gradient, since it is subtracted and added again."""
        return _largest(values_RTBK).squeeze(-1)

    def sum(self, values_RBK: Tensor) -> Tensor:
        """Computes log sum_i exp value[i]."""
        return _log_sum_exp(values_RBK)


class _LogProduct(Function):
    """Computes log sum_i exp term[i, j] = log s[j] + m[j], where
    term[i, j] = value[i] + transition[i, j],   m[j] = max_i term[i, j],   s[j] = sum_i exp(term[i, j] - m[j])

    The gradient is exp(term[i, j] - m[j]) / s[j], or 0 if all terms are -inf. The backward pass recomputes the K^2
    terms, in a buffer that all steps of a chain share.
    """

    @staticmethod
    def forward(ctx: Any, values_RBK: Tensor, transition_RKK: Tensor, terms_RBKK: Tensor) -> Tensor:
        torch.add(values_RBK.unsqueeze(3), transition_RKK.unsqueeze(1), out=terms_RBKK)
        m_RBK = terms_RBKK.amax(dim=2).clamp_min_(torch.finfo(terms_RBKK.dtype).min)
        s_RBK = terms_RBKK.sub_(m_RBK.unsqueeze(2)).exp_().sum(dim=2)
        ctx.save_for_backward(values_RBK, transition_RKK, m_RBK, s_RBK)
        ctx.terms_RBKK = terms_RBKK
        return s_RBK.log() + m_RBK

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_RBK: Tensor) -> tuple[Tensor, Tensor, None]:
        (values_RBK, transition_RKK, m_RBK, s_RBK), terms_RBKK = ctx.saved_tensors, ctx.terms_RBKK
        share_RBK = (gradient_RBK / s_RBK).masked_fill_(s_RBK == 0, 0)
        torch.add(values_RBK.unsqueeze(3), transition_RKK.unsqueeze(1), out=terms_RBKK)
        terms_RBKK.sub_(m_RBK.unsqueeze(2)).exp_().mul_(share_RBK.unsqueeze(2))
        return terms_RBKK.sum(dim=3), terms_RBKK.sum(dim=1), None


class MatrixLog(Semiring):
    """The semiring ``Log`` computed by a matrix product, with K exponentials per step in place of K^2.

    Let p = softmax(value), E = exp(transition) and s = p E. ``product`` computes log s; the softmax already subtracts
    the scale. If transitions are at most 0, no factor exceeds 1. But terms far below the largest term vanish, so a very
    small s is inaccurate. ``models/parts/heads/chain/partition.py`` detects this. All p and s are kept for the backward
    pass.
    """

    def __init__(self) -> None:
        self.p_TRBK: list[Tensor] = []
        self.s_TRBK: list[Tensor] = []

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes log s, and keeps p and s."""
        matrix_RKK = transition_RKK.exp()

        def times(values_RBK: Tensor) -> Tensor:
            self.p_TRBK.append(values_RBK.softmax(dim=-1))
            self.s_TRBK.append(batches(self.p_TRBK[-1], matrix_RKK))
            return self.s_TRBK[-1].log()

        return times

    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Computes log sum_i exp value[i]."""
        return values_RTBK.logsumexp(dim=-1)

    def sum(self, values_RBK: Tensor) -> Tensor:
        """Computes log sum_i exp value[i]."""
        return values_RBK.logsumexp(dim=-1)


class Max(Semiring):
    """The semiring whose sum of two scores is the larger score. The sum over all tag sequences t is max_t r(t)."""

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes max_i (value[i] + transition[i, j])."""
        to_R1KK = transition_RKK.transpose(1, 2).contiguous().unsqueeze(1)
        return lambda values_RBK: (values_RBK.unsqueeze(2) + to_R1KK).amax(dim=-1)

    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Returns zeros, since the maximum needs no scale."""
        return values_RTBK.new_zeros(values_RTBK.shape[:3])

    def sum(self, values_RBK: Tensor) -> Tensor:
        """Returns the largest value of all tags."""
        return values_RBK.amax(dim=-1)


def _largest(x: Tensor) -> Tensor:
    """Returns the maximum over the last axis, kept with length 1; a finite number even if all values are -inf."""
    return x.detach().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).min)


def _log_sum_exp(x: Tensor) -> Tensor:
    """Computes the log-sum-exp over the last axis. If all values are -inf, the gradient is 0; torch's would be NaN."""
    largest = _largest(x)
    total = (x - largest).exp().sum(dim=-1)
    none = total == 0
    return (total.masked_fill(none, 1).log() + largest.squeeze(-1)).masked_fill(none, -torch.inf)
