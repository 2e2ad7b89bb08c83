"""A linear chain, and its evaluation over any semiring. Of two axes K, the first is the previous tag."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from skipstack.models.kernels.ordered import picked


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Chain:
    """r(t) = start[t_1] + sum_i emission_i[t_i] + sum_{i>1} transition[t_{i-1}, t_i] + end[t_n]

    The score of a tagging t of a sentence of n >= 1 tokens (chen2017 eq. 3, with scores of the ends as well). A score
    of -inf forbids; none may be +inf or NaN. Values after a sentence's end change nothing.
    """

    emissions_RTBK: Tensor
    start_RK: Tensor
    transition_RKK: Tensor
    end_RK: Tensor
    lengths_RB: Tensor

    def inside(self) -> Tensor:
        """Whether a position is inside its sentence: flags_RTB."""
        time_T1 = torch.arange(self.emissions_RTBK.shape[1], device=self.lengths_RB.device).unsqueeze(1)
        return time_T1 < self.lengths_RB.unsqueeze(1)

    def observing(self, tags_RTB: Tensor) -> "Chain":
        """The chain restricted to taggings that have these tags; a token whose tag is -1 may have any."""
        other_RTBK = others(tags_RTB, self.emissions_RTBK.shape[-1])
        return replace(self, emissions_RTBK=self.emissions_RTBK.masked_fill(other_RTBK, -torch.inf))

    def levelled(self) -> "Chain":
        """An equivalent chain whose transitions are at most 0: the largest transition to a tag is moved into the tag's
        emissions, and out of its start. If all are -inf, nothing is moved.
        """
        largest_RK = self.transition_RKK.amax(dim=1)
        largest_RK = largest_RK.where(largest_RK > -torch.inf, 0)
        return replace(
            self,
            emissions_RTBK=self.emissions_RTBK + largest_RK[:, None, None],
            start_RK=self.start_RK - largest_RK,
            transition_RKK=self.transition_RKK - largest_RK.unsqueeze(1),
        )

    def alone(self, lane: Tensor, sentence: Tensor) -> "Chain":
        """The given sentences, each as a lane; 0 after their ends."""
        inside_NT1 = self.inside()[lane, :, sentence].unsqueeze(-1)
        return Chain(
            emissions_RTBK=self.emissions_RTBK[lane, :, sentence].where(inside_NT1, 0).unsqueeze(2),
            start_RK=self.start_RK[lane],
            transition_RKK=self.transition_RKK[lane],
            end_RK=self.end_RK[lane],
            lengths_RB=self.lengths_RB[lane, sentence].unsqueeze(1),
        )


class Semiring(ABC):
    """The rule by which scores are combined: along a tagging they are added up (this is the semiring's product); over
    taggings, by the semiring's sum.
    """

    @abstractmethod
    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """The function value'[j] = sum_i value[i] * transition[i, j] of values, less the values' scale."""

    @abstractmethod
    def scale(self, values_RTBK: Tensor) -> Tensor:
        """scale_RTB: the amount that ``product`` subtracts, so that values do not grow with T."""

    @abstractmethod
    def sum(self, values_RBK: Tensor) -> Tensor:
        """The sum over all tags."""


def alphas(chain: Chain, semiring: Semiring) -> Tensor:
    """alpha_1 = start * emission_1;  alpha_t = emission_t * (alpha_{t-1} transition), in the semiring: values_RTBK.

    The scales of earlier steps are subtracted from each alpha_t. Values after a sentence's end are arbitrary.
    """
    emissions = chain.emissions_RTBK.unbind(1)
    product = semiring.product(chain.transition_RKK)
    steps = [emissions[0] + chain.start_RK.unsqueeze(1)]
    for emission_RBK in emissions[1:]:
        steps.append(product(steps[-1]) + emission_RBK)
    return torch.stack(steps, dim=1)


def ending(chain: Chain, alpha_RTBK: Tensor) -> Tensor:
    """The alpha of each sentence's last token * end: values_RBK."""
    last_R1B1 = (chain.lengths_RB - 1).unsqueeze(1).unsqueeze(-1)
    last_R1BK = last_R1B1.expand(-1, -1, -1, alpha_RTBK.shape[-1])
    return alpha_RTBK.gather(1, last_R1BK).squeeze(1) + chain.end_RK.unsqueeze(1)


def total(chain: Chain, alpha_RTBK: Tensor, semiring: Semiring) -> Tensor:
    """The sum over all taggings of each sentence: value_RB; the scales are put back."""
    scale_RB = semiring.scale(alpha_RTBK[:, :-1]).where(chain.inside()[:, 1:], 0).sum(dim=1)
    return semiring.sum(ending(chain, alpha_RTBK)) + scale_RB


def others(tags_RTB: Tensor, tags: int) -> Tensor:
    """Whether a tag differs from the given one: flags_RTBK of ``tags`` tags; False where -1 is given."""
    tag_K = torch.arange(tags, device=tags_RTB.device)
    return (tag_K != tags_RTB.unsqueeze(-1)) & (tags_RTB >= 0).unsqueeze(-1)


def score(chain: Chain, tags_RTB: Tensor) -> Tensor:
    """r(t) of the given taggings: score_RB. Values after a sentence's end change nothing."""
    inside_RTB = chain.inside()
    tags_RTB = tags_RTB.where(inside_RTB, 0)
    emission_RTB = chain.emissions_RTBK.gather(-1, tags_RTB.unsqueeze(-1)).squeeze(-1)
    move_RTB = tags_RTB[:, :-1] * chain.start_RK.shape[-1] + tags_RTB[:, 1:]
    transition_RTB = picked(chain.transition_RKK.flatten(1), move_RTB.flatten(1)).view(move_RTB.shape)
    last_RB = tags_RTB.gather(1, (chain.lengths_RB - 1).unsqueeze(1)).squeeze(1)
    return (
        picked(chain.start_RK, tags_RTB[:, 0])
        + emission_RTB.where(inside_RTB, 0).sum(dim=1)
        + transition_RTB.where(inside_RTB[:, 1:], 0).sum(dim=1)
        + picked(chain.end_RK, last_RB)
    )
