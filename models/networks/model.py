"""The base class of networks, which read tokens and predict a tag for each token or for the whole text.

``models/ground/shapes.py`` explains the letters of shapes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import assert_never

import torch
from torch import Tensor, nn

from skipstack.models.configs.model import Pooling
from skipstack.models.ground.precision import products_in
from skipstack.models.ground.scanning import exporting
from skipstack.models.kernels.bounds import check_shape
from skipstack.models.layers.lookup import Distinct
from skipstack.models.networks.stack import Memory, Passed, Stack
from skipstack.models.parts.heads.base import Decoded, Gold, Head
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors
from skipstack.models.parts.skips.reinforce import Made, Reinforce, Rewards


@dataclass(frozen=True, slots=True)
class Tokens:
    """The sentences of a batch for each lane (a lane is one seed's copy of the network).

    ``forms_RTB``: the form id of each token. Padding is form 0, at the end of a sentence. ``lengths_RB``: the number of
    tokens of each sentence. ``memory``: the states from which running text continues; None for separate sentences.
    ``distinct``: the distinct forms of the batch, whose features are computed only once; None if unknown.
    ``vectors_RTBE``: the vector of each token, 0 at padding; None if tokens have none.
    """

    forms_RTB: Tensor
    lengths_RB: Tensor
    memory: Memory | None = None
    distinct: Distinct | None = None
    vectors_RTBE: Tensor | None = None


class Network(nn.Module, ABC):
    """A network that reads tokens and predicts tags: an embedder, layers that the subclass defines, and a head."""

    embedder: Embedder
    head: Head

    def begin(self, epoch: int) -> None:
        """Prepare for an epoch, counted from 0. Training calls this at the start of each epoch."""

    def embedded(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """Return x_RTBI, the embedder's features of the tokens."""
        given = [tokens.forms_RTB, lexicon, tokens.distinct]
        if self.embedder.reads_vectors:
            assert tokens.vectors_RTBE is not None, "each token of the corpus has a vector"
            given.append(tokens.vectors_RTBE.to(next(self.parameters()).dtype))
        x_RTBI: Tensor = self.embedder(*given)
        return x_RTBI

    @abstractmethod
    def read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """Return features_RUBF, the features for the head, and counts_RB, the number of decisions in each sentence."""

    @abstractmethod
    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """Return loss_RB, the training loss of each sentence, summed over its tags."""

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """Return the head's decisions. Matrix products are not rounded, whatever the precision of training."""
        with products_in("float32"):
            return self.head.decode(*self.read(tokens, lexicon))

    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """Return the losses of the gold tags (``Head.losses``) and the decisions of ``decode``, both from one forward
        pass. A label-feedback network feeds back no gold labels in that pass.
        """
        with products_in("float32"):
            features_RUBF, counts_RB = self.read(tokens, lexicon)
            return self.head.losses(features_RUBF, gold, counts_RB), self.head.decode(features_RUBF, counts_RB)


class Stacked(Network):
    """A network with a stack of layers. It computes the features of all tokens first, and then decides on all tags.

    ``pooling``: how to pool the features of a text's tokens into one vector, from which the head predicts the text's
    tag. None means a tag for each token. ``reinforce``: trains the policies of layers that choose which earlier state
    they read; None without such layers.
    """

    def __init__(
        self,
        embedder: Embedder,
        stack: Stack,
        head: Head,
        *,
        pooling: Pooling | None = None,
        reinforce: Reinforce | None = None,
    ) -> None:
        super().__init__()
        self.embedder = embedder
        self.stack = stack
        self.reinforce = reinforce
        self.head = head
        self.pooling = pooling

    def read(
        self, tokens: Tokens, lexicon: LexiconTensors, passed: list[Passed] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return features_RUBF, the features for the head, and counts_RB, the number of decisions in each sentence,
        which is 1 if there is ``pooling``. Append each layer's inputs and outputs to ``passed``, if given.
        """
        x_RTBI = self.embedded(tokens, lexicon)
        if not exporting():
            check_shape(
                "the output of the embedder", x_RTBI, len(x_RTBI), *tokens.forms_RTB.shape[1:], self.stack.below
            )
        features_RTBF: Tensor = self.stack(x_RTBI, tokens.lengths_RB, passed, tokens.memory)
        if self.pooling is None:
            return features_RTBF, tokens.lengths_RB
        features_R1BF = pooled(features_RTBF, tokens.lengths_RB, self.stack.directions, self.pooling)
        return features_R1BF, torch.ones_like(tokens.lengths_RB)

    def begin(self, epoch: int) -> None:
        """Set the weight of the policies' entropy for this epoch, since policies may explore less in later epochs."""
        if self.reinforce is not None:
            self.reinforce.begin(epoch)

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """Return loss_RB, the head's loss J_1 of each sentence.

        If layers choose which earlier state they read, loss_RB has the gradient of J_1 - J_2 (gui2019 eq. 6). J_2 is
        the objective of the policies (``models/parts/skips/reinforce.py``).
        """
        passed: list[Passed] | None = None if self.reinforce is None else []
        features_RUBF, counts_RB = self.read(tokens, lexicon, passed)
        losses_RUB = self.head.losses(features_RUBF, gold, counts_RB)
        loss_RB = losses_RUB.sum(dim=1)
        if self.reinforce is None or passed is None:
            return loss_RB
        rewards = self._rewards(features_RUBF, gold, counts_RB, losses_RUB)
        made = [
            Made(each.unrolled.choices, seen_before=self.stack.join_each and each is not passed[-1])
            for each in passed
            if each.unrolled.choices is not None
        ]
        objective_RB: Tensor = self.reinforce(made, rewards, tokens.lengths_RB)
        return loss_RB - (objective_RB - objective_RB.detach())

    @torch.no_grad()
    def _rewards(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor, losses_RUB: Tensor) -> Rewards:
        assert self.reinforce is not None
        inside_RUB = _inside(counts_RB, features_RUBF.shape[1]).to(losses_RUB)
        if self.reinforce.config.reward == "log_likelihood":
            rewards = Rewards(-losses_RUB, inside_RUB)
        elif self.reinforce.config.reward == "likelihood":
            probability_R1B = (-losses_RUB).sum(dim=1, keepdim=True).exp()
            return Rewards(probability_R1B, torch.ones_like(probability_R1B))
        else:
            right_RUB = self.head.decode(features_RUBF, counts_RB).right(gold).to(losses_RUB)
            share_RUB = inside_RUB / counts_RB.clamp(min=1).unsqueeze(1)
            rewards = Rewards((2 * right_RUB - 1) * share_RUB, share_RUB)
        return rewards if losses_RUB.shape == inside_RUB.shape else rewards.whole()


def pooled(features_RTBF: Tensor, lengths_RB: Tensor, directions: int, how: Pooling) -> Tensor:
    """Pool the features of a text's tokens, all ``directions`` side by side, into one vector: text_R1BF. ``how``:

    ``last``: the last state of each direction, that is, the forward state of the last token and the backward state of
    the first token (gui2019 section 4.4: "the last hidden state"). ``mean``, ``max``: the mean or maximum of each
    feature over the tokens. Padding is ignored.
    """
    match how:
        case "last":
            forward, *backward = features_RTBF.chunk(directions, dim=-1)
            place_R1B1 = (lengths_RB - 1).unsqueeze(1).unsqueeze(-1)
            last_R1BF = forward.gather(1, place_R1B1.expand(-1, -1, -1, forward.shape[-1]))
            return torch.cat([last_R1BF, *(part[:, :1] for part in backward)], dim=-1)
        case "mean":
            inside_RTB1 = _inside(lengths_RB, features_RTBF.shape[1]).unsqueeze(-1)
            total_R1BF = features_RTBF.where(inside_RTB1, 0).sum(dim=1, keepdim=True)
            return total_R1BF / lengths_RB.unsqueeze(1).unsqueeze(-1)
        case "max":
            inside_RTB1 = _inside(lengths_RB, features_RTBF.shape[1]).unsqueeze(-1)
            return features_RTBF.where(inside_RTB1, -torch.inf).amax(dim=1, keepdim=True)
        case _:
            assert_never(how)


def _inside(counts_RB: Tensor, places: int) -> Tensor:
    """Return whether each of the first ``places`` positions is within its sentence, not padding: inside_RUB."""
    place_U1 = torch.arange(places, device=counts_RB.device).unsqueeze(1)
    return place_U1 < counts_RB.unsqueeze(1)
