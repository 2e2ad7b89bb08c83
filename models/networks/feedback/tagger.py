"""The label-feedback network, which tags each token with the help of the labels or states of earlier tokens."""

from torch import Tensor

from skipstack.models.layers.lanes import Dropout
from skipstack.models.networks.feedback.layer import Fed, FeedbackLayer, Known
from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.heads.feedback import FeedbackHead
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors


class FeedbackTagger(Network):
    """The E-, J-, I- or I+E-RNN of dinarelli2016. At each position the hidden layer and the head take turns."""

    head: FeedbackHead

    def __init__(self, embedder: Embedder, layer: FeedbackLayer, head: FeedbackHead, dropout: Dropout) -> None:
        super().__init__()
        self.embedder = embedder
        self.layer = layer
        self.head = head
        self.dropout = dropout

    def read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """Return scores_RTBF, the head's scores in all directions, and the number of tokens of each sentence. The
        network feeds back its own decisions or distributions, even if it was trained with gold labels.
        """
        scores_GTBK, _ = self.layer.decide(self._known(tokens, lexicon), self.head)
        return self._side_by_side(scores_GTBK, tokens.lengths_RB), tokens.lengths_RB

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """Return loss_RB, the training loss -log y of each sentence in nats (eq. 1). The config selects the labels that
        are fed back: the network's current decisions, its distributions over labels, or the gold labels.
        """
        known = self._known(tokens, lexicon)
        kept_GTBH = self.dropout.factors(known.pre_GTBX)
        hidden_GTBH = self.layer.hidden(known, self._fed(known, kept_GTBH, gold.tags_RUB, tokens.lengths_RB))
        seen_GTBH = hidden_GTBH if kept_GTBH is None else hidden_GTBH * kept_GTBH
        scores_GTBK = self.head.scores(seen_GTBH.flatten(1, 2)).view(*hidden_GTBH.shape[:3], -1)
        return self.head.loss(self._side_by_side(scores_GTBK, tokens.lengths_RB), gold, tokens.lengths_RB)

    def _known(self, tokens: Tokens, lexicon: LexiconTensors) -> Known:
        x_RTBI = self.embedded(tokens, lexicon)
        return self.layer.project(x_RTBI, tokens.lengths_RB)

    def _side_by_side(self, scores_GTBK: Tensor, lengths_RB: Tensor) -> Tensor:
        """Return scores_RTBF, the concatenated scores of D directions in the text's order; F = D * K, K labels."""
        reading_GTBK = self.layer.directions.turn(scores_GTBK, lengths_RB)
        return reading_GTBK.view(len(lengths_RB), -1, *reading_GTBK.shape[1:]).movedim(1, 3).flatten(3)

    def _fed(self, known: Known, kept_GTBH: Tensor | None, tags_RTB: Tensor, lengths_RB: Tensor) -> Fed:
        """Return the values that are fed back in training. Labels at padding are arbitrary, since they are never read.

        ``kept_GTBH``: dropout factors of the hidden layer as the head reads it. ``tags_RTB``: the gold labels.
        """
        layer, gold_GTB = self.layer, None
        if layer.feedback == "gold" and layer.labels is not None:
            tags_GTB = tags_RTB.repeat_interleave(len(layer.directions), dim=0)
            gold_GTB = layer.directions.turn(tags_GTB.clamp(min=0).unsqueeze(-1), lengths_RB).squeeze(-1)
            if layer.previous is None:
                return Fed(gold_GTB, None)
        return layer.decide(known, self.head, kept_GTBH, gold_GTB)[1]
