"""A linear chain, and its evaluation over any semiring.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (KK: previous tag, tag), N
sentences picked from all lanes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from skipstack.models.kernels.ordered import picked


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Chain:
    """A linear chain, which scores a tag sequence t of n >= 1 tokens (chen2017 eq. 3, plus ``start`` and ``end``):

    r(t) = start[t_1] + sum_i emission_i[t_i] + sum_{i>1} transition[t_{i-1}, t_i] + end[t_n]

    A score of -inf forbids a tag or transition. No score may be +inf or NaN. Values after a sentence's end are ignored.
    """

    emissions_RTBK: Tensor
    start_RK: Tensor
    transition_RKK: Tensor
    end_RK: Tensor
    lengths_RB: Tensor

    def inside(self) -> Tensor:
        """Returns whether each position is inside its sentence: flags_RTB."""
        time_T1 = torch.arange(self.emissions_RTBK.shape[1], device=self.lengths_RB.device).unsqueeze(1)
        return time_T1 < self.lengths_RB.unsqueeze(1)

    def observing(self, tags_RTB: Tensor) -> "Chain":
        """Returns the chain restricted to tag sequences with these tags. A tag of -1 allows any tag."""
        other_RTBK = others(tags_RTB, self.emissions_RTBK.shape[-1])
        return replace(self, emissions_RTBK=self.emissions_RTBK.masked_fill(other_RTBK, -torch.inf))

    def levelled(self) -> "Chain":
        """Returns an equivalent chain whose transitions are at most 0. For each tag, the largest transition to the tag
        (if above -inf) is subtracted from all transitions to the tag and from the tag's start score, and added to the
        tag's emissions.
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
        """Returns the chains of the sentences at the indices ``lane`` and ``sentence``, each in a separate lane.
        Emissions after a sentence's end are set to 0.
        """
        inside_NT1 = self.inside()[lane, :, sentence].unsqueeze(-1)
        return Chain(
            emissions_RTBK=self.emissions_RTBK[lane, :, sentence].where(inside_NT1, 0).unsqueeze(2),
            start_RK=self.start_RK[lane],
            transition_RKK=self.transition_RKK[lane],
            end_RK=self.end_RK[lane],
            lengths_RB=self.lengths_RB[lane, sentence].unsqueeze(1),
        )


class Semiring(ABC):
    """A semiring: the rule by which scores are combined. Its product, which combines scores along a tag sequence, is
    addition of numbers. Its ``sum`` combines the scores of several tag sequences.
    """

    @abstractmethod
    def product(self, transition_RKK: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns a function that maps values to value'[j] = sum_i value[i] * transition[i, j], in operations of the
        semiring. The function first subtracts the ``scale`` of the values.
        """

    @abstractmethod
    def scale(self, values_RTBK: Tensor) -> Tensor:
        """Computes scale_RTB, which ``product`` subtracts so that values do not grow with the number of steps."""

    @abstractmethod
    def sum(self, values_RBK: Tensor) -> Tensor:
        """Combines the values of all tags by the semiring's sum: value_RB."""


def alphas(chain: Chain, semiring: Semiring) -> Tensor:
    """Computes the forward values alpha of each position, in operations of the semiring: values_RTBK.

    alpha_1 = start * emission_1;  alpha_t = emission_t * (alpha_{t-1} transition)

    Each alpha_t has the scales of all earlier steps subtracted. Values after a sentence's end are arbitrary.
    """
    emissions = chain.emissions_RTBK.unbind(1)
    product = semiring.product(chain.transition_RKK)
    steps = [emissions[0] + chain.start_RK.unsqueeze(1)]
    for emission_RBK in emissions[1:]:
        steps.append(product(steps[-1]) + emission_RBK)
    return torch.stack(steps, dim=1)


def ending(chain: Chain, alpha_RTBK: Tensor) -> Tensor:
    """Returns the alpha of each sentence's last token plus ``end``: values_RBK."""
    last_R1B1 = (chain.lengths_RB - 1).unsqueeze(1).unsqueeze(-1)
    last_R1BK = last_R1B1.expand(-1, -1, -1, alpha_RTBK.shape[-1])
    return alpha_RTBK.gather(1, last_R1BK).squeeze(1) + chain.end_RK.unsqueeze(1)


def total(chain: Chain, alpha_RTBK: Tensor, semiring: Semiring) -> Tensor:
    """Combines all tag sequences by the semiring's sum, and adds the scales that ``alphas`` subtracted: value_RB."""
    scale_RB = semiring.scale(alpha_RTBK[:, :-1]).where(chain.inside()[:, 1:], 0).sum(dim=1)
    return semiring.sum(ending(chain, alpha_RTBK)) + scale_RB


def others(tags_RTB: Tensor, tags: int) -> Tensor:
    """Returns whether each of K = ``tags`` tags differs from the given tag: flags_RTBK; all False for the tag -1."""
    tag_K = torch.arange(tags, device=tags_RTB.device)
    return (tag_K != tags_RTB.unsqueeze(-1)) & (tags_RTB >= 0).unsqueeze(-1)


def score(chain: Chain, tags_RTB: Tensor) -> Tensor:
    """Computes r(t) of the given tags t: score_RB. Tags after a sentence's end are ignored. No other tag may be -1."""
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
