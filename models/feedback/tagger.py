"""A tagger that reads its own decisions.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, I numbers a time step, X hidden, K tags.
"""

import torch
from torch import Tensor

from skipstack.models.feedback.layer import Fed, FeedbackLayer, Known
from skipstack.models.heads.feedback import FeedbackHead
from skipstack.models.inputs.tokens import LexiconTensors
from skipstack.models.lanes import Dropout
from skipstack.models.model import AnyInput, Decoded, Gold, Network, Tokens


class FeedbackTagger(Network):
    """E-, J-, I- or I+E-RNN (dinarelli2016): layer and head take turns, since the one reads what the other decides."""

    def __init__(self, embedder: AnyInput, layer: FeedbackLayer, head: FeedbackHead, dropout: Dropout) -> None:
        super().__init__(embedder)
        self.layer = layer
        self.head = head
        self.dropout = dropout

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """-log y of each sentence (eq. 1), to be learnt from: loss_RB (nats).

        Fed back is what the config says: own decisions as the network takes them now, or the gold labels.
        """
        known = self._known(tokens, lexicon)
        kept_GTBX = self._kept(known.pre_GTBX)
        hidden_GTBX = self.layer.hidden(known, self._fed(known, kept_GTBX, gold.tags_RUB, tokens.lengths_RB))
        seen_GTBX = hidden_GTBX if kept_GTBX is None else hidden_GTBX * kept_GTBX
        scores_GTBK = self.head.scores(seen_GTBX.flatten(1, 2)).view(*hidden_GTBX.shape[:3], -1)
        return self.head.loss(self._log_likelihoods(scores_GTBK, tokens.lengths_RB), gold.tags_RUB)

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The likeliest tag of every token (eq. 2), each after those before it."""
        return Decoded(self.head.decode(self._own(tokens, lexicon)))

    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """What ``decode`` gives and its loss_RB: own decisions are fed back, whatever the network learns from."""
        log_RTBK = self._own(tokens, lexicon)
        return self.head.loss(log_RTBK, gold.tags_RUB), Decoded(self.head.decode(log_RTBK))

    def _known(self, tokens: Tokens, lexicon: LexiconTensors) -> Known:
        return self.layer.project(self.embedder(tokens.forms_RTB, lexicon), tokens.lengths_RB)

    def _own(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """The logarithm of y where own decisions are fed back: log_RTBK."""
        scores_GTBK, _ = self.layer.run(self._known(tokens, lexicon), self.head)
        return self._log_likelihoods(scores_GTBK, tokens.lengths_RB)

    def _log_likelihoods(self, scores_GTBK: Tensor, lengths_RB: Tensor) -> Tensor:
        return self.head.log_likelihoods(self.layer.directions.turn(scores_GTBK, lengths_RB))

    def _fed(self, known: Known, kept_GTBX: Tensor | None, tags_RTB: Tensor, lengths_RB: Tensor) -> Fed:
        """What is fed back while training; the labels at padding, which nothing reads, are any."""
        layer, gold_GTB = self.layer, None
        if layer.feedback == "gold" and layer.labels is not None:
            tags_GTB = tags_RTB.repeat_interleave(len(layer.directions), dim=0)
            gold_GTB = layer.directions.turn(tags_GTB.clamp(min=0).unsqueeze(-1), lengths_RB).squeeze(-1)
            if layer.previous is None:
                return Fed(gold_GTB, None)
        return layer.run(known, self.head, kept_GTBX, gold_GTB)[1]

    def _kept(self, pre_GTBX: Tensor) -> Tensor | None:
        """What dropout multiplies the hidden layer by: kept_GTBX; None where it drops nothing."""
        if not self.training or not any(self.dropout.rates_R):
            return None
        lanes = len(self.dropout.rates_R)
        kept_RDTBX: Tensor = self.dropout(torch.ones_like(pre_GTBX).view(lanes, -1, *pre_GTBX.shape[1:]))
        return kept_RDTBX.flatten(0, 1)
