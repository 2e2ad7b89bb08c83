"""Ensembles: several networks of one config that decide together."""

import torch
from torch import Tensor

from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors


class Ensemble(Network):
    """The lanes of a network as members: each reads all tokens, and one head combines their features.

    Tokens and decisions have one lane. A head with likelihoods decides by their mean; a head that scores whole
    sentences decides by the mean of the scores (``models.parts.heads.base.Head.together``). An ensemble is not trained.
    """

    def __init__(self, members: Network) -> None:
        super().__init__()
        self.members = members
        self.embedder, self.head = members.embedder, members.head
        self.head.together = True
        self.lanes = len(next(members.parameters()))

    def read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """The features from which each member decides, features_RUBF, and the number of decisions, in one lane."""
        given = (tokens.forms_RTB, tokens.lengths_RB)
        forms_RTB, lengths_RB = (each.expand(self.lanes, *each.shape[1:]) for each in given)
        distinct = None if tokens.distinct is None else tokens.distinct.shared(self.lanes)
        read = Tokens(forms_RTB, lengths_RB, tokens.memory, distinct)
        features_RUBF, counts_RB = self.members.read(read, lexicon)
        return features_RUBF, counts_RB[:1]

    @torch.no_grad()
    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The loss of the ensemble's decisions: loss_RB."""
        features_RUBF, counts_RB = self.read(tokens, lexicon)
        return self.head.loss(features_RUBF, gold, counts_RB)
