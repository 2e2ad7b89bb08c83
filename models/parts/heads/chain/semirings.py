"""The semirings of a chain, by which its taggings are combined.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (of two axes K, the first is the
previous tag).
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
    """The semiring whose sum of x and y is log(exp x + exp y). Over all taggings this gives log sum_t exp r(t).

    It is exact for any scores, -inf included: each sum is taken relative to its own largest term, which costs K^2 terms
    a step.
    """

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes log sum_i exp(value[i] + transition[i, j]), less the largest value."""
        terms = transition_RKK.new_empty(0)

        def times(values_RBK: Tensor) -> Tensor:
            product_RBK: Tensor = _LogProduct.apply(  # type: ignore[no-untyped-call]
                values_RBK - _largest(values_RBK), transition_RKK, terms
            )
            return product_RBK

        return times

    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Returns the largest value. No gradient goes through it, since it is subtracted and added again."""
        return _largest(values_RTBK).squeeze(-1)

    def sum(self, values_RBK: Tensor) -> Tensor:
        """Computes log sum_i exp value[i]."""
        return _log_sum_exp(values_RBK)


class _LogProduct(Function):
    """Computes log s[j] + m[j], the logarithm of sum_i exp term[i, j], where
    s[j] = sum_i exp(term[i, j] - m[j]),   term[i, j] = value[i] + transition[i, j]

    m[j] is the largest term[i, j]. The gradient is exp(term[i, j] - m[j]) / s[j], or 0 if all terms are -inf. The
    backward pass recomputes the K^2 terms, in a buffer that all steps of a chain share.
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
    """Computes the same as ``Log`` by a matrix product, with K exponentials a step in place of K^2.

    value' = log s, where s = p E, p = softmax(value) and E = exp(transition). If transitions are at most 0, no factor
    exceeds 1. But a term far below the largest one vanishes, so a very small s is inaccurate, which
    ``models/parts/heads/chain/partition.py`` detects. Every p and s is kept for the backward pass.
    """

    def __init__(self) -> None:
        self.p_TRBK: list[Tensor] = []
        self.s_TRBK: list[Tensor] = []

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes log s (see the class), and keeps p and s."""
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
    """The semiring whose sum of two scores is the larger one. Over all taggings this gives max_t r(t)."""

    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that computes the largest value[i] + transition[i, j] over all i."""
        to_R1KK = transition_RKK.transpose(1, 2).contiguous().unsqueeze(1)
        return lambda values_RBK: (values_RBK.unsqueeze(2) + to_R1KK).amax(dim=-1)

    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Returns zeros: nothing is subtracted."""
        return values_RTBK.new_zeros(values_RTBK.shape[:3])

    def sum(self, values_RBK: Tensor) -> Tensor:
        """Returns the largest value of all tags."""
        return values_RBK.amax(dim=-1)


def _largest(x: Tensor) -> Tensor:
    """Returns the maximum over the last axis, which is kept with length 1. It is a finite number even if all values are
    -inf.
    """
    return x.detach().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).min)


def _log_sum_exp(x: Tensor) -> Tensor:
    """Computes the log-sum-exp over the last axis. If all values are -inf, the result is -inf with gradient 0 (that of
    ``torch.logsumexp`` is NaN).
    """
    largest = _largest(x)
    total = (x - largest).exp().sum(dim=-1)
    none = total == 0
    return (total.masked_fill(none, 1).log() + largest.squeeze(-1)).masked_fill(none, -torch.inf)
