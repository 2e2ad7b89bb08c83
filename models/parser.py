"""A parser: it gives each token a head and a relation. Shapes: R lanes, T time, B sentences, F features."""

import torch
from torch import Tensor

from skipstack.models.heads.biaffine import BiaffineHead
from skipstack.models.model import AnyInput, Decoded, Gold, Stacked
from skipstack.models.skips.reinforce import Reinforce
from skipstack.models.stack import Stack


class Parser(Stacked):
    """Decides on heads and, as tags, on the relations to them."""

    def __init__(
        self, embedder: AnyInput, stack: Stack, head: BiaffineHead, *, reinforce: Reinforce | None = None
    ) -> None:
        super().__init__(embedder, stack, reinforce)
        self.head = head

    def _loss(self, features_RTBF: Tensor, gold: Gold, lengths_RB: Tensor) -> Tensor:
        assert gold.heads_RTB is not None, "a parser is built for a corpus of trees alone"
        return self.head.loss(features_RTBF, gold.heads_RTB, gold.tags_RUB, lengths_RB)

    def _decide(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Decoded:
        heads_RTB, relations_RTB = self.head.decode(features_RTBF, lengths_RB)
        return Decoded(relations_RTB, heads_RTB)

    def decision_loss(self, features_RTBF: Tensor, lengths_RB: Tensor, place_RB: Tensor) -> Tensor:
        """That of the arc to the word at this place: loss_RB."""
        heads_RTB, relations_RTB = self.head.decode(features_RTBF, lengths_RB)
        elsewhere_RTB = torch.arange(heads_RTB.shape[1], device=place_RB.device).view(-1, 1) != place_RB.unsqueeze(1)
        arcs = heads_RTB.masked_fill(elsewhere_RTB, -1), relations_RTB.masked_fill(elsewhere_RTB, -1)
        return self.head.loss(features_RTBF, *arcs, lengths_RB)
