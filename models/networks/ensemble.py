"""Ensembles: several networks of one config whose likelihoods or scores are averaged for each decision."""

import torch
from torch import Tensor

from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors


class Ensemble(Network):
    """An ensemble of the lanes (copies with different seeds) of one network. It is not trained.

    Each member reads all tokens, and the head combines the features of all members. The head averages the likelihoods
    of labels. A head that scores whole sentences averages the scores instead. The ensemble's tokens and decisions have
    one lane. Creating an ensemble sets ``together`` in the head of ``members`` (``models.parts.heads.base.Head``).
    """

    def __init__(self, members: Network) -> None:
        super().__init__()
        self.members = members
        self.embedder, self.head = members.embedder, members.head
        self.head.together = True
        self.lanes = len(next(members.parameters()))

    def read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """Return features_RUBF of all members, and the number of decisions per sentence: counts_RB, with one lane."""
        given = (tokens.forms_RTB, tokens.lengths_RB)
        forms_RTB, lengths_RB = (each.expand(self.lanes, *each.shape[1:]) for each in given)
        distinct = None if tokens.distinct is None else tokens.distinct.shared(self.lanes)
        vectors = tokens.vectors_RTBE
        vectors_RTBE = None if vectors is None else vectors.expand(self.lanes, *vectors.shape[1:])
        read = Tokens(forms_RTB, lengths_RB, tokens.memory, distinct, vectors_RTBE)
        features_RUBF, counts_RB = self.members.read(read, lexicon)
        return features_RUBF, counts_RB[:1]

    @torch.no_grad()
    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """Return the loss of each sentence under the ensemble: loss_RB, with one lane."""
        features_RUBF, counts_RB = self.read(tokens, lexicon)
        return self.head.loss(features_RUBF, gold, counts_RB)
